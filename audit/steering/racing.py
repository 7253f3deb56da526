"""Finds the weights of a race: several numbers of the same kind, of which the earliest wins.

Two runners turn where E_i / E_j = w_i / w_j, which bisection finds. That this holds for several
E_j, and that fresh numbers let the predicted runner win, is what makes it a race.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from audit.steering.draws import Weights
from audit.steering.grids import Indices, Values
from audit.steering.lanes import Duels, Lanes, clocks_of, slack_of
from audit.steering.layout import Unit
from audit.steering.map import Race
from audit.steering.searching import Context, Decision, Effort, Search

PACES = (0.7, 5.3, 1.1, 1.9, 3.1, 8.9)  # times of the leader that the others are held against
NEAR = 1e-4  # how far beyond the first pace's turn those at other paces are looked for
AGREE = 1e-3  # how far, relatively, the ratios at different paces may differ
_JUST = 1e-7  # how far, relatively, an exact ratio may be beyond its bracket by rounding alone


@dataclass(frozen=True, eq=False)
class _Field:
    """The runners as they show: codes int64 [runners + 1, probes].

    Row i is what is emitted where runner i is early, the last row where all are level.
    """

    context: Context
    lanes: Lanes
    probes: Indices
    codes: Indices
    effort: Effort

    @property
    def runners(self) -> int:
        """The number of runners."""
        return len(self.lanes.columns)


def race(
    context: Context, group: Sequence[int], unit: Unit, probes: Indices, effort: Effort
) -> Search[Decision | None]:
    """Finds the weights of a race among the columns of a group, None where it is none."""
    assert unit.grid is not None
    for clock in clocks_of(unit.grid) if len(group) > 1 else []:
        lanes = Lanes(tuple(group), unit.grid, clock)
        field = yield from _field(context, lanes, probes, effort)
        weights = yield from _weights(field)
        if weights is not None:
            things = tuple(np.flatnonzero(weights > 0).tolist())
            slack = slack_of(lanes.grid, len(things))
            node = Race(
                columns=lanes.columns,
                grid=lanes.grid,
                clock=clock,
                weights=weights,
                things=things,
                slack=slack,
            )
            wins = lanes.one_early()
            return node, [context.deciding(group, wins[thing]) for thing in things]
    return None


def _field(context: Context, lanes: Lanes, probes: Indices, effort: Effort) -> Search[_Field]:
    level = np.full((1, len(lanes.columns)), lanes.at(np.array(1.0)))
    settings = np.concatenate([lanes.one_early(), level])
    answer = yield context.ask(lanes.columns, settings, probes)
    codes = answer.codes.reshape(len(settings), -1)
    _, first = np.unique(codes, axis=1, return_index=True)
    telling = np.sort(first)
    return _Field(context, lanes, probes[telling], codes[:, telling], effort)


def _weights(field: _Field) -> Search[Weights | None]:
    """Finds the weights, that of the leader 1; None where it is no race."""
    same = (field.codes[:-1] == field.codes[-1]).all(axis=1)
    leader = yield from _leader(field, np.flatnonzero(same))
    others = np.flatnonzero(~same)
    if leader is None or not len(others):
        return None
    ratios = yield from _ratios(field, leader, others)
    if ratios is None:
        return None
    weights = np.zeros(field.runners)
    weights[leader], weights[others] = 1.0, ratios
    right = yield from _foretold(field, weights)
    return weights if right else None


def _leader(field: _Field, like: Indices) -> Search[int | None]:
    """Finds which runner wins at equal times; one without weight looks like it when early."""
    if len(like) < 2:
        return int(like[0]) if len(like) else None
    settings = np.full((len(like), field.runners), field.lanes.at(np.array(1.0)))
    settings[np.arange(len(like)), like] = field.lanes.late
    answer = yield field.context.ask(field.lanes.columns, settings, field.probes)
    moved = (answer.codes.reshape(len(like), -1) != field.codes[-1]).any(axis=1)
    return int(like[moved.argmax()]) if moved.sum() == 1 else None


def _ratios(field: _Field, leader: int, others: Indices) -> Search[Weights | None]:
    """Finds w_i / w_leader of the others: roughly at one pace, then closely at all of them."""
    lanes, effort = field.lanes, field.effort
    paces = lanes.at(np.array(PACES[: effort.paces]))
    whole = np.tile([[lanes.early], [lanes.late]], len(others))
    first = _against(field, leader, others, paces[:1])
    rough = yield from first.turned(field.context, whole, field.probes, effort.lanes)
    if not np.isfinite(rough).all():
        return None
    margins = np.array([[1 - NEAR], [1 + NEAR]])
    ratios = rough / lanes.times(paces[:1]) * margins
    held = np.tile(lanes.times(paces), len(others))
    bracket = lanes.at(np.repeat(ratios, len(paces), axis=1) * held)
    bracket = np.sort(bracket, axis=0) + np.array([[-1], [1]])
    duels = _against(field, leader, others, paces)
    turns = yield from duels.turned(field.context, bracket, field.probes, effort.lanes)
    return _agreed((turns / held).reshape(2, len(others), -1))


def _against(field: _Field, leader: int, others: Indices, paces: Indices) -> Duels:
    """Returns the duels of every other runner with the leader at every pace."""
    who = np.repeat(others, len(paces))
    base = np.full((len(who), field.runners), field.lanes.late)
    base[:, leader] = np.tile(paces, len(others))
    return Duels(field.lanes, base, who, field.codes[who])


def _agreed(ends: Values) -> Weights | None:
    """Returns the ratio between ends float64 [2, runners, paces], None where paces disagree."""
    middle, width = ends.mean(axis=0), ends[1] - ends[0] + _JUST * ends[1]
    ratio = (middle / width).sum(axis=1) / (1 / width).sum(axis=1)
    far = np.abs(middle - ratio[:, None]) > 4 * width + AGREE * ratio[:, None]
    return None if far.any() or not np.isfinite(ratio).all() else ratio


def _foretold(field: _Field, weights: Weights) -> Search[bool]:
    """Finds whether fresh numbers let the predicted runner win."""
    rng = np.random.default_rng(field.runners)
    settings = field.lanes.grid.at(rng.random((field.effort.fresh, field.runners)))
    answer = yield field.context.ask(field.lanes.columns, settings, field.probes)
    with np.errstate(divide="ignore"):
        winner = (field.lanes.times(settings) / weights).argmin(axis=1)
    wrong = answer.codes.reshape(len(settings), -1) != field.codes[winner]
    return bool(wrong.any(axis=1).sum() <= 1)
