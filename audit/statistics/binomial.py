"""Exact binomial tail and limits, from the incomplete beta function, and those of a mean.

References: Clopper and Pearson (1934).
"""

from __future__ import annotations

from collections.abc import Sequence

from scipy import special


def upper_tail(events: int, n: int, probability: float) -> float:
    """Returns P(K >= events) for K binomial(n, probability).

    >>> upper_tail(2, 2, 0.5), upper_tail(0, 5, 0.0), upper_tail(1, 5, 0.0)
    (0.25, 1.0, 0.0)
    """
    if events <= 0:
        return 1.0
    return float(special.betainc(events, n - events + 1, probability))


def lower_limit(events: int, n: int, delta: float) -> float:
    """Returns the Clopper-Pearson limit that is above the true probability at most delta often.

    >>> lower_limit(0, 10, 0.05), round(lower_limit(10, 10, 0.05), 6) == round(0.05**0.1, 6)
    (0.0, True)
    """
    if events <= 0:
        return 0.0
    return float(special.betaincinv(events, n - events + 1, delta))


def upper_limit(events: int, n: int, delta: float) -> float:
    """Returns the Clopper-Pearson limit that is below the true probability at most delta often.

    >>> round(upper_limit(0, 100, 0.05), 6) == round(1 - 0.05**0.01, 6)
    True
    """
    if events >= n:
        return 1.0
    return float(special.betaincinv(events + 1, n - events, 1 - delta))


def mean_limits(at_least: Sequence[int], n: int, delta: float) -> tuple[float, float]:
    """Returns limits of the mean of a bounded count, both right with probability 1 - delta.

    at_least[i]: how many of n trials counted at least i + 1. The mean is the sum of the chances of
    that; each has its own exact limits at an equal share of delta, whatever the law.

    >>> [round(limit, 3) for limit in mean_limits([60, 20], 100, 0.05)]
    [0.601, 1.014]
    """
    share = delta / (2 * len(at_least))
    return (
        sum(lower_limit(events, n, share) for events in at_least),
        sum(upper_limit(events, n, share) for events in at_least),
    )
