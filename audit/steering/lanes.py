"""The numbers of a race as unit exponentials, and duels between its runners.

A clock reads a unit exponential off a number: `argmax(w / e)` for exponential e, `argmax(log w -
log(-log u))` for uniform u and `argmax(log w + g)` for Gumbel g are all the race in which runner i
is done after E_i / w_i, the earliest wins.

References: Gumbel (1954); Maddison, Mnih and Teh (2017) for the trick.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch

from audit.steering.continuous import Continuous
from audit.steering.grids import Grid, Indices, Uniform, Values
from audit.steering.map import Clock
from audit.steering.searching import Context, Search

_EARLY, _LATE = 1e-18, 1e18


def from_top(values: Values) -> Values:
    """Returns the unit exponential -log u of uniform u: the largest u is the earliest."""
    with np.errstate(divide="ignore"):
        return np.asarray(-np.log(values))


def from_bottom(values: Values) -> Values:
    """Returns the unit exponential -log(1 - u) of uniform u: the smallest u is the earliest."""
    with np.errstate(divide="ignore"):
        return np.asarray(-np.log1p(-values))


def as_it_is(values: Values) -> Values:
    """Returns the exponential itself."""
    return values


def from_gumbel(values: Values) -> Values:
    """Returns the unit exponential e^-g of a Gumbel number g: the largest is the earliest."""
    with np.errstate(over="ignore"):
        return np.asarray(np.exp(-values))


_BACK: Mapping[Clock, Clock] = {
    from_top: lambda times: np.exp(-times),
    from_bottom: lambda times: -np.expm1(-times),
    as_it_is: lambda times: times,
    from_gumbel: lambda times: -np.log(times),
}


def clocks_of(grid: Grid) -> Sequence[Clock]:
    """Returns the clocks that numbers of this grid may be read by."""
    if isinstance(grid, Uniform) and (grid.low, grid.high) == (0.0, 1.0):
        return [from_top, from_bottom]
    if not isinstance(grid, Continuous) or (grid.location, grid.scale) != (0.0, 1.0):
        return []
    return {"exponential": [as_it_is], "gumbel": [from_gumbel]}.get(grid.law, [])


def slack_of(grid: Grid, runners: int) -> float:
    """Returns how far a race run on a grid may be from one of true exponentials.

    A time off by a factor 1 + u makes the second the first with probability 2 u. A uniform cut to
    b bits is off by 2^-b at most, which confuses runners i and j with probability 2^-b (w_j /
    (W - w_i) + w_i / (W - w_j)), W the sum of weights; over all pairs this is 2^-b a runner.
    """
    if isinstance(grid, Uniform):
        return runners * 2.0**-grid.bits
    return float(torch.finfo(grid.dtype).eps) if isinstance(grid, Continuous) else 0.0


@dataclass(frozen=True, eq=False)
class Lanes:
    """The runners of a race: their columns, their grid and the clock that it is run by."""

    columns: tuple[int, ...]
    grid: Grid
    clock: Clock

    def at(self, times: Values) -> Indices:
        """Returns the indices of these times; the lowest index is left out, for a 0 is special."""
        values = _BACK[self.clock](times)
        return np.clip(self.grid.indices(values), self.grid.first + 1, self.grid.last)

    def times(self, indices: Indices) -> Values:
        """Returns the times of these indices."""
        return self.clock(self.grid.values(indices))

    @property
    def early(self) -> int:
        """The index of a runner that is done at once."""
        return int(self.at(np.array(_EARLY)))

    @property
    def late(self) -> int:
        """The index of a runner that is done last."""
        return int(self.at(np.array(_LATE)))

    def one_early(self) -> Indices:
        """Returns the settings in which each runner in turn is early and all others are late."""
        return np.where(np.eye(len(self.columns), dtype=bool), self.early, self.late)


@dataclass(frozen=True, eq=False)
class Duels:
    """Runner who[d] against what base[d] int64 [columns] sets for all others.

    wins int64 [duels, probes]: the codes by which the runner's win is known.
    """

    lanes: Lanes
    base: Indices
    who: Indices
    wins: Indices

    def turned(
        self, context: Context, bracket: Indices, probes: Indices, arity: int
    ) -> Search[Values]:
        """Finds the times on both sides of each runner's turn from winning to losing.

        bracket int64 [2, duels] holds the turns; a duel that does not turn there gives NaN. Returns
        float64 [2, duels].
        """
        low, high = np.sort(bracket, axis=0)
        up = self.lanes.late > self.lanes.early  # whether a later time has the larger index
        ends = yield from self._won(context, np.stack([low, high], axis=1), probes)
        turns = (ends == [up, not up]).all(axis=1)
        rows = np.arange(len(self.who))
        while (gap := np.where(turns, high - low, 0)).max(initial=0) > 1:
            cuts = low[:, None] + _share(gap[:, None], np.arange(1, arity), arity)
            won = yield from self._won(context, cuts, probes)
            below = (won if up else ~won).sum(axis=1)  # cuts on the low side
            every = np.concatenate([low[:, None], cuts, high[:, None]], axis=1)
            low, high = every[rows, below], every[rows, below + 1]
        times = np.stack([self.lanes.times(low), self.lanes.times(high)])
        return np.where(turns, np.sort(times, axis=0), np.nan)

    def _won(self, context: Context, cuts: Indices, probes: Indices) -> Search[Indices]:
        """Finds where the runners win at indices int64 [duels, cuts], bool of that shape."""
        each = cuts.shape[1]
        settings = np.repeat(self.base, each, axis=0)
        settings[np.arange(cuts.size), np.repeat(self.who, each)] = cuts.ravel()
        answer = yield context.ask(self.lanes.columns, settings, probes)
        seen = answer.codes.reshape(*cuts.shape, -1)
        return np.asarray((seen == self.wins[:, None, :]).all(axis=2))


def _share(span: Indices, parts: Indices, arity: int) -> Indices:
    """Returns span * parts // arity without overflow."""
    whole, rest = np.divmod(span, arity)
    return np.asarray(whole * parts + rest * parts // arity)
