"""The bets on "every emitted token follows its target row", over contexts each seen once.

Tokens come one after another, and given all before it a token follows its row: so the factors of
all tokens multiply, whatever the rows. Half of the capital bets on named faults, each in a share
of the places (weakened faults); half on what earlier chunks have shown of the 16 bins of each
order. What is bet in a chunk is fixed before its first round.

The same ratios, turned round, exclude faults: if a fault acted at every place in a share of s or
more, the product of p / ((1 - s) p + s fault) would exceed 1 / delta with chance delta at most.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from audit.statistics.e_process import (
    FAULT_SHARE,
    LARGEST_FACTOR,
    STRENGTHS,
    LearnedBet,
    strength_shares,
)
from audit.statistics.results import Array, Result
from audit.traces.faults import HEADLINE, NAMES
from audit.traces.scores import BINS, ORDERS, UNKNOWN, Bins, Scores

HEADLINE_WEIGHT = 0.5
_STRENGTHS = np.array(STRENGTHS)
_LEAST = 1e-12


@dataclass(frozen=True, eq=False)
class Gate(Result):
    """The wealth of all bets, and the evidence against each fault; immutable, updated by chunks.

    log_wealth, excluding [faults, strengths]: natural logs, of start capital times wealth and of
    the wealth against a fault of that strength. likelihood [faults]: log of that of each fault,
    acting everywhere, over the target's. learned: a bet for each order.
    """

    log_wealth: Array
    excluding: Array
    likelihood: Array
    learned: tuple[LearnedBet, ...]
    log_e_max: float = 0.0

    @classmethod
    def create(cls) -> Gate:
        """Returns the gate before any token."""
        others = (1 - HEADLINE_WEIGHT) / (len(NAMES) - 1)
        shares = np.array([HEADLINE_WEIGHT if name == HEADLINE else others for name in NAMES])
        capital = FAULT_SHARE * np.outer(shares, strength_shares())
        even, share = np.full(BINS, 1 / BINS), (1 - FAULT_SHARE) / len(ORDERS)
        learned = (
            LearnedBet.create(even, np.arange(BINS), share=share, tolerance=0.0) for _ in ORDERS
        )
        nothing = np.zeros_like(capital)
        return cls(np.log(capital), nothing, np.zeros(len(NAMES)), tuple(learned))

    def updated(self, scores: Scores) -> Gate:
        """Returns the gate after one more chunk; impossible tokens are judged elsewhere."""
        used = scores.possible
        tolerance = scores.tolerance[used, np.newaxis]
        ratio = scores.ratio[used]
        after = replace(
            self,
            log_wealth=self.log_wealth
            + _gains(scores.factor[used], scores.spread[used], tolerance),
            excluding=self.excluding + _excluding(ratio, tolerance),
            likelihood=self.likelihood + _likelihood(ratio, scores.fit[used]),
            learned=tuple(
                _learned(bet, scores.bins[:, i], scores.tolerance)
                for i, bet in enumerate(self.learned)
            ),
        )
        return replace(after, log_e_max=max(self.log_e_max, after.log_e))

    @property
    def log_e(self) -> float:
        """The natural log of the present wealth, 0 before any token."""
        learned = [bet.log_wealth for bet in self.learned]
        return float(np.logaddexp.reduce([*self.log_wealth.ravel(), *learned]))

    def leader(self) -> str:
        """Returns the named fault with most wealth over its strengths."""
        by_fault = np.logaddexp.reduce(self.log_wealth, axis=1)
        return NAMES[int(by_fault.argmax())]

    def excluded_from(self, delta: float) -> dict[str, float]:
        """Returns the smallest share of each excluded fault that would have shown.

        A fault that is not there is not excluded at any share. All statements together are wrong
        with chance delta at most.
        """
        bar = np.log(self.excluding.size / delta)
        found = (
            (name, _STRENGTHS[row >= bar]) for name, row in zip(NAMES, self.excluding, strict=True)
        )
        return {name: float(shown.min()) for name, shown in found if len(shown)}


def _gains(factor: Array, spread: Array, tolerance: Array) -> Array:
    """Returns the log gains of one chunk, [faults, strengths], from [tokens, faults] each."""
    weakened = 1 - _STRENGTHS + _STRENGTHS * factor[..., np.newaxis]
    allowed = tolerance[..., np.newaxis] * spread[..., np.newaxis] * _STRENGTHS
    return np.asarray((np.log(weakened) - np.log1p(allowed)).sum(axis=0))


def _excluding(ratio: Array, tolerance: Array) -> Array:
    """Returns the log gains against each fault, [faults, strengths].

    The gain p / law is cut at 50, and the law may be off by the tolerance, as the target may.
    """
    gain = 1 / np.maximum(1 - _STRENGTHS + _STRENGTHS * ratio[..., np.newaxis], 1 / LARGEST_FACTOR)
    most = np.minimum(1 / np.maximum(1 - _STRENGTHS, 1 / LARGEST_FACTOR), LARGEST_FACTOR)
    return np.asarray((np.log(gain) - np.log1p(2 * tolerance[..., np.newaxis] * most)).sum(axis=0))


def _likelihood(ratio: Array, fit: Bins) -> Array:
    """Returns the log-likelihood of each fault over that of the target, [faults], as far known."""
    return np.asarray(np.where(fit != UNKNOWN, np.log(np.maximum(ratio, _LEAST)), 0).sum(axis=0))


def _learned(bet: LearnedBet, bins: Bins, tolerance: Array) -> LearnedBet:
    """Returns the bet after a chunk, at the largest tolerance of its tokens."""
    known = bins != UNKNOWN
    if not known.any():
        return bet
    counts = np.bincount(bins[known], minlength=BINS)
    return replace(bet, tolerance=float(tolerance[known].max())).updated(counts)
