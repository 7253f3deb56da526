"""The step comparison over many sequences of one world, with its control.

What two correct forwards of one text may differ by is measured, not assumed: plain decoding with
a cache, one token a call and no draft, against the forward from scratch. A decode loop that
differs by more than ten times as much saw another text.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import torch

from audit.harness.randomness import generator_for
from audit.samplers.decoders.interface import LoadedDecoder
from audit.state.calls import SIDES, Call, watched
from audit.state.running import call
from audit.state.steps import Departure, Steps, steps_of
from audit.state.world import Laws, World
from audit.statistics.results import Result

_CPU = torch.device("cpu")
_ROUNDING = 64  # in units of the dtype's epsilon, of a distance between two laws
_CONTROL = 10.0
_TEXTS = 16


@dataclass(frozen=True)
class StepReading(Result):
    """What the watched sequences of one world show; two figures stand for target and draft.

    compared: laws beside those from scratch; largest: their largest total variation; departing:
    sequences that depart; first: the first departure. control: the largest distance of plain
    decoding with a cache, where it was run; tolerance: the distance that is taken for arithmetic.
    readable: all calls could be read.
    """

    sequences: int
    rejections: int
    full_acceptances: int
    compared: tuple[int, int]
    largest: tuple[float, float]
    departing: tuple[int, int]
    first: tuple[Departure | None, Departure | None]
    control: float | None
    tolerance: float
    readable: bool


def watch_steps(decoder: LoadedDecoder, world: World, sequences: int, *, seed: int) -> StepReading:
    """Returns the step comparison over so many sequences, one row a call."""
    control = None if world.plain is None else _control(world, world.plain, seed)
    tolerance = max(torch.finfo(world.dtype).eps * _ROUNDING, _CONTROL * (control or 0.0))
    found = [_watched(decoder, world, tolerance, seed, number) for number in range(sequences)]
    target, draft = (
        [d for one in found for d in one.departures if d.side == side] for side in SIDES
    )
    return StepReading(
        sequences=sequences,
        rejections=sum(one.rejections for one in found),
        full_acceptances=sum(one.full_acceptances for one in found),
        compared=(
            sum(one.compared["target"] for one in found),
            sum(one.compared["draft"] for one in found),
        ),
        largest=(
            max(one.largest["target"] for one in found),
            max(one.largest["draft"] for one in found),
        ),
        departing=(len(target), len(draft)),
        first=(_typical(target), _typical(draft)),
        control=control,
        tolerance=tolerance,
        readable=all(one.readable for one in found),
    )


def _typical(departures: Sequence[Departure]) -> Departure | None:
    """Returns the first departure of the commonest kind."""
    kinds = [(one.content, one.after) for one in departures]
    common = Counter(kinds).most_common(1)
    return departures[kinds.index(common[0][0])] if common else None


def _control(world: World, plain: Laws, seed: int) -> float:
    """Returns the largest distance of plain decoding with a cache from that without one."""
    generator = generator_for(seed, world.id, "control", device=_CPU)
    texts = torch.randint(world.vocab_size, (_TEXTS, 2 * world.length), generator=generator)
    pairs = ((plain(text[None]), world.scratch[0](text[None])) for text in texts)
    return max(float((one - other).abs().sum(2).max()) / 2 for one, other in pairs)


def observed(
    decoder: LoadedDecoder, world: World, *, purpose: str, seed: int, number: int
) -> tuple[list[Call], list[int]]:
    """Returns the model calls of one sequence, and its text with the prompt."""
    generator = generator_for(seed, world.id, purpose, number, device=_CPU)
    length = world.length + world.gamma + 1  # so that more than two rounds are seen
    with watched(world.models) as (models, calls):
        tokens = call(decoder, world, rows=1, generator=generator, length=length, models=models)
    return calls, [*world.prompt, *tokens[0].tolist()]


def _watched(
    decoder: LoadedDecoder, world: World, tolerance: float, seed: int, number: int
) -> Steps:
    calls, text = observed(decoder, world, purpose="steps", seed=seed, number=number)
    return steps_of(
        calls, text, prompt=len(world.prompt), scratch=world.scratch, tolerance=tolerance
    )
