"""Loops of single steps over every form of models: right ones follow the law, wrong states depart.

False alarm of the law checks: 1e-6 by design of the e-value; departures are no matter of chance.
"""

from __future__ import annotations

import pytest
import torch
from decoding import g2, world_of

from audit.errors import UsageError
from audit.samplers.chain import chain, draw
from audit.samplers.decoders.interface import decoder_facts
from audit.samplers.decoders.loading import wrap_decoder
from audit.samplers.interface import StepBatch
from audit.samplers.two_model import decoder_of
from audit.state.law import StateBudget
from audit.state.one_world import follow_law
from audit.state.settings import StateSettings
from audit.state.watching import watch_steps


def reader(form: str, model, shift: int = 0):
    """Returns `(ids) -> logits of the whole text` over a model of a form.

    shift: positions by which a model with its own state is misled after the prompt.
    """
    if form == "module":
        return lambda ids: model(ids).logits
    if form == "function":
        return model
    if form == "cached":
        return lambda ids: model(ids, None)[0]

    def by_position(ids):
        moved = torch.arange(ids.shape[1])
        moved[2:] += shift
        return model(ids, moved)

    return by_position


def stepping(form: str, shift: int = 0):
    """Returns a loop of a step by the book: draft, verify, one more token."""

    def step(target, draft, prefix, gamma, *, generator):
        ids = prefix.unsqueeze(0)
        p_of, q_of = reader(form, target, shift), reader(form, draft)
        text, laws = ids, []
        for _ in range(gamma):
            laws.append(q_of(text)[:, -1].double().softmax(1))
            coin = torch.rand(1, dtype=torch.float64, generator=generator)
            text = torch.cat([text, draw(laws[-1], coin).unsqueeze(1)], 1)
        p = p_of(text)[:, ids.shape[1] - 1 :].double().softmax(2)
        batch = StepBatch(text[:, ids.shape[1] :], torch.stack(laws, 1), p, torch.tensor([gamma]))
        tokens = torch.as_tensor(chain(batch, generator))
        return tokens[tokens >= 0]

    decoder = decoder_of(step, models=form)  # type: ignore[arg-type]
    decoder.draftproof["max_batch"] = 1  # type: ignore[attr-defined]
    return decoder


@pytest.mark.parametrize("form", ["module", "function", "cached", "positions"])
def test_a_step_is_audited_over_every_form_of_models(form: str) -> None:
    decoder = wrap_decoder(stepping(form))
    world = world_of(g2(2), decoder)
    watch = follow_law(decoder, world, StateBudget(), StateSettings(sequences=200))
    assert watch.failures() == ()
    steps = watch_steps(decoder, world, 6, seed=1)
    assert steps.readable
    assert steps.departing == (0, 0)
    assert steps.compared[0] > 20


def test_positions_that_are_counted_wrongly_are_found() -> None:
    decoder = wrap_decoder(stepping("positions", shift=-1))
    assert watch_steps(decoder, world_of(g2(2), decoder), 6, seed=1).departing[0] > 3


def test_a_model_with_one_state_takes_one_row() -> None:
    with pytest.raises(UsageError, match="max_batch must be 1"):
        decoder_facts({"models": "positions", "max_batch": 4}, name="mine")
