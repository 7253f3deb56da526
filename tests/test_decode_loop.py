"""Our own decode loop, right and broken in ten ways, against the exact law of each.

False alarm of each law check: 1e-7 (asymptotic Cressie-Read at a tenth of it); each fault but the
lossless ones must fail the check against the target's law, which is the negative control.
"""

from __future__ import annotations

import numpy as np
import pytest
import torch
from decoding import decoder_for, g2, i1, without_a_cache, world_of

from audit.errors import SamplerError, UsageError
from audit.exact.state_faults import STATE_FAULTS
from audit.exact.state_laws import state_law, table_of
from audit.samplers.decoders.faults import KEEPING
from audit.samplers.decoders.interface import decoder_facts
from audit.samplers.decoders.loading import load_decoder, wrap_decoder
from audit.samplers.decoders.loop import Loop
from audit.samplers.models.table import TableModel
from audit.state.running import call, calls
from audit.statistics.chi_square import cressie_read

FALSE_ALARM = 1e-8
SEQUENCES = 4_000


def generator(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def counted(world, tokens: torch.Tensor) -> np.ndarray:
    return np.bincount(world.codes(tokens), minlength=len(world.law))


@pytest.mark.parametrize("fault", KEEPING)
@pytest.mark.parametrize("instance", [g2(2), i1()], ids=["g2", "i1"])
def test_the_loop_follows_the_law_of_its_fault(fault: str, instance) -> None:
    world, decoder = world_of(instance), decoder_for(fault)
    tokens = call(decoder, world, rows=SEQUENCES, generator=generator(1))
    counts, exact = counted(world, tokens), state_law(instance, fault, length=4, prompt=(1,))
    own = table_of(exact, vocab_size=3, length=4)
    assert counts[own <= 0].sum() == 0
    assert cressie_read(counts, own, n=SEQUENCES).p_value > FALSE_ALARM
    if (world.law <= 0).any():  # the rows of I1 show every fault at once
        possible = counts[world.law <= 0].sum() == 0
        fits = possible and cressie_read(counts, world.law, n=SEQUENCES).p_value > FALSE_ALARM
        assert fits == STATE_FAULTS[fault].lossless


def test_a_row_does_not_depend_on_the_rows_beside_it() -> None:
    world, decoder = world_of(), decoder_for("correct")
    rows = call(decoder, world, rows=4_000, generator=generator(2))
    alone = [call(decoder, world, rows=1, generator=generator(s)) for s in range(150)]
    for tokens in (rows, torch.cat(alone)):
        counts = counted(world, tokens)
        assert cressie_read(counts, world.law, n=len(tokens)).p_value > FALSE_ALARM


def test_a_loop_without_a_cache_follows_the_same_law() -> None:
    decoder = wrap_decoder(without_a_cache)
    world = world_of(g2(1), decoder)
    tokens = torch.cat([*calls(decoder, world, 400, seed=1, purpose="test")])
    assert cressie_read(counted(world, tokens), world.law, n=400).p_value > FALSE_ALARM
    assert decoder.options == frozenset()


def test_a_seed_repeats_and_a_stop_token_ends_a_row() -> None:
    world, decoder = world_of(), decoder_for("correct")
    one, again = (call(decoder, world, rows=50, generator=generator(3)) for _ in range(2))
    assert torch.equal(one, again)
    assert not torch.equal(one, call(decoder, world, rows=50, generator=generator(4)))
    stopped = call(decoder, world, rows=50, generator=generator(3), stop_token_id=2)
    for row, whole in zip(stopped.tolist(), one.tolist(), strict=True):
        end = whole.index(2) + 1 if 2 in whole else len(whole)
        assert row == whole[:end] + [-1] * (len(whole) - end)


def test_greedy_text_is_that_of_plain_decoding() -> None:
    world = world_of(g2(2))
    text = [1, *call(decoder_for("correct"), world, rows=1, generator=generator(1), length=9,
                     greedy=True)[0].tolist()]  # fmt: skip
    rows = [g2(2).target[tuple(text[:end])].floats() for end in range(1, len(text))]
    assert [int(row.argmax()) for row in rows] == text[1:]


@pytest.mark.parametrize("limit", range(1, 6))
def test_a_limit_inside_a_block_is_kept(limit: int) -> None:
    tokens = call(decoder_for("correct"), world_of(), rows=7, generator=generator(1), length=limit)
    assert tokens.shape == (7, limit)
    assert bool((tokens >= 0).all())


@pytest.mark.parametrize(
    ("output", "said"),
    [
        (None, "returned NoneType in place of a tensor"),
        (torch.zeros(2, 3, dtype=torch.int64), r"int64 \[2, 3\] in place of int64 \[2, 4\]"),
        (torch.zeros(2, 4), "float32"),
        (torch.full((2, 4), 3), "3 to 3 as ids of 3"),
        (torch.tensor([[0, 0, 0, 0], [0, -1, 0, 0]]), "row 1 .* goes on after -1"),
        (torch.tensor([[0, 0, 0, 0], [0, 0, -1, -1]]), "2 of 4 tokens and no stop token"),
    ],
)
def test_what_breaks_the_contract_is_named(output, said: str) -> None:
    decoder = wrap_decoder(lambda *_, **__: output)
    with pytest.raises(SamplerError, match=said):
        call(decoder, world_of(), rows=2, generator=generator(1))


def test_an_exception_is_told_with_its_traceback() -> None:
    def broken(*_: object, **__: object) -> torch.Tensor:
        raise ValueError("no cache")

    with pytest.raises(SamplerError, match="raised ValueError: no cache") as caught:
        call(wrap_decoder(broken), world_of(), rows=1, generator=generator(1))
    assert "Traceback" in caught.value.detail


def test_names_and_facts_of_decoders(tmp_path) -> None:
    (tmp_path / "mine.py").write_text(
        "def loop(*models, stop_token_id=None, **more):\n    raise NotImplementedError\n"
        "loop.draftproof = {'models': 'cached', 'max_batch': 3}\n"
    )
    mine = load_decoder(f"{tmp_path}/mine.py:loop")
    assert (mine.facts.models, mine.facts.max_batch) == ("cached", 3)
    assert mine.options == {"stop_token_id"}
    assert "sha256" in load_decoder("fault:target-misses-bonus").identity
    for spec, said in (("fault:x", "no decode loop"), ("refrence", "did you mean reference")):
        with pytest.raises(UsageError, match=said):
            load_decoder(spec)
    for given, said in (
        ({"model": "module"}, "unknown key 'model'; did you mean models"),
        ({"models": "keras"}, "must be one of module, transformers"),
        ({"rules": ["top_q"]}, "must be a list of any of repetition_penalty"),
        ({"lookup": 1}, "must be True or False"),
        ({"max_batch": 0}, "whole number from 1"),
        (3, "make it a dict"),
    ):
        with pytest.raises(UsageError, match=said):
            decoder_facts(given, name="mine")


def test_a_lossy_rule_can_be_decoded_with() -> None:
    from audit.samplers.rules import SAMPLERS

    world = world_of(g2(2))
    models = TableModel(g2(2).target, 3), TableModel(g2(2).draft, 3)
    tokens = Loop(verify=SAMPLERS["always-accept"])(
        *models, world.prompts(SEQUENCES), max_new_tokens=4, num_speculative_tokens=2,
        generator=generator(1),
    )  # fmt: skip
    assert cressie_read(counted(world, tokens), world.law, n=SEQUENCES).p_value < FALSE_ALARM
