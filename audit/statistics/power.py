"""How surely a test finds a law that is not the target's, before the first trial.

A law is float64 [cells], as the target is; its cells of target probability 0 are judged by
`impossible`, all others by the chi-square and the bets, and what is missing to a sum of 1 is
judged by nothing. Powers are approximations: a noncentral chi-square, normal sums; the binomial
is exact.

References: Cressie and Read (1984) for the noncentrality; Patnaik (1949).
"""

from __future__ import annotations

import numpy as np
from scipy import special

from audit.counts import Table
from audit.statistics.binomial import upper_tail
from audit.statistics.chi_square import critical_value, tolerated
from audit.statistics.e_process import Gate, LearnedBet, factors
from audit.statistics.pooling import binned, pool
from audit.statistics.results import Array

_CHI_SQUARE_POWER = 2 / 3


def chi_square_power(
    law: Array, target: Array, *, n: int, level: float, tolerance: float = 0.0
) -> float:
    """Returns the chance that `cressie_read` over n trials of `law` has p at most `level`.

    Cells are pooled as the test pools them. The statistic is taken as noncentral chi-square whose
    noncentrality is its own value on the expected counts.
    """
    seen = float(law[target > 0].sum())
    labels = pool(n * target)
    pools = int(labels.max()) + 1
    if pools == 1 or seen <= 0:
        return 0.0
    shares, mine = binned(target, labels, pools), binned(law, labels, pools) / seen
    terms = mine * ((mine / shares) ** _CHI_SQUARE_POWER - 1)
    scale = 2 / (_CHI_SQUARE_POWER * (_CHI_SQUARE_POWER + 1))
    noncentrality = max(n * seen * scale * float(terms.sum()), 0.0)
    degrees = pools - 1
    critical = critical_value(degrees, level, tolerated(shares, n, tolerance))
    return float(1 - special.chndtr(critical, degrees, noncentrality))


def flattest(target: Array) -> Array:
    """Returns the end of the direction in which a chi-square over all cells sees bias worst.

    Cells of about half of the mass gain and the others lose, each in proportion to its own, until
    these have nothing: at a total variation on the way the chi-square distance is least, 4 TV^2
    for a half. Where one cell has all mass, every bias is an impossible event.

    >>> flattest(np.array([0.5, 0.3, 0.2])).tolist()
    [1.0, 0.0, 0.0]
    """
    if np.count_nonzero(target) == 1:
        return np.where(np.arange(len(target)) == np.argmin(target), 1.0, 0.0)
    gaining, mass = np.zeros(len(target), dtype=bool), 0.0
    for cell in np.argsort(-target, kind="stable").tolist():
        if 0 < target[cell] <= 0.5 + 1e-12 - mass:
            gaining[cell], mass = True, mass + float(target[cell])
    return np.where(gaining, target, 0.0) / mass


def impossible_power(chance: float, *, n: int, level: float, tolerance: float = 0.0) -> float:
    """Returns the chance that n trials hold so many impossible events that p is at most `level`.

    chance: that of such an event in a trial. The tail is exact.

    >>> round(impossible_power(0.01, n=230, level=1e-7), 2)
    0.9
    """
    events = _fewest(n, level, tolerance)
    if chance <= tolerance or events > n:
        return 0.0
    return upper_tail(events, n, min(chance, 1.0))


def _fewest(n: int, level: float, tolerance: float) -> int:
    """Returns the fewest events among n whose p-value is at most `level`, n + 1 where none is."""
    low, high = 0, n + 1
    while high - low > 1:
        middle = (low + high) // 2
        if upper_tail(middle, n, min(tolerance, 1.0)) <= level:
            high = middle
        else:
            low = middle
    return high


def gate_course(gate: Gate, law: Array, trials: Table) -> tuple[Array, Array]:
    """Returns where a gate's log e-value is expected after each chunk, and its deviation.

    Both are float64 [chunks]; trials int64 [chunks] are those of each chunk. The expectation is a
    lower bound: the e-value is a sum of wealths, whose logarithm is convex in theirs. The standard
    deviation is that of the bet with most wealth.
    """
    inside = law[gate.support]
    learned = [_learned_course(bet, inside, trials) for bet in gate.learned]
    courses = [_fault_course(gate, inside, trials), *learned]
    mean, variance = (np.concatenate(part) for part in zip(*courses, strict=True))
    leading = np.take_along_axis(variance, mean.argmax(axis=0)[np.newaxis], axis=0)[0]
    return np.logaddexp.reduce(mean, axis=0), np.sqrt(leading)


def crossing_power(mean: Array, deviation: Array, bar: float) -> Array:
    """Returns the chance that a log e-value reached the bar by each chunk, float64 [chunks]."""
    distance = np.asarray(mean - bar, dtype=np.float64)
    sure = np.where(distance >= 0, np.inf, -np.inf)
    steps = np.divide(distance, deviation, out=sure, where=deviation > 0)
    return np.asarray(np.maximum.accumulate(special.ndtr(steps)))


def _fault_course(gate: Gate, inside: Array, trials: Table) -> tuple[Array, Array]:
    """Returns means and variances [bets, chunks] of the log wealths of bets on fixed laws."""
    gains = gate.faults.log_factors
    mean, square = gains @ inside, gains**2 @ inside
    n = np.cumsum(trials)
    start = gate.faults.log_wealth[:, np.newaxis]
    spread = np.maximum(square - mean**2, 0)[:, np.newaxis]
    return start + mean[:, np.newaxis] * n, spread * n


def _learned_course(bet: LearnedBet, inside: Array, trials: Table) -> tuple[Array, Array]:
    """Returns mean and variance [1, chunks] of the log wealth of a bet on what was learned.

    The shares learned from n trials scatter around the law; to second order this costs
    sum r (1 - r) r / (2 n b^2) a trial, b being the law that is bet on.
    """
    shares, target = binned(inside, bet.labels, len(bet.target)), bet.target
    seen = float(shares.sum())
    if seen <= 0:
        return np.full((1, len(trials)), bet.log_wealth), np.zeros((1, len(trials)))
    law = shares / seen
    n = seen * np.asarray(np.cumsum(trials) - trials, dtype=np.float64)
    trust = _expected_trust(law, target, n)[:, np.newaxis]
    placed = (1 - trust) * target + trust * law
    gains = np.log(factors(placed, target, tolerance=bet.tolerance))
    scatter = law * (1 - law) * law / placed**2
    cost = trust[:, 0] ** 2 * scatter.sum(axis=1) / (2 * np.maximum(n, 1))
    mean, square = gains @ law, gains**2 @ law
    course = bet.log_wealth + np.cumsum(seen * trials * (mean - cost))
    spread = np.cumsum(seen * trials * np.maximum(square - seen * mean**2, 0))
    return course[np.newaxis], spread[np.newaxis]


def _expected_trust(law: Array, target: Array, n: Array) -> Array:
    """Returns the weight [chunks] that `LearnedBet.law` gives the shares of n trials."""
    bins = len(target)
    chi_square = n * ((law - target) ** 2 / target).sum() + (law * (1 - law) / target).sum()
    shrunk = 1 - (bins - 1) / np.maximum(chi_square, 1e-300)
    return np.asarray(np.maximum(np.minimum(shrunk, n / (n + bins)), 0), dtype=np.float64)
