"""Goodness-of-fit statistics of the power-divergence family against a known law.

Cells are pooled to an expected count of at least 10 from the law and the declared trials alone.
Cells of probability 0 are left to `impossible`: the statistic is that of the other trials. The
p-values are asymptotic; pooled tails are 2 to 7 times too heavy at 1e-6, so that a decision is
taken at a tenth of its nominal level.

References: Cressie and Read (1984); Read and Cressie (1988).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import special

from audit.counts import Table
from audit.statistics.pooling import binned, pool
from audit.statistics.results import Array, Result, checked_law


@dataclass(frozen=True)
class ChiSquare(Result):
    """A statistic of goodness of fit.

    cells counts the cells of positive probability, pools what they were merged into. p_value is
    the probability of a statistic at least this large under any law within the tolerance,
    p_smaller that of one at most this large: near 0 means "too regular to be random".
    """

    statistic: float
    degrees_of_freedom: int
    cells: int
    pools: int
    p_value: float
    p_smaller: float


def cressie_read(
    observed: Table, probabilities: Array, *, n: int, tolerance: float = 0.0
) -> ChiSquare:
    """Returns the Cressie-Read statistic, power 2/3: the one whose far tail is nearest to nominal.

    observed int64 [cells], probabilities float64 [cells]; n is the declared number of trials,
    tolerance the total variation that the dtype's arithmetic may cause.

    >>> cressie_read(np.array([20, 50, 30]), np.array([0.2, 0.5, 0.3]), n=100).p_value
    1.0
    """
    return power_divergence(observed, probabilities, n=n, power=2 / 3, tolerance=tolerance)


def pearson(observed: Table, probabilities: Array, *, n: int, tolerance: float = 0.0) -> ChiSquare:
    """Returns Pearson's statistic, power 1; arguments as `cressie_read`."""
    return power_divergence(observed, probabilities, n=n, power=1.0, tolerance=tolerance)


def likelihood_ratio(
    observed: Table, probabilities: Array, *, n: int, tolerance: float = 0.0
) -> ChiSquare:
    """Returns the G statistic, power 0; arguments as `cressie_read`."""
    return power_divergence(observed, probabilities, n=n, power=0.0, tolerance=tolerance)


def power_divergence(
    observed: Table, probabilities: Array, *, n: int, power: float, tolerance: float = 0.0
) -> ChiSquare:
    """Returns the statistic of any power >= 0 with its asymptotic p-values.

    A law of one pool, and counts without a possible outcome, give statistic 0 and p = 1.

    Raises:
        DraftproofError: if the probabilities are no law.
    """
    law = checked_law(probabilities)
    labels = pool(n * law)
    pools = int(labels.max()) + 1
    counts, shares = binned(observed, labels, pools), binned(law, labels, pools)
    cells = int(np.count_nonzero(law))
    if pools == 1 or not counts.any():
        return ChiSquare(0.0, 0, cells, pools, p_value=1.0, p_smaller=1.0)
    statistic = _divergence(counts, counts.sum() * shares, power)
    degrees = pools - 1
    p_value = upper_tail(statistic, degrees, tolerated(shares, n, tolerance))
    p_smaller = float(special.chdtr(degrees, statistic))
    return ChiSquare(statistic, degrees, cells, pools, p_value, p_smaller)


def _divergence(observed: Table, expected: Array, power: float) -> float:
    if power == 0:
        terms = 2 * special.rel_entr(observed, expected)
    else:
        scale = 2 / (power * (power + 1))
        terms = scale * observed * ((observed / expected) ** power - 1)
    return max(float(terms.sum()), 0.0)


def tolerated(shares: Array, n: int, tolerance: float) -> float:
    """Returns the noncentrality of the worst law within the tolerance, pools of these shares.

    Such a law moves the tolerated mass between the two smallest pools.
    """
    return n * tolerance**2 * float((1 / np.sort(shares)[:2]).sum())


def critical_value(degrees: int, level: float, noncentrality: float = 0.0) -> float:
    """Returns the statistic whose upper tail is `level`.

    >>> round(critical_value(2, 0.05), 3)
    5.991
    """
    low = float(special.chdtri(degrees, level))
    if noncentrality <= 0:
        return low
    high = 2 * low + 1
    while upper_tail(high, degrees, noncentrality) > level:
        high *= 2
    for _ in range(60):
        middle = (low + high) / 2
        beyond = upper_tail(middle, degrees, noncentrality) > level
        low, high = (middle, high) if beyond else (low, middle)
    return high


def upper_tail(statistic: float, degrees: int, noncentrality: float = 0.0) -> float:
    """Returns P(X >= statistic), X noncentral chi-square.

    X is a Poisson mixture of central ones; summing upper tails keeps their relative precision,
    which 1 - chndtr loses.
    """
    mean = noncentrality / 2
    reach = 12 * mean**0.5 + 30
    steps = np.arange(max(0.0, np.floor(mean - reach)), np.ceil(mean + reach))
    weights = np.exp(special.xlogy(steps, mean) - mean - special.gammaln(steps + 1))
    return float(min(weights @ special.chdtrc(degrees + 2 * steps, statistic), 1.0))
