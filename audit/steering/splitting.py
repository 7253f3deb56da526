"""Finds how one number decides: the turning points of a grid, or the things of a choice."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from audit.steering.answers import Answer
from audit.steering.grids import Grid, Indices
from audit.steering.layout import Unit
from audit.steering.map import DRIFT, Choice, Split, apart
from audit.steering.probes import Probes
from audit.steering.searching import Context, Decision, Effort, Search

MOST = 400  # turning points of one number

Signatures = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Turning:
    """The turning points of a number; sure: several probes see each of them.

    One that a single probe sees may belong to that probe alone.
    """

    decision: Decision
    sure: bool


def choice(context: Context, column: int, base: Answer, unit: Unit) -> Decision | None:
    """Returns the things of a choice, None where its weights depend on what is not decided."""
    weights = base.weights[column][0]
    if not (apart(base.weights[column], weights) <= DRIFT).all():
        return None
    things = tuple(np.flatnonzero(weights > 0).tolist())
    node = Choice(column=column, weights=weights, things=things, slack=unit.slack)
    return node, [context.deciding([column], [thing]) for thing in things]


def split(context: Context, column: int, probes: Probes, effort: Effort) -> Search[Turning | None]:
    """Finds the turning points of a number, None where they depend on what is not decided."""
    grid = probes.layout.by_column[column].grid
    assert grid is not None
    everything = probes.numbers(effort.probes)
    points = _first_looks(grid, effort, probes.hinted(column))
    signatures = yield from _signatures(context, column, points, everything)
    telling = _telling(signatures, effort.compared)
    numbers, signatures = everything[telling], signatures[:, telling]
    while len(between := _between(points, signatures, effort.arity)):
        if _scattered(signatures, effort.lonely):
            return None
        more = yield from _signatures(context, column, between, numbers)
        order = np.argsort(np.concatenate([points, between]))
        points = np.concatenate([points, between])[order]
        signatures = np.concatenate([signatures, more])[order]
    turns = points[_turns(signatures) + 1]
    if _scattered(signatures, effort.lonely) or not len(
        turns
    ):  # none: what made it relevant does not come again
        return None
    both = yield from _signatures(context, column, np.concatenate([turns - 1, turns]), everything)
    seen = (both[: len(turns)] != both[len(turns) :]).sum(axis=1)
    starts = (grid.first, *turns.tolist())
    middles = [(a + b - 1) // 2 for a, b in pairwise((*starts, grid.last + 1))]
    contexts = [context.deciding([column], [middle]) for middle in middles]
    sure = bool((seen >= max(2, len(everything) // 8)).all())
    return Turning((Split(column=column, grid=grid, starts=starts), contexts), sure)


def _first_looks(grid: Grid, effort: Effort, hinted: Sequence[int]) -> Indices:
    """Returns where a number is looked at first: its ends, evenly between, and at hints."""
    evenly = grid.at((np.arange(effort.looks) + 0.5) / effort.looks)
    return np.unique(np.concatenate([[grid.first, grid.last], evenly, hinted]).astype(np.int64))


def _signatures(
    context: Context, column: int, points: Indices, probes: Indices
) -> Search[Signatures]:
    answer = yield context.ask([column], points[:, None], probes)
    return answer.codes.reshape(len(points), -1)


def _telling(signatures: Signatures, compared: int) -> Indices:
    """Returns a few probes that tell apart what all of them do, and some more to compare with."""
    _, first = np.unique(signatures, axis=1, return_index=True)
    kept: list[int] = []
    parts = 1
    for probe in sorted(first.tolist()):
        told = len(np.unique(signatures[:, [*kept, probe]], axis=0))
        if told > parts or len(kept) < compared:
            kept.append(probe)
            parts = told
    return np.array(kept, dtype=np.int64)


def _turns(signatures: Signatures) -> Indices:
    """Returns the points after which some probe shows another outcome."""
    return np.flatnonzero((signatures[1:] != signatures[:-1]).any(axis=1))


def _scattered(signatures: Signatures, most: int) -> bool:
    """Returns whether most turning points are seen by one probe alone: then it is no threshold."""
    turns = _turns(signatures)
    changing = (signatures[turns + 1] != signatures[turns]).sum(axis=1)
    lonely = int((changing == 1).sum())
    alone = signatures.shape[1] > 2 and lonely >= most and 2 * lonely > len(turns)
    return alone or len(turns) > MOST


def _between(points: Indices, signatures: Signatures, arity: int) -> Indices:
    """Returns new points that cut every gap between unlike neighbours in up to `arity` parts."""
    cuts: list[int] = []
    for turn in _turns(signatures).tolist():
        low, high = int(points[turn]), int(points[turn + 1])
        parts = min(arity, high - low)
        cuts += [low + (high - low) * part // parts for part in range(1, parts)]
    return np.array(cuts, dtype=np.int64)
