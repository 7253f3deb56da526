"""Counts for the diagnosis that follow an exact law as nearly as whole numbers can.

Nothing is drawn, so that no test on them has a false-alarm rate.
"""

from __future__ import annotations

import numpy as np

from audit.diagnosis.observed import Pairs, Seen
from audit.exact.catalogue import rule
from audit.exact.rule import Rule
from audit.selection import select_cases

TOLERANCE = 3e-6


def pairs_of(*ids: str) -> list[Pairs]:
    """Returns the pairs of shipped cases."""
    return [Pairs(case, TOLERANCE) for case in select_cases(ids)]


def expected_counts(law: np.ndarray, rounds: int) -> np.ndarray:
    """Returns int64 [cells] that sum to `rounds`, the largest remainders rounded up."""
    exact = rounds * law / law.sum()
    counts = np.floor(exact).astype(np.int64)
    missing = rounds - int(counts.sum())
    counts[np.argsort(counts - exact, kind="stable")[:missing]] += 1
    return counts


def seen_of(
    pairs: Pairs, name: str | Rule, *, rounds: int = 500, share: float = 1.0, base: str = "ratio"
) -> Seen:
    """Returns what a rule shows that acts in a share of the rounds, none of them mixed."""
    law = pairs.law(rule(name))
    if share < 1:
        law = share * law + (1 - share) * pairs.law(rule(base))
    counts = expected_counts(law, rounds)
    return Seen(pairs, counts, counts * 0)
