"""Whether rows and calls are independent: everything against empirical margins.

Compared with the target's margins a biased sampler would be accused of dependence; given its own
margins, independent rows have a known law whatever the bias. Three small tables are tested:
outcome counts by call (they show what the rows of a call share, rare copying included), pairs of
neighbouring rows of a call, and pairs of the same row in two consecutive calls.

*Too uneven* is judged by an exact e-value. Given the sum of the first t groups, the counts of
group t are multivariate hypergeometric under independence; the bet is Dirichlet-multinomial
around the same shares, over several concentrations. Its reciprocal is a p-value at every level.
*Too even* (stratified or balanced rows) is the lower tail of Pearson's statistic with its exact
mean and variance given both margins.

References: Good (1976) and Gunel and Dickey (1974) for Dirichlet-multinomial evidence in tables;
Haldane (1940) and Dawson (1954) for the moments.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy import special

from audit.counts import Table
from audit.statistics.pooling import pool
from audit.statistics.results import Array, Result

Kind = Literal["batch", "row", "call"]
CONCENTRATIONS = 4.0 ** np.arange(12)
TESTS = 4
TAIL_ALLOWANCE = 10.0
LEAST_EXPECTED = 10.0
LARGEST_SHARE_MERGED = 0.25


@dataclass(frozen=True)
class Independence(Result):
    """The strongest of the tests of independence.

    kind says what it compared: the `batch` counts of calls, neighbouring `row`s of a call, the
    same row of consecutive `call`s. dispersion is Pearson's statistic over its mean under
    independence: 1 on average, far above 1 where rows share randomness, near 0 where too_regular.
    p_value covers all tests; calls and rows count what was seen in calls of several rows.
    """

    kind: Kind
    too_regular: bool
    dispersion: float
    p_value: float
    calls: int
    rows: int


def independence(batch_counts: Table, row_pairs: Table, call_pairs: Table) -> Independence:
    """Returns the strongest evidence against independent rows; its p-value is that of all tests.

    batch_counts int64 [calls, K]: outcomes by call, for calls of several rows; row_pairs int64
    [K, K]: disjoint pairs of neighbouring rows of one call; call_pairs int64 [K, K]: the same row
    in two calls, the calls in disjoint consecutive pairs. Any of them may be all zero.
    """
    tables: dict[Kind, Table] = {"batch": batch_counts, "row": row_pairs, "call": call_pairs}
    found = [(uneven_p_value(table), False, kind) for kind, table in tables.items()]
    found.append((even_p_value(batch_counts), True, "batch"))
    p_value, too_regular, kind = min(found)
    return Independence(
        kind=kind,
        too_regular=too_regular,
        dispersion=dispersion(tables[kind]),
        p_value=min(TESTS * p_value, 1.0),
        calls=int(np.count_nonzero(batch_counts.sum(axis=1))),
        rows=int(batch_counts.sum()),
    )


def uneven_p_value(table: Table) -> float:
    """Returns the exact p-value that the rows of a table [groups, K] differ by more than chance.

    It is 1 / e at most 1, with e the mean over the concentrations. Groups are calls, or, in a
    table of pairs, the outcome of the first row.
    """
    table = _trimmed(table)
    so_far = np.cumsum(table, axis=0)[1:]
    by_bet = [_log_bet(table[1:], so_far, concentration) for concentration in CONCENTRATIONS]
    log_e = float(np.logaddexp.reduce(by_bet)) - np.log(len(CONCENTRATIONS))
    return float(np.exp(min(-log_e, 0.0)))


def _log_bet(counts: Table, so_far: Table, concentration: float) -> float:
    """Returns the log of Dirichlet-multinomial over hypergeometric, summed over groups 2, 3, ...

    The multinomial coefficients of both laws cancel but for the sums so far.
    """
    size, total = counts.sum(axis=1), so_far.sum(axis=1)
    prior = np.maximum(concentration * so_far / total[:, np.newaxis], 1e-300)
    polya = (special.gammaln(prior + counts) - special.gammaln(prior)).sum(axis=1)
    polya -= special.gammaln(concentration + size) - special.gammaln(concentration)
    falling = (special.gammaln(so_far + 1) - special.gammaln(so_far - counts + 1)).sum(axis=1)
    falling -= special.gammaln(total + 1) - special.gammaln(total - size + 1)
    return float((polya - falling).sum())


def even_p_value(table: Table) -> float:
    """Returns the p-value that the rows of a table [groups, K] differ by less than chance.

    Categories are merged, by their totals alone, to 10 expected in a group, or to a quarter of
    all in small groups. Counts are whole numbers: a table stands for all within half a count of
    it. Asymptotic, hence multiplied by 10; 1 where nothing can vary.
    """
    table = _trimmed(_merged(table))
    mean, variance = _moments(table)
    if variance <= 0:
        return 1.0
    statistic = _pearson(table) + float((0.25 / _expected(table)).sum())
    tail = special.gammainc(mean**2 / variance, statistic * mean / variance)
    return float(min(TAIL_ALLOWANCE * tail, 1.0))


def dispersion(table: Table) -> float:
    """Returns Pearson's statistic of homogeneity over its mean under independence, 1 if none.

    >>> dispersion(np.array([[10, 0], [0, 10]])), dispersion(np.array([[4, 0], [5, 0]]))
    (19.0, 1.0)
    """
    table = _trimmed(table)
    mean = _moments(table)[0]
    return _pearson(table) / mean if mean > 0 else 1.0


def _trimmed(table: Table) -> Table:
    used: Table = table[table.sum(axis=1) > 0]
    return np.asarray(used[:, used.sum(axis=0) > 0])


def _merged(table: Table) -> Table:
    groups, rows = np.count_nonzero(table.sum(axis=1)), float(table.sum())
    minimum = min(LEAST_EXPECTED * groups, LARGEST_SHARE_MERGED * rows)
    labels = pool(table.sum(axis=0).astype(np.float64), minimum=minimum)
    merging = labels[:, np.newaxis] == np.arange(labels.max(initial=0) + 1)
    return np.asarray(table @ merging, dtype=np.int64)


def _expected(table: Table) -> Array:
    return np.outer(table.sum(axis=1), table.sum(axis=0)) / float(table.sum())


def _pearson(table: Table) -> float:
    expected = _expected(table)
    return float(((table - expected) ** 2 / expected).sum())


def _moments(table: Table) -> tuple[float, float]:
    """Returns mean and variance of Pearson's statistic over all tables with the same margins."""
    n, (groups, categories) = float(table.sum()), table.shape
    if n <= 3 or groups < 2 or categories < 2:
        return 0.0, 0.0
    (v1, w1), (v2, w2) = (_dawson(table.sum(axis=axis), n) for axis in (0, 1))
    mean = n / (n - 1) * (groups - 1) * (categories - 1)
    variance = 2 * n / (n - 3) * (v1 - w1) * (v2 - w2) + n**2 / (n - 1) * w1 * w2
    return mean, variance


def _dawson(margin: Table, n: float) -> tuple[float, float]:
    size = len(margin)
    return (size - 1) * (n - size) / (n - 1), (float((n / margin).sum()) - size**2) / (n - 2)
