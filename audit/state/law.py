"""The joint law of the emitted tokens of several rounds, against the product of the target's rows.

The same tests as of a sampler's completed blocks: an e-process that bets on the exact laws of the
state faults and on what earlier sequences have shown, sequences that the law excludes, and a
certificate of the total variation at declared looks. Rows and calls must be independent for it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from torch import Tensor

from audit.counts import Table
from audit.plural import are, counted
from audit.state.world import World
from audit.statistics.certificate import look_delta, trials_needed
from audit.statistics.e_process import Gate
from audit.statistics.impossible import ImpossibleEvents, impossible_events, look_alpha
from audit.statistics.independence import Independence, IndependenceGate
from audit.statistics.results import Result
from audit.statistics.total_variation import TotalVariation, total_variation

_FIRST = 2  # tokens by which sequences are sorted in the tests of independence


@dataclass(frozen=True)
class StateBudget:
    """What a run may spend: alpha for any false alarm, delta for any wrong certificate.

    epsilon: the total variation to certify. worlds: how many share alpha and delta.
    """

    alpha: float = 1e-6
    delta: float = 1e-3
    epsilon: float = 0.1
    worlds: int = 1

    LAW = 0.5
    IMPOSSIBLE = 0.15
    INDEPENDENCE = 0.15
    STOPS = 0.1
    RULES = 0.1

    def level(self, share: float) -> float:
        """Returns the level of one world in one share of alpha."""
        return self.alpha * share / self.worlds

    def log_threshold(self, share: float) -> float:
        """Returns the natural logarithm of the e-value at which one world fails by this share."""
        return -math.log(self.level(share))


@dataclass(frozen=True)
class LawReading(Result):
    """What the sequences of one world show.

    log_e is the highest natural logarithm of the e-value, log_threshold where it fails.
    certified: the upper bound of the last look, None before any. distinct: how many of the
    `possible` sequences were seen.
    """

    sequences: int
    looks: int
    log_e: float
    log_threshold: float
    impossible: ImpossibleEvents
    total_variation: TotalVariation
    independence: Independence
    certified: float | None
    distinct: int
    possible: int


class LawWatch:
    """The joint law of one world, part by part."""

    def __init__(self, world: World, budget: StateBudget) -> None:
        self.world, self.budget = world, budget
        self.gate = Gate.create(world.law, world.faults, tolerance=world.tolerance)
        self.looks, self.parts = 0, 0
        self.certified: float | None = None
        self._independence = IndependenceGate.create()
        self._halves = np.zeros((2, len(world.law)), dtype=np.int64)

    @property
    def counts(self) -> Table:
        """The sequences seen, int64 [cells]."""
        return np.asarray(self._halves.sum(axis=0), dtype=np.int64)

    def update(self, calls: list[Tensor]) -> None:
        """Takes in the sequences [rows, length] of several calls, in the order of the calls."""
        codes = [self.world.codes(tokens) for tokens in calls]
        counts = np.bincount(np.concatenate(codes), minlength=len(self.world.law))
        self.gate = self.gate.updated(counts)
        self._independence = self._independence.updated(*self._pairs(codes))
        self._halves[self.parts % 2] += counts
        self.parts += 1

    def look(self) -> None:
        """Takes the next declared look at the certificate."""
        self.looks += 1
        bound = self.total_variation().upper
        self.certified = bound if self.certified is None else min(bound, self.certified)

    def total_variation(self) -> TotalVariation:
        """Returns the total variation to the target's law, with the bounds of the present look."""
        delta = look_delta(self.budget.delta, cases=self.budget.worlds, look=max(self.looks, 1))
        first, second = self._halves
        return total_variation(first, second, probabilities=self.world.law, delta=delta)

    def impossible(self) -> ImpossibleEvents:
        """Returns the test of sequences that the law excludes."""
        events = int(self.counts[self.world.law <= 0].sum())
        return impossible_events(events, int(self.counts.sum()), tolerance=self.world.tolerance)

    def failures(self) -> tuple[str, ...]:
        """Returns what is proven against the law, each within its share of alpha."""
        found, test = [], self.impossible()
        if test.p_value <= look_alpha(self.budget.level(StateBudget.IMPOSSIBLE), self.parts):
            found.append(
                f"{test.events:,} of {counted(test.n, 'sequence')} {are(test.events)} impossible: "
                "the target never goes on so"
            )
        if self.gate.log_e_max >= self.budget.log_threshold(StateBudget.LAW):
            power = self.gate.log_e_max / math.log(10)
            found.append(
                f"the law of {counted(self.world.length, 'token')} is not the target's: e-value "
                f"10^{power:.1f}"
            )
        return tuple(found)

    def dependent(self) -> str:
        """Returns what depends on each other, "" where nothing is proven to."""
        reading = self._independence.reading()
        if reading.p_value > look_alpha(self.budget.level(StateBudget.INDEPENDENCE), self.parts):
            return ""
        what = "consecutive calls" if reading.kind == "call" else "rows of a call"
        return f"{what} share randomness, p = {reading.p_value:.2g}"

    def reading(self) -> LawReading:
        """Returns everything that was measured; at least one part must have been taken in."""
        counts = self.counts
        return LawReading(
            sequences=int(counts.sum()),
            looks=self.looks,
            log_e=self.gate.log_e_max,
            log_threshold=self.budget.log_threshold(StateBudget.LAW),
            impossible=self.impossible(),
            total_variation=self.total_variation(),
            independence=self._independence.reading(),
            certified=self.certified,
            distinct=int(np.count_nonzero(counts[self.world.law > 0])),
            possible=int(np.count_nonzero(self.world.law)),
        )

    def _pairs(self, codes: list[np.ndarray]) -> tuple[Table, Table, Table]:
        """Returns the tables of independence: counts by call, pairs of rows, pairs of calls."""
        kinds = self.world.vocab_size ** min(_FIRST, self.world.length)
        sorts = [code // (self.world.vocab_size**self.world.length // kinds) for code in codes]
        several = [s for s in sorts if len(s) > 1]
        empty = np.zeros((1, kinds), dtype=np.int64)
        by_call = [np.bincount(s, minlength=kinds) for s in several]
        rows = [(s[0 : len(s) // 2 * 2 : 2], s[1::2]) for s in several]
        calls = list(zip(sorts[0::2], sorts[1::2], strict=False))
        return (
            np.stack(by_call) if by_call else empty,
            _table(rows, kinds),
            _table(calls, kinds),
        )


def _table(pairs: list[tuple[np.ndarray, np.ndarray]], kinds: int) -> Table:
    """Returns how often each pair of kinds stands side by side, int64 [kinds, kinds]."""
    table = np.zeros((kinds, kinds), dtype=np.int64)
    for one, other in pairs:
        size = min(len(one), len(other))
        np.add.at(table, (one[:size], other[:size]), 1)
    return table


def sequences_needed(world: World, budget: StateBudget) -> int | None:
    """Returns the look at which a correct loop is expected to be certified, None for no look."""
    return trials_needed(
        world.law,
        budget.epsilon,
        delta_at=lambda look: look_delta(budget.delta, cases=budget.worlds, look=look),
    )
