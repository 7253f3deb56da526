"""Exact binomial tail and limits, from the incomplete beta function.

References: Clopper and Pearson (1934).
"""

from __future__ import annotations

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
