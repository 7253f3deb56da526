"""Whether rounds follow a declared rule: how many are accepted, what is drawn after a rejection.

Here, and only here, drafted tokens and lengths count. A rule that tests tokens one after another
passes each with a known chance a, given all before: the bet of tilt t pays exp(t [passed]) / (1 - a
+ a exp(t)), so that the number accepted is held against its exact sum over tests of unlike chances,
safely at any number of them. `block` tests prefixes together: there the number accepted in a round
is bet on in the same way. Of the recovered token, the bins of its own law are learned. A round that
was cut short shows only that at least so many were accepted, and pays the least that this may mean.
Where a row lists only the likeliest tokens, a is bounded, and the bound that pays less is taken.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from audit.counts import Table
from audit.statistics.e_process import LearnedBet
from audit.statistics.impossible import ImpossibleEvents, impossible_events
from audit.tracefile.rounds import Round
from audit.tracefile.rows import Array
from audit.traces import rules
from audit.traces.scores import BINS, rank_bin
from audit.traces.tokens import tolerance_of

LARGEST_TOLERANCE = 0.05  # of a recovered token's law: after a rarer rejection nothing is bet
TILTS = np.array([sign * size for size in (0.05, 0.1, 0.2, 0.5, 1.0) for sign in (1, -1)])
_MOST_TRACES = 3


@dataclass
class Sums:
    """What was counted of the rounds that a declared rule speaks of.

    accepted: how many tokens; low and high bound their exact expectation, variance is the largest
    within the bounds. excluded: rounds that no declared rule makes. never_drafted: drafted tokens
    of draft probability 0. recovered, drafted: tokens by bin of their own law.
    """

    rounds: int = 0
    left_out: int = 0
    accepted: int = 0
    low: float = 0.0
    high: float = 0.0
    variance: float = 0.0
    excluded: int = 0
    never_drafted: int = 0
    tolerance: float = 0.0
    recovered: Table = field(default_factory=lambda: np.zeros(BINS, dtype=np.int64))
    drafted: Table = field(default_factory=lambda: np.zeros(BINS, dtype=np.int64))


class RuleWatch:
    """What the rounds of a trace have shown about the declared rules.

    Of several rules only what all of them exclude counts, since an engine may switch.
    """

    def __init__(self, declared: Sequence[str], *, tolerance: float | None) -> None:
        self.declared, self._tolerance = tuple(declared), tolerance
        self.sums = Sums()
        self.log_e_max = 0.0
        self.traces: list[str] = []
        self._tilted = np.full(len(TILTS), -math.log(2 * len(TILTS)))
        even = np.full(BINS, 1 / BINS)
        self._learned = LearnedBet.create(even, np.arange(BINS), share=0.5, tolerance=0.0)

    @property
    def log_e(self) -> float:
        """The natural log of the e-value against the one declared rule; 0 where several are."""
        if len(self.declared) != 1:
            return 0.0
        return float(np.logaddexp.reduce([*self._tilted, self._learned.log_wealth]))

    def excluded(self) -> ImpossibleEvents:
        """Returns the test of what the declared rules exclude."""
        n = self.sums.rounds
        mean = self.sums.tolerance / n if n else 0.0
        return impossible_events(self.sums.excluded, n, tolerance=mean)

    def update(self, rounds: Iterable[Round], coins: np.random.Generator) -> None:
        """Takes in one chunk of sampled rounds; coins are the auditor's own."""
        bins, tolerance = np.zeros(BINS, dtype=np.int64), 0.0
        for one in rounds:
            shown = self._round(one, coins) if one.gamma else None
            if shown is not None:
                bins[shown[0]] += 1
                tolerance = max(tolerance, shown[1])
        self.sums.recovered += bins
        self._learned = replace(self._learned, tolerance=tolerance).updated(bins)
        self.log_e_max = max(self.log_e_max, self.log_e)

    def _round(self, one: Round, coins: np.random.Generator) -> tuple[int, float] | None:
        """Takes in one round; returns the bin of its recovered token, and the bin's tolerance."""
        if not all(rules.known(rule, one) for rule in self.declared):
            self.sums.left_out += 1
            return None
        tolerance = self._allowed(one)
        self.sums.rounds += 1
        self.sums.tolerance += tolerance
        accepted, cut = ending(one)
        self._note_excluded(one, accepted, cut=cut)
        if len(self.declared) != 1:
            return None
        self._bet(one, accepted, cut=cut, tolerance=tolerance)
        if self.declared[0] in rules.NEEDS_DRAFT_ROWS:
            self._count_drafted(one, coins)
        if cut or accepted == one.gamma:
            return None
        return _recovered(self.declared[0], one, accepted, coins.random(), tolerance)

    def _allowed(self, one: Round) -> float:
        """Returns what the rows of a round may be wrong by, both kinds at every place."""
        rows = (*one.target, *one.drafting)
        worst = max(tolerance_of(row, one, self._tolerance) for row in rows)
        return min(2 * one.gamma * worst, 1.0)

    def _bet(self, one: Round, accepted: int, *, cut: bool, tolerance: float) -> None:
        self.sums.accepted += accepted
        if self.declared[0] == "block":
            self._bet_on_number(rules.block_law(one), accepted, cut=cut, tolerance=tolerance)
        else:
            tests = accepted if cut else min(accepted + 1, one.gamma)
            bounds = rules.accept_bounds(self.declared[0], one, tests)
            self._bet_on_tests(bounds, accepted, tolerance=tolerance)

    def _bet_on_tests(self, bounds: Array, accepted: int, *, tolerance: float) -> None:
        """Bets on each test that was made, and adds them to the sums; bounds [tests, 2]."""
        chance = np.where(TILTS > 0, bounds[:, 1:], bounds[:, :1])
        passed = np.arange(len(bounds))[:, np.newaxis] < accepted
        mean = 1 + chance * np.expm1(TILTS)
        allowed = np.log1p(tolerance * np.abs(np.expm1(TILTS)) / mean)
        self._tilted += (TILTS * passed - np.log(mean) - allowed).sum(axis=0)
        low, high = bounds.sum(axis=0).tolist()
        self.sums.low += low
        self.sums.high += high
        self.sums.variance += float((bounds * (1 - bounds)).max(axis=1).sum())

    def _bet_on_number(self, law: Array, accepted: int, *, cut: bool, tolerance: float) -> None:
        """Bets on the number accepted in a round, and adds it to the sums; law [gamma + 1]."""
        n = np.arange(len(law))
        paid = np.exp(np.outer(TILTS, n))
        paid /= (paid @ law)[:, np.newaxis]
        seen = paid[:, accepted:].min(axis=1) if cut else paid[:, accepted]
        spread = paid.max(axis=1) - paid.min(axis=1)
        self._tilted += np.log(seen) - np.log1p(tolerance * spread)
        counted = np.minimum(n, accepted if cut else len(n))
        mean = float(law @ counted)
        self.sums.low += mean
        self.sums.high += mean
        self.sums.variance += float(law @ counted**2) - mean**2

    def _count_drafted(self, one: Round, coins: np.random.Generator) -> None:
        """Counts the drafted tokens by bin of the draft row that they should come from."""
        for row, token in zip(one.drafting, one.draft.tolist(), strict=True):
            cell = row.cell(token)
            if cell < len(row.probs) and row.probs[cell] > 0:
                self.sums.drafted[rank_bin(row.probs, cell, coins.random())] += 1
            else:
                self.sums.never_drafted += 1

    def _note_excluded(self, one: Round, accepted: int, *, cut: bool) -> None:
        """Counts a round that none of the declared rules can have made."""
        why = [excluded_by(rule, one, accepted, cut=cut) for rule in self.declared]
        if not all(why):
            return
        self.sums.excluded += 1
        if len(self.traces) < _MOST_TRACES:
            drafted, emitted = one.draft.tolist(), one.emitted.tolist()
            self.traces.append(f"{one.where}: draft {drafted} emitted {emitted}, {why[0]}")


def ending(one: Round) -> tuple[int, bool]:
    """Returns how many drafted tokens were accepted, and whether that is only a lower bound.

    A round that was cut short ends with an accepted token where that is the drafted one.
    """
    last = len(one.emitted) - 1
    cut = one.stopped and last < one.gamma and bool(one.emitted[last] == one.draft[last])
    return (last + 1, True) if cut else (last, False)


def excluded_by(rule: str, one: Round, accepted: int, *, cut: bool) -> str:
    """Returns why a rule cannot have made the round, "" where it can."""
    if one.judged < len(one.emitted):
        return "tokens follow one that was not drafted"
    if not _can_accept(rule, one, accepted, cut=cut):
        return f"{rule} cannot accept exactly {accepted} of these tokens"
    if cut or accepted == one.gamma:
        return ""
    if rules.never_recovered(rule, one, accepted, int(one.emitted[-1])):
        return f"{rule} cannot draw {one.emitted[-1]} after rejecting {one.draft[accepted]}"
    return ""


def _can_accept(rule: str, one: Round, accepted: int, *, cut: bool) -> bool:
    if rule == "block":
        law = rules.block_law(one)
        return bool((law[accepted:].sum() if cut else law[accepted]) > 0)
    rejected = not cut and accepted < one.gamma
    bounds = rules.accept_bounds(rule, one, accepted + rejected)
    return bool((bounds[:accepted, 1] > 0).all() and (bounds[accepted:, 0] < 1).all())


def _recovered(
    rule: str, one: Round, accepted: int, coin: float, tolerance: float
) -> tuple[int, float] | None:
    """Returns the bin of the recovered token, and its tolerance given the rejection."""
    weights = rules.last_weights(rule, one, accepted)
    cell = one.target[accepted].cell(int(one.emitted[-1]))
    if weights is None or weights[cell] <= 0:
        return None
    allowed = tolerance / float(weights.sum())
    return (rank_bin(weights, cell, coin), allowed) if allowed <= LARGEST_TOLERANCE else None
