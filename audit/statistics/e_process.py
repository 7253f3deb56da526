"""The gate: evidence against "the trials follow the target law" that may be looked at any time.

A bet pays factor f(cell) for every trial. Where the expectation of f is at most 1 under every law
within the tolerance of the target, its wealth (the product of factors) exceeds 1 / alpha with
probability at most alpha, at whatever look and however often one looks (Ville's inequality); so
does any weighted mean of such wealths. Half of the start capital bets on catalogued faults at
several strengths, half on what earlier chunks have shown.

Cells of target probability 0 pay 1: `impossible` judges them. Wealths are natural logarithms.

References: Ville (1939); Shafer (2021); Ramdas, Gruenwald, Vovk and Shafer (2023); James and
Stein (1961) for the shrinkage of the learned bets.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from audit.counts import Table
from audit.statistics.pooling import binned
from audit.statistics.results import Array, Labels, Result, checked_law

STRENGTHS = (1.0, 0.5, 0.25, 0.1, 0.05, 0.02, 0.01, 0.005, 0.002, 0.001)
FAULT_SHARE = 0.5
LARGEST_FACTOR = 50.0
MOST_SINGLE_CELLS = 4096


def factors(law: Array, target: Array, *, tolerance: float) -> Array:
    """Returns the factors of a bet on `law`, [..., cells], for a target without zeros.

    law / target, clipped to [1/50, 50] and brought back to expectation 1, so that one odd cell
    cannot decide; then divided by 1 + tolerance (max f - min f), the largest expectation under
    a law at most `tolerance` (a total variation) away from the target.
    """
    ratio = np.clip(law / target, 1 / LARGEST_FACTOR, LARGEST_FACTOR)
    ratio /= (ratio @ target)[..., np.newaxis]
    spread = ratio.max(axis=-1, keepdims=True) - ratio.min(axis=-1, keepdims=True)
    return np.asarray(ratio / (1 + tolerance * spread), dtype=np.float64)


@dataclass(frozen=True, eq=False)
class FaultBets(Result):
    """Bets on fixed laws, one for each pair of fault and strength.

    names [faults]; log_factors [faults * strengths, cells]; log_wealth [faults * strengths]
    holds the logarithm of start capital times wealth.
    """

    names: tuple[str, ...]
    log_factors: npt.NDArray[np.float64]
    log_wealth: Array

    @classmethod
    def create(
        cls,
        target: Array,
        laws: Mapping[str, Array],
        *,
        shares: Mapping[str, float],
        tolerance: float,
    ) -> FaultBets:
        """Returns the bets with their start capital: shares[name], which sum to that of all."""
        strengths = np.array(STRENGTHS)[:, np.newaxis]
        mixed = [(1 - strengths) * target + strengths * law for law in laws.values()]
        by_strength = strength_shares()
        capital = [np.log(shares[name] * by_strength) for name in laws]
        empty = np.empty((0, len(target)))
        table = factors(np.concatenate([empty, *mixed]), target, tolerance=tolerance)
        return cls(tuple(laws), np.log(table), np.concatenate([np.empty(0), *capital]))

    def updated(self, counts: Table) -> FaultBets:
        """Returns the bets after these trials."""
        return replace(self, log_wealth=self.log_wealth + self.log_factors @ counts)

    def leader(self) -> str | None:
        """Returns the name of the fault with most wealth over its strengths, if any is bet on."""
        if not self.names:
            return None
        by_fault = self.log_wealth.reshape(len(self.names), -1)
        return self.names[int(np.logaddexp.reduce(by_fault, axis=1).argmax())]


@dataclass(frozen=True, eq=False)
class LearnedBet(Result):
    """A bet on the shares of bins that earlier chunks have shown; none in the first chunk.

    labels [cells], consecutive; target and counts by bin; log_wealth as in `FaultBets`.
    """

    labels: Labels
    target: Array
    tolerance: float
    counts: Table
    log_wealth: float

    @classmethod
    def create(cls, target: Array, labels: Labels, *, share: float, tolerance: float) -> LearnedBet:
        """Returns the bet before any trial, with this start capital."""
        labels = np.unique(labels, return_inverse=True)[1].astype(np.int64)
        by_bin = binned(target, labels, int(labels.max()) + 1)
        nothing = np.zeros(len(by_bin), dtype=np.int64)
        return cls(labels, by_bin, tolerance, nothing, float(np.log(share)))

    def updated(self, counts: Table) -> LearnedBet:
        """Returns the bet after these trials, which were bet on from the earlier ones."""
        seen = binned(counts, self.labels, len(self.target))
        gain = float(np.log(factors(self.law(), self.target, tolerance=self.tolerance)) @ seen)
        return replace(self, counts=self.counts + seen, log_wealth=self.log_wealth + gain)

    def law(self) -> Array:
        """Returns (counts + c target) / (n + c), the law that the next chunk is bet to follow.

        c is at least one pseudo-count a bin, and larger the less the counts differ from the
        target: n / (n + c) = 1 - degrees / chi-square, so that nothing is bet on noise.
        """
        n, bins = int(self.counts.sum()), len(self.target)
        expected = n * self.target
        chi_square = ((self.counts - expected) ** 2 / np.maximum(expected, 1e-300)).sum()
        if n == 0 or chi_square <= bins - 1:
            return self.target
        trust = min(1 - (bins - 1) / chi_square, n / (n + bins))
        return np.asarray((1 - trust) * self.target + trust * self.counts / n)


@dataclass(frozen=True, eq=False)
class Gate(Result):
    """The mixture of all bets on one view of one case; immutable, updated chunk by chunk.

    log_e_max is the largest log_e at the end of any chunk. A mean over cases is taken of log_e
    at one moment, never of log_e_max.
    """

    support: npt.NDArray[np.bool_]
    faults: FaultBets
    learned: tuple[LearnedBet, ...]
    log_e_max: float = 0.0

    @classmethod
    def create(
        cls,
        target: Array,
        alternatives: Mapping[str, Array],
        *,
        groups: Sequence[Labels] = (),
        tolerance: float = 0.0,
        weights: Mapping[str, float] | None = None,
    ) -> Gate:
        """Returns the gate before any trial.

        target and each alternative (a fault's law by name) are float64 [cells]; groups are
        labels int64 [cells] to learn bets on, to which every cell by itself is added where there
        are at most 4096. tolerance: total variation allowed to the arithmetic of the dtype.
        weights: share of the faults' capital for the named ones; the others share what is left.
        A fault that possible cells do not tell from the target gets none.

        Raises:
            DraftproofError: if the target is no law.
        """
        law = checked_law(target)
        support = law > 0
        law = law[support]
        visible = _visible(law, alternatives, support=support, tolerance=tolerance)
        shares = _fault_shares(visible, weights or {})
        backed = {name: visible[name] for name in shares}
        faults = FaultBets.create(law, backed, shares=shares, tolerance=tolerance)
        labels = [group[support] for group in groups]
        if len(law) <= MOST_SINGLE_CELLS:
            labels.append(np.arange(len(law)))
        share = (1 - sum(shares.values())) / max(len(labels), 1)
        learned = (LearnedBet.create(law, g, share=share, tolerance=tolerance) for g in labels)
        return cls(support, faults, tuple(learned))

    def updated(self, counts: Table) -> Gate:
        """Returns the gate after the chunk with these counts, int64 [cells]."""
        seen = counts[self.support]
        faults = self.faults.updated(seen)
        learned = tuple(bet.updated(seen) for bet in self.learned)
        after = replace(self, faults=faults, learned=learned)
        return replace(after, log_e_max=max(self.log_e_max, after.log_e))

    @property
    def log_e(self) -> float:
        """The natural logarithm of the present wealth, 0 before any trial."""
        parts = [*self.faults.log_wealth, *(bet.log_wealth for bet in self.learned)]
        return float(np.logaddexp.reduce(parts))

    def leader(self) -> str | None:
        """Returns the name of the fault with most wealth, for display only."""
        return self.faults.leader()


def log_mean(log_es: Sequence[float]) -> float:
    """Returns the logarithm of the mean e-value: valid whatever the cases have in common.

    >>> log_mean([0.0, 0.0])
    0.0
    """
    return float(np.logaddexp.reduce(log_es) - np.log(len(log_es)))


def strength_shares() -> Array:
    """Returns the shares of the strengths, proportional to 1 / (k (k + 1)), full strength first."""
    k = np.arange(1, len(STRENGTHS) + 1)
    weights = 1 / (k * (k + 1))
    return np.asarray(weights / weights.sum())


def _visible(
    target: Array,
    alternatives: Mapping[str, Array],
    *,
    support: npt.NDArray[np.bool_],
    tolerance: float,
) -> dict[str, Array]:
    """Returns the alternatives given a possible cell, without those within the tolerance."""
    visible: dict[str, Array] = {}
    for name, law in alternatives.items():
        possible = law[support]
        if possible.sum() <= 0:
            continue
        possible = possible / possible.sum()
        if np.abs(possible - target).sum() / 2 > max(tolerance, 1e-12):
            visible[name] = possible
    return visible


def _fault_shares(visible: Mapping[str, Array], weights: Mapping[str, float]) -> dict[str, float]:
    """Returns the start capital of each fault; together they hold FAULT_SHARE, or nothing."""
    named = {name: weights[name] for name in visible if name in weights}
    others = [name for name in visible if name not in named]
    left = max(1 - sum(named.values()), 0.0)
    parts = named | {name: left / len(others) for name in others}
    total = sum(parts.values())
    return {name: FAULT_SHARE * parts[name] / total for name in visible if parts[name] > 0}
