"""Finds how one number decides: the turning points of a grid, or the things of a choice."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
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
    """The turning points of a number; sure: they hang on no other number (`_sure`)."""

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


def split(
    context: Context,
    column: int,
    probes: Probes,
    effort: Effort,
    *,
    looks: Sequence[int] = (),
) -> Search[Turning | None]:
    """Finds the turning points of a number, None where they depend on what is not decided.

    looks: indices that must be looked at. A few probes find the points; then all of them are held
    against some indices between, and where one of those shows more, all of them search again.
    """
    everything = probes.numbers(effort.probes)
    starts = yield from _starts(context, column, probes, effort, looks)
    if starts is None:
        return None
    grid = probes.layout.by_column[column].grid
    assert grid is not None
    ranges = list(pairwise((*starts, grid.last + 1)))
    missed = yield from _missed(context, column, ranges, everything, effort.inside)
    if missed and effort.compared < len(everything):
        harder = replace(effort, compared=len(everything))
        again = yield from split(context, column, probes, harder, looks=[*looks, *missed])
        return again
    turns = np.array(starts[1:])
    both = yield from _signatures(context, column, np.concatenate([turns - 1, turns]), everything)
    seen = both[: len(turns)] != both[len(turns) :]
    contexts = [context.deciding([column], [(start + stop - 1) // 2]) for start, stop in ranges]
    return Turning((Split(column=column, grid=grid, starts=starts), contexts), _sure(seen))


def _sure(seen: npt.NDArray[np.bool_]) -> bool:
    """Returns whether turning points are those of one number, from who sees them [turns, probes].

    A point that hardly any probe sees, or two that no probe sees both, may come from what the
    probes set for other numbers: those are better decided first.
    """
    enough = seen.sum(axis=1) >= max(2, seen.shape[1] // 8)
    together = seen.astype(np.int64) @ seen.T.astype(np.int64)
    return bool(enough.all() and together.all())


def _starts(
    context: Context, column: int, probes: Probes, effort: Effort, looks: Sequence[int]
) -> Search[tuple[int, ...] | None]:
    """Finds where the ranges of a number start, None where there is one alone or far too many."""
    grid = probes.layout.by_column[column].grid
    assert grid is not None
    points = _first_looks(grid, effort, [*looks, *probes.hinted(column)])
    numbers = probes.numbers(effort.probes)
    signatures = yield from _signatures(context, column, points, numbers)
    telling = _telling(signatures, effort.compared)
    numbers, signatures = numbers[telling], signatures[:, telling]
    while len(between := _between(points, signatures, effort.arity)):
        if _scattered(signatures, effort.lonely):
            return None
        more = yield from _signatures(context, column, between, numbers)
        order = np.argsort(np.concatenate([points, between]))
        points = np.concatenate([points, between])[order]
        signatures = np.concatenate([signatures, more])[order]
    turns = points[_turns(signatures) + 1].tolist()
    one = not turns  # what made the number relevant does not come again
    return None if one or _scattered(signatures, effort.lonely) else (grid.first, *turns)


def _missed(
    context: Context,
    column: int,
    ranges: Sequence[tuple[int, int]],
    numbers: Indices,
    inside: int,
) -> Search[list[int]]:
    """Finds indices inside the ranges at which some probe shows another outcome than at first."""
    shares = np.arange(1, inside + 1) / (inside + 1)
    points = [np.unique([a, *(a + ((b - 1 - a) * shares)).astype(np.int64)]) for a, b in ranges]
    every = yield from _signatures(context, column, np.concatenate(points), numbers)
    found: list[int] = []
    for part in points:
        own, every = every[: len(part)], every[len(part) :]
        found += part[(own != own[0]).any(axis=1)].tolist()
    return found


def _first_looks(grid: Grid, effort: Effort, looks: Sequence[int]) -> Indices:
    """Returns where a number is looked at first: its ends, evenly between, and where told."""
    evenly = grid.at((np.arange(effort.looks) + 0.5) / effort.looks)
    parts = ([grid.first, grid.last], evenly, looks)
    return np.unique(np.concatenate([np.asarray(part, dtype=np.int64) for part in parts]))


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
