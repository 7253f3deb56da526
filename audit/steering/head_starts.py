"""Finds a race with head starts: one more number, the gun, delays the runners unequally.

With a unit exponential E_0 read off the gun, runner i is done at d_i E_0 + E_i / w_i. This is what
is left of noise that has already drawn a token: E_0 says when that token won, the others ran on
from there. The law is rational in the weights w and the delays d (`audit.exact.race`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from audit.exact.race import second_race
from audit.exact.ratios import Ratios, of_row
from audit.row import Row
from audit.steering.answers import Answer
from audit.steering.draws import Weights
from audit.steering.grids import Grid, Indices, Values
from audit.steering.lanes import Duels, Lanes, clocks_of, slack_of
from audit.steering.layout import Unit
from audit.steering.map import Clock, Node, run_times
from audit.steering.searching import Context, Decision, Effort, Search

# Times of the leader and of the gun: of the gun small ones, lest a delay is beyond all times.
_MEETINGS = np.array([[1.0, 0.05], [1.0, 0.1], [3.0, 0.05], [3.0, 0.1]])
_FITS = 1e-6


@dataclass(eq=False, kw_only=True)
class HeadStart(Node):
    """A race of columns[1:] that columns[0] starts; weights and delays are theirs, by runner."""

    columns: tuple[int, ...]
    grid: Grid
    clock: Clock
    weights: Weights
    delays: Weights

    @property
    def chances(self) -> Sequence[Fraction]:
        """The probability that each runner wins."""
        rates = [Fraction(weight) for weight in self.weights]
        waits = [Fraction(d) * rate for d, rate in zip(self.delays, rates, strict=True)]
        gone = np.array([len(rates)])  # the runner that started the others does not run again
        law = second_race(_row([*waits, Fraction(1)]), _row([*rates, Fraction(0)]), gone)
        return law.fractions()[:-1]

    def found(self, answer: Answer, rows: Indices) -> Indices:
        """Returns the child of these rows of an answer, int64 [rows]; -1 where there is none."""
        there, times = run_times(answer, rows, self.columns, self.grid, self.clock)
        return np.where(there, _first(times, self.weights, self.delays), -1)


def _first(times: Values, weights: Weights, delays: Weights) -> Indices:
    """Returns which runner is done first, for times [rows, 1 + runners] of gun and runners."""
    return np.asarray((times[:, :1] * delays + times[:, 1:] / weights).argmin(axis=1))


def _row(values: Sequence[Fraction]) -> Ratios:
    return of_row(Row.of(values))


def head_start(
    context: Context, columns: Sequence[int], unit: Unit, probes: Indices, effort: Effort
) -> Search[Decision | None]:
    """Finds a race with head starts among these columns, None where it is none."""
    assert unit.grid is not None
    for clock in clocks_of(unit.grid) if len(columns) > 2 else []:
        for gun in columns:
            runners = tuple(column for column in columns if column != gun)
            lanes = Lanes((gun, *runners), unit.grid, clock)
            found = yield from _with_gun(context, lanes, probes, effort)
            if found is not None:
                return found
    return None


def _with_gun(
    context: Context, lanes: Lanes, probes: Indices, effort: Effort
) -> Search[Decision | None]:
    """Finds the race that the first of the lanes starts, None where it starts none."""
    settings = lanes.one_early()[1:]
    settings[:, 0] = lanes.at(_MEETINGS[0, 1])
    answer = yield context.ask(lanes.columns, settings, probes)
    codes = answer.codes.reshape(len(settings), -1)
    _, first = np.unique(codes, axis=1, return_index=True)
    probes, codes = probes[np.sort(first)], codes[:, np.sort(first)]
    if len(np.unique(codes, axis=0)) < len(codes):
        return None
    met = yield from _meetings(context, lanes, codes, probes, effort)
    fit = _fitted(met)
    if fit is None:
        return None
    weights, delays = fit
    right = yield from _foretold(context, lanes, fit, codes, probes, effort)
    if not right:
        return None
    node = HeadStart(
        columns=lanes.columns,
        grid=lanes.grid,
        clock=lanes.clock,
        weights=weights,
        delays=delays,
        slack=slack_of(lanes.grid, len(lanes.columns)),
    )
    return node, [context.deciding(lanes.columns, setting) for setting in settings]


def _meetings(
    context: Context, lanes: Lanes, codes: Indices, probes: Indices, effort: Effort
) -> Search[Values]:
    """Finds when each runner meets the first one, float64 [runners - 1, meetings]; NaN if never."""
    others = np.arange(2, len(lanes.columns))
    who = np.repeat(others, len(_MEETINGS))
    base = np.full((len(who), len(lanes.columns)), lanes.late)
    base[:, 1] = np.tile(lanes.at(_MEETINGS[:, 0]), len(others))
    base[:, 0] = np.tile(lanes.at(_MEETINGS[:, 1]), len(others))
    duels = Duels(lanes, base, who, codes[who - 1])
    bracket = np.tile([[lanes.early], [lanes.late]], len(who))
    turns = yield from duels.turned(context, bracket, probes, effort.lanes)
    return np.asarray(turns.mean(axis=0).reshape(len(others), -1))


def _fitted(met: Values) -> tuple[Weights, Weights] | None:
    """Returns the weights and delays of the runners, None where they do not fit every meeting.

    Runner i meets the first one, at time t with the gun at e, where E_i = a_i t + b_i e with
    a_i = w_i / w_1 and b_i = w_i (d_1 - d_i).
    """
    if not np.isfinite(met).all():
        return None
    factors = np.linalg.lstsq(_MEETINGS, met.T, rcond=None)[0]
    if (np.abs(_MEETINGS @ factors - met.T) > _FITS * met.T.max()).any() or (factors[0] <= 0).any():
        return None
    weights = np.concatenate([[1.0], factors[0]])
    delays = np.concatenate([[0.0], -factors[1] / factors[0]])
    return weights, delays - delays.min()


def _foretold(
    context: Context,
    lanes: Lanes,
    fit: tuple[Weights, Weights],
    codes: Indices,
    probes: Indices,
    effort: Effort,
) -> Search[bool]:
    """Finds whether fresh numbers let the predicted runner win."""
    rng = np.random.default_rng(len(lanes.columns))
    settings = lanes.grid.at(rng.random((effort.fresh, len(lanes.columns))))
    answer = yield context.ask(lanes.columns, settings, probes)
    winner = _first(lanes.times(settings), *fit)
    wrong = (answer.codes.reshape(len(settings), -1) != codes[winner]).any(axis=1)
    return bool(wrong.sum() <= 1)
