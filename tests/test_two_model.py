"""Steps of two models at both levels: right ones pass, a wrong fallback fails, misuse is told.

False alarm of the law checks: 1e-6, that of the state evidence; the wrong fallback is the control.
"""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from decoding import world_of
from exact_instances import g2
from steps import outcomes, smallest_p, table
from torch import Tensor

from audit.errors import SamplerError
from audit.exact.engine import block_law
from audit.harness.batches import Rows
from audit.harness.deck import deck_of
from audit.harness.null import handed_over
from audit.harness.stepping import models_of as answering
from audit.samplers.decoders.loading import load_decoder, wrap_decoder
from audit.samplers.stepping.calling import stepped
from audit.samplers.stepping.interface import Models
from audit.samplers.stepping.loading import load_step, wrap_step
from audit.samplers.two_model import decoder_of, step_sampler_of
from audit.selection import select_cases
from audit.state.law import LawWatch, StateBudget
from audit.state.running import calls

FALSE_ALARM = 1e-6
EXAMPLE = Path(__file__).parent.parent / "examples" / "two_model_step.py"


def laws(model, ids: Tensor) -> Tensor:
    return model(ids).softmax(-1)


def right(target, draft, prefix: Tensor, gamma: int, *, fallback=None) -> Tensor:
    """Returns the tokens of the ratio rule; fallback: makes the law after a rejection."""
    text, rows = prefix, []
    for _ in range(gamma):
        rows.append(laws(draft, text)[-1])
        text = torch.cat([text, torch.multinomial(rows[-1], 1)])
    p = laws(target, text)[len(prefix) - 1 :]
    new = text[len(prefix) :]
    for i, q in enumerate(rows):
        if torch.rand(()) * q[new[i]] < p[i, new[i]]:
            continue
        left = (p[i] - q).clamp(min=0) if fallback is None else fallback(p[i])
        return torch.cat([new[:i], torch.multinomial(left, 1)])
    return torch.cat([new, torch.multinomial(p[-1], 1)])


def wrong(target, draft, prefix: Tensor, gamma: int) -> Tensor:
    return right(target, draft, prefix, gamma, fallback=lambda p: p)


def wild(target, draft, prefix: Tensor, gamma: int) -> Tensor:
    return right(target, draft, prefix, gamma, fallback=torch.ones_like)


def models_of(case) -> Models:
    """Returns the models of one round of a case, for one row."""
    null, row = handed_over(case, torch.float32), torch.zeros(1, dtype=torch.int64)
    deck = deck_of([null], dtype=torch.float32, device=torch.device("cpu"))
    return answering(deck, Rows(row, row))


def blocks(case, step, n: int) -> Tensor:
    sampler, generator = wrap_step(step_sampler_of(step)), torch.Generator().manual_seed(1)
    models = models_of(case)
    return torch.cat([sampler.step(models, generator).tokens for _ in range(n)])


def test_at_the_step_level_the_emitted_law_is_that_of_the_rule():
    case = g2(2)
    assert table(case, case.draft, 0).shape == (1, case.vocab_size)
    law = {outcome: float(p) for outcome, p in block_law(case, "ratio").items()}
    assert smallest_p(outcomes(blocks(case, right, 1_500)), law) > FALSE_ALARM
    assert smallest_p(outcomes(blocks(case, wrong, 1_500)), law) < FALSE_ALARM


def test_what_was_drafted_is_read_off_the_target_and_no_q_is_claimed():
    sampler = step_sampler_of(right, declares=("ratio",))
    step = sampler(models_of(g2(2)), torch.Generator().manual_seed(2))
    assert step.draft_token_ids.shape == (1, 2)
    assert step.draft_probs is None
    assert wrap_step(sampler).facts.declares == ("ratio",)
    assert wrap_step(sampler).facts.max_batch == 1


@pytest.mark.parametrize(("step", "fails"), [(right, False), (wild, True)])
def test_at_the_decode_level_it_is_called_round_after_round(step, fails):
    decoder = wrap_decoder(decoder_of(step))
    world = world_of(select_cases(["basis-1"])[0], decoder)
    watch = LawWatch(world, StateBudget())
    watch.update([*calls(decoder, world, 200, seed=1, purpose="two models")])
    assert bool(watch.failures()) == fails


def test_the_example_is_a_step_at_both_levels():
    decoder = load_decoder(f"{EXAMPLE}:decode")
    world = world_of(select_cases(["basis-1"])[0], decoder)
    watch = LawWatch(world, StateBudget())
    watch.update([*calls(decoder, world, 200, seed=1, purpose="example")])
    assert not watch.failures()
    step = load_step(f"{EXAMPLE}:propose")
    assert step.facts.declares == ("ratio",)
    assert stepped(step, models_of(g2(2)), torch.Generator()).draft_token_ids.shape == (1, 2)
    step.close()


def test_a_step_that_takes_a_generator_is_handed_ours():
    def step(target, draft, prefix, gamma, generator):
        return torch.randint(0, 2, (1,), generator=generator)

    decode, prompt = decoder_of(step), torch.tensor([[1]])
    shape = {"max_new_tokens": 20, "num_speculative_tokens": 1}
    one, again, other = (
        decode(None, None, prompt, generator=torch.Generator().manual_seed(n), **shape)
        for n in (1, 1, 2)
    )
    assert torch.equal(one, again)
    assert not torch.equal(one, other)


@pytest.mark.parametrize("found", [torch.zeros(0).long(), torch.zeros(1), torch.zeros(1, 1).long()])
def test_a_step_that_returns_anything_else_is_told_so(found):
    with pytest.raises(SamplerError, match="one or more token ids in one dimension"):
        step_sampler_of(lambda *_: found)(models_of(g2(2)), torch.Generator())


def test_a_step_that_never_shows_its_drafts_cannot_be_audited_at_the_step_level():
    with pytest.raises(SamplerError, match="asked its target about 0 drafted tokens in place of 2"):
        step_sampler_of(lambda *_: torch.tensor([1]))(models_of(g2(2)), torch.Generator())
