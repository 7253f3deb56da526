"""Total variation between observed counts and a known law: estimate, exact null mean, bounds.

The estimate is biased upwards, since total variation is convex: E[estimate] >= TV(R, p) for the
sampler's law R. With McDiarmid's inequality (one trial moves it by at most 1 / n) this makes
U = estimate + sqrt(ln(1 / delta) / (2 n)) an upper bound for every law and every n, provided that
the trials are independent and n was declared beforehand.

References: de Moivre (1730) for the mean deviation of a binomial, in Diaconis and Zabell (1991);
McDiarmid (1989); Clopper and Pearson (1934).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy import special

from audit.counts import Table
from audit.errors import DraftproofError
from audit.statistics.binomial import lower_limit
from audit.statistics.results import Array, Result, checked_law


@dataclass(frozen=True)
class TotalVariation(Result):
    """Estimate of the total variation with its bounds.

    null_mean is what a correct sampler shows on average at this n. Each of `upper` and `lower`
    is wrong at most delta often.
    """

    estimate: float
    null_mean: float
    upper: float
    lower: float
    n: int
    delta: float


def total_variation(
    first: Table, second: Table, *, probabilities: Array, delta: float
) -> TotalVariation:
    """Returns the total variation of all trials to the law, with both bounds.

    first, second int64 [cells]: two independent parts of the trials. The lower bound chooses its
    event on the first and measures it on the second; everything else uses their sum.

    Raises:
        DraftproofError: if there are no trials or the probabilities are no law.
    """
    law = checked_law(probabilities)
    counts = first + second
    n = int(counts.sum())
    estimate = plug_in(counts, law)
    return TotalVariation(
        estimate=estimate,
        null_mean=null_mean(law, n),
        upper=min(estimate + slack(n, delta), 1.0),
        lower=_lower(first, second, law=law, delta=delta),
        n=n,
        delta=delta,
    )


def plug_in(counts: Table, probabilities: Array) -> float:
    """Returns the total variation between the observed shares and the law.

    >>> round(plug_in(np.array([26, 45, 29]), np.array([0.2, 0.5, 0.3])), 12)
    0.06

    Raises:
        DraftproofError: if there are no trials.
    """
    n = int(counts.sum())
    if n < 1:
        raise DraftproofError("a total variation needs at least 1 trial and was given 0")
    return float(np.abs(counts / n - probabilities).sum() / 2)


def null_mean(probabilities: Array, n: int) -> float:
    """Returns the exact mean of the estimate over n trials of a correct sampler.

    A cell adds E|X / n - p| / 2 = p (1 - p) P(X' = floor(n p)) for X' binomial(n - 1, p).

    >>> null_mean(np.array([0.5, 0.5]), 2)
    0.25
    """
    p = np.asarray(probabilities, dtype=np.float64)
    k = np.minimum(np.floor(n * p), n - 1)
    choices = special.gammaln(n) - special.gammaln(k + 1) - special.gammaln(n - k)
    log_pmf = choices + special.xlogy(k, p) + special.xlog1py(n - 1 - k, -p)
    return float((p * (1 - p) * np.exp(log_pmf)).sum())


def slack(n: int, delta: float) -> float:
    """Returns what is added to the estimate over n trials for an upper bound at delta."""
    return math.sqrt(math.log(1 / delta) / (2 * n))


def _lower(first: Table, second: Table, *, law: Array, delta: float) -> float:
    """Returns a lower bound on the excess of the cells that the first part saw too often."""
    event = first > first.sum() * law
    share = lower_limit(int(second[event].sum()), int(second.sum()), delta)
    return max(share - float(law[event].sum()), 0.0)
