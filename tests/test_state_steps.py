"""Step comparison: what each kind of state fault shows call by call. Nothing here is random but
the texts, and no outcome may depend on them: departures of a correct loop are impossible.
"""

from __future__ import annotations

import pytest
import torch
from decoding import decoder_for, g2, i1, without_a_cache, world_of

from audit.exact.state_faults import STATE_FAULTS
from audit.samplers.decoders.interface import LoadedDecoder
from audit.samplers.decoders.loading import wrap_decoder
from audit.samplers.models.table import ModelOutput, TableModel, TokenCache
from audit.state.calls import Call, watched
from audit.state.judging import described
from audit.state.steps import Departure, steps_of
from audit.state.watching import watch_steps

SEQUENCES = 12
TARGET = [f.id for f in STATE_FAULTS.values() if f.id.startswith("target") or f.page == "K09"]
DRAFT = [f.id for f in STATE_FAULTS.values() if f.id.startswith("draft")]


@pytest.mark.parametrize("fault", ["correct", "reseeded-each-round"])
@pytest.mark.parametrize("instance", [g2(2), g2(1), i1()], ids=["g2-2", "g2-1", "i1"])
def test_right_states_never_depart(fault: str, instance) -> None:
    read = watch_steps(decoder_for(fault), world_of(instance), SEQUENCES, seed=1)
    assert read.departing == (0, 0)
    assert max(read.largest) < 1e-7
    assert read.compared[0] >= 6 * SEQUENCES
    assert read.compared[1] > 3 * SEQUENCES
    assert read.rejections >= 3
    assert read.full_acceptances > 3
    assert read.readable


@pytest.mark.parametrize("fault", TARGET)
def test_a_wrong_target_state_departs_after_the_right_kind_of_round(fault: str) -> None:
    read = watch_steps(decoder_for(fault), world_of(g2(1)), SEQUENCES, seed=1)
    assert read.departing[0] > SEQUENCES / 3
    first = read.first[0]
    assert first is not None
    after = (
        "full acceptance"
        if fault in ("target-misses-bonus", "target-misses-accepted")
        else ("rejection")
    )
    assert first.after == after


@pytest.mark.parametrize("fault", DRAFT)
def test_a_wrong_draft_state_leaves_the_target_alone(fault: str) -> None:
    read = watch_steps(decoder_for(fault), world_of(g2(2)), SEQUENCES, seed=1)
    assert read.departing[0] == 0
    assert read.departing[1] > SEQUENCES / 3
    first = read.first[1]
    assert first is not None
    assert first.after == ("full acceptance" if fault == "draft-misses-bonus" else "rejection")


def test_a_loop_without_a_cache_is_read_too() -> None:
    decoder = wrap_decoder(without_a_cache)
    read = watch_steps(decoder, world_of(g2(2), decoder), 10, seed=1)
    assert read.departing == (0, 0)
    assert read.readable
    assert read.rejections + read.full_acceptances > 10


def test_the_numbers_of_rounds_are_right() -> None:
    # Text 1 | 0 2 | 1: the draft (0, 0) is rejected at its second token, (1,) kept, then a bonus.
    rows = tuple(None for _ in range(3))
    calls = [
        Call("draft", 0, (1,), (None,)),
        Call("draft", 1, (0,), (None,)),
        Call("target", 0, (1, 0, 0), rows),
        Call("draft", 2, (2,), (None,)),
        Call("target", 2, (2, 1), rows[:2]),
    ]

    def scratch(ids: torch.Tensor) -> torch.Tensor:
        return torch.full((*ids.shape, 3), 1 / 3)

    steps = steps_of(calls, [1, 0, 2, 1, 0], prompt=1, scratch=(scratch, scratch), tolerance=1e-6)
    assert (steps.rejections, steps.full_acceptances) == (1, 1)


def test_position_ids_are_told_where_they_are_wrong() -> None:
    departure = Departure("target", 3, True, 0.25, 2, 1, 3, "rejection", position_id=4)
    assert described(departure) == (
        "token 3, after a rejection: the law differs by 0.25 from that of the text, "
        "with position ids from 4"
    )
    target, draft = TableModel(g2(1).target, 3), TableModel(g2(1).draft, 3)
    with watched((target, draft)) as (_, calls):
        target(torch.tensor([[1, 2]]), position_ids=torch.tensor([[5, 6]]))
        draft(torch.tensor([[1]]))
    assert [call.position for call in calls] == [5, None]


class Positional(TableModel):
    """A model whose mask has four dimensions, as a tree's: nothing can be read from its calls."""

    def forward(self, input_ids, attention_mask=None, **more) -> ModelOutput:  # type: ignore
        return super().forward(input_ids, None if attention_mask is None else attention_mask[0, 0])


def test_calls_that_cannot_be_read_accuse_nobody() -> None:
    own, other = Positional(g2(1).target, 3), TableModel(g2(1).draft, 3)
    with watched((own, other)) as ((model, _), calls):
        model(torch.tensor([[1, 2]]), attention_mask=torch.ones(1, 1, 1, 2))
        model(torch.tensor([[1], [2]]))
    assert [call.readable for call in calls] == [False, False]

    def silent(target, draft, prompt_ids, *, max_new_tokens, **more):
        return torch.zeros(len(prompt_ids), max_new_tokens, dtype=torch.int64)

    decoder = wrap_decoder(silent)
    read = watch_steps(decoder, world_of(g2(1), decoder), 2, seed=1)
    assert not read.readable


def test_a_cache_that_tells_no_length_is_not_read() -> None:
    class Mute(TokenCache):
        get_seq_length = None  # type: ignore[assignment]

    model, other = TableModel(g2(1).target, 3), TableModel(g2(1).draft, 3)
    with watched((model, other)) as (_, calls):
        model(torch.tensor([[1]]), past_key_values=Mute())
    assert not calls[0].readable


def test_hooks_are_taken_off() -> None:
    model = TableModel(g2(1).target, 3)
    with watched((model, model)) as (_, calls):
        model(torch.tensor([[1]]))
    model(torch.tensor([[1]]))
    assert [call.side for call in calls] == ["target", "draft"]
    assert isinstance(decoder_for("correct"), LoadedDecoder)
