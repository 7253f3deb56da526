"""Whether rows and calls are independent: everything against empirical margins.

Compared with the target's margins a biased sampler would be accused of dependence; given its own
margins, independent rows have a known law whatever the bias. Four small tables are tested:
outcome counts by call (they show what the rows of a call share, rare copying included), pairs of
neighbouring rows of a call, pairs of the same row in two consecutive calls, and outcome counts by
the number of rows of the call.

*Too uneven* is judged by an exact e-value. Given the sum of the first t groups, the counts of
group t are multivariate hypergeometric under independence; the bet is Dirichlet-multinomial
around the same shares, over several concentrations. Its reciprocal is a p-value at every level.
*Too even* (stratified or balanced rows) is the lower tail of Pearson's statistic with its exact
mean and variance given both margins.

References: Good (1976) and Gunel and Dickey (1974) for Dirichlet-multinomial evidence in tables;
Haldane (1940) and Dawson (1954) for the moments.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal, get_args

import numpy as np
from scipy import special

from audit.counts import Table
from audit.statistics.pooling import pool
from audit.statistics.results import Array, Result

Kind = Literal["batch", "row", "call", "size"]
CONCENTRATIONS = 4.0 ** np.arange(12)
TESTS = 5
TAIL_ALLOWANCE = 10.0
LEAST_EXPECTED = 10.0
LARGEST_SHARE_MERGED = 0.25


@dataclass(frozen=True)
class Independence(Result):
    """The strongest of the tests of independence.

    kind says what it compared: the `batch` counts of calls, neighbouring `row`s of a call, the
    same row of consecutive `call`s, calls of unlike `size`. dispersion is Pearson's statistic over
    its mean under independence: 1 on average, far above 1 where rows share randomness, near 0 where
    too_regular. p_value covers all tests; calls and rows count those seen in calls of several rows.
    """

    kind: Kind
    too_regular: bool
    dispersion: float
    p_value: float
    calls: int
    rows: int


@dataclass(frozen=True, eq=False)
class Association(Result):
    """What the tables of one kind have shown, summed over strata.

    log_bets [tables, concentrations]: natural log of the wealth of each bet (of [1, ...] before
    any table). The e-value is the mean over all of them, valid however the tables overlap.
    statistic and mean are Pearson's and its expectation, over all tables.
    """

    log_bets: Array = field(default_factory=lambda: np.zeros((1, len(CONCENTRATIONS))))
    statistic: float = 0.0
    mean: float = 0.0

    def updated(self, tables: Table) -> Association:
        """Returns this after one more stratum, tables int64 [tables, groups, K]."""
        used = [_trimmed(table) for table in tables]
        return Association(
            self.log_bets + np.stack([_log_bets(table) for table in used]),
            self.statistic + sum(_pearson(table) for table in used),
            self.mean + sum(_moments(table)[0] for table in used),
        )

    @property
    def log_e(self) -> float:
        """The natural log of the e-value: the mean over all bets."""
        return float(np.logaddexp.reduce(self.log_bets.ravel()) - np.log(self.log_bets.size))

    @property
    def p_value(self) -> float:
        """The exact p-value that groups differ by more than chance: 1 / e at most 1."""
        return float(np.exp(min(-self.log_e, 0.0)))

    @property
    def dispersion(self) -> float:
        """Pearson's statistic over its mean under independence, 1 where nothing can vary."""
        return self.statistic / self.mean if self.mean > 0 else 1.0


@dataclass(frozen=True, eq=False)
class Evenness(Result):
    """Pearson's statistic of call counts with its mean and variance, summed over strata.

    Categories are merged, by their totals alone, to 10 expected in a call, or to a quarter of all
    in small calls. Counts are whole numbers: a table stands for all within half a count of it.
    """

    statistic: float = 0.0
    mean: float = 0.0
    variance: float = 0.0

    def updated(self, table: Table) -> Evenness:
        """Returns this after one more stratum, a table [calls, K]."""
        table = _trimmed(_merged(table))
        mean, variance = _moments(table)
        if variance <= 0:
            return self
        statistic = _pearson(table) + float((0.25 / _expected(table)).sum())
        return Evenness(self.statistic + statistic, self.mean + mean, self.variance + variance)

    @property
    def p_value(self) -> float:
        """The p-value that calls differ by less than chance; asymptotic, hence multiplied by 10."""
        if self.variance <= 0:
            return 1.0
        shape, rate = self.mean**2 / self.variance, self.mean / self.variance
        return float(min(TAIL_ALLOWANCE * special.gammainc(shape, self.statistic * rate), 1.0))


@dataclass(frozen=True, eq=False)
class IndependenceGate(Result):
    """Evidence against independence, stratum by stratum; immutable.

    A stratum is a set of calls made alike (one chunk): what differs between strata, such as the
    number of rows a call, is never held against the rows within one.
    """

    kinds: Mapping[Kind, Association]
    evenness: Evenness
    calls: int = 0
    rows: int = 0

    @classmethod
    def create(cls) -> IndependenceGate:
        """Returns the gate before any call."""
        nothing = Association()
        return cls(dict.fromkeys(get_args(Kind), nothing), Evenness())

    def updated(self, batch_counts: Table, row_pairs: Table, call_pairs: Table) -> IndependenceGate:
        """Returns the gate after one more stratum.

        batch_counts int64 [calls, K]: outcomes by call; row_pairs int64 [tables, K, K]: pairs of
        rows of one call; call_pairs int64 [tables, K, K]: the same row in two calls. The pairs of
        one table are disjoint. Any of them may be all zero; a single table may be [K, K].
        """
        tables: dict[Kind, Table] = {"batch": batch_counts, "row": row_pairs, "call": call_pairs}
        tables = {k: t if t.ndim == 3 else t[np.newaxis] for k, t in tables.items()}
        return replace(
            self,
            kinds={
                **self.kinds,
                **{k: self.kinds[k].updated(table) for k, table in tables.items()},
            },
            evenness=self.evenness.updated(batch_counts),
            calls=self.calls + int(np.count_nonzero(batch_counts.sum(axis=1))),
            rows=self.rows + int(batch_counts.sum()),
        )

    def compared(self, size_counts: Table) -> IndependenceGate:
        """Returns the gate after a comparison of strata that differ in the rows of their calls.

        size_counts int64 [sizes, K]: the outcomes of each of these strata.
        """
        size = self.kinds["size"].updated(size_counts[np.newaxis])
        return replace(self, kinds={**self.kinds, "size": size})

    def reading(self, *kinds: Kind) -> Independence:
        """Returns the strongest evidence so far; its p-value is that of all tests together.

        kinds: those to look at, all of them by default.
        """
        asked: tuple[Kind, ...] = kinds or get_args(Kind)
        found = [(self.kinds[kind].p_value, False, kind) for kind in asked]
        even: list[tuple[float, bool, Kind]] = [(self.evenness.p_value, True, "batch")]
        p_value, too_regular, kind = min([*found, *(even if "batch" in asked else [])])
        return Independence(
            kind=kind,
            too_regular=too_regular,
            dispersion=self.kinds[kind].dispersion,
            p_value=min(TESTS * p_value, 1.0),
            calls=self.calls,
            rows=self.rows,
        )


def independence(batch_counts: Table, row_pairs: Table, call_pairs: Table) -> Independence:
    """Returns the reading of a single stratum; arguments as `IndependenceGate.updated`."""
    return IndependenceGate.create().updated(batch_counts, row_pairs, call_pairs).reading()


def _log_bets(table: Table) -> Array:
    """Returns the log of Dirichlet-multinomial over hypergeometric, by concentration.

    Given the sum of the first t groups, the counts of group t are hypergeometric; the bet on it
    is centred at the shares of that sum. The multinomial coefficients of both laws cancel but
    for the sums so far.
    """
    counts, so_far = table[1:], np.cumsum(table, axis=0)[1:]
    size, total = counts.sum(axis=1), so_far.sum(axis=1)
    concentration = CONCENTRATIONS[:, np.newaxis]
    shares = so_far / total[:, np.newaxis]
    prior = np.maximum(concentration[:, :, np.newaxis] * shares, 1e-300)
    polya = (special.gammaln(prior + counts) - special.gammaln(prior)).sum(axis=2)
    polya -= special.gammaln(concentration + size) - special.gammaln(concentration)
    falling = (special.gammaln(so_far + 1) - special.gammaln(so_far - counts + 1)).sum(axis=1)
    falling -= special.gammaln(total + 1) - special.gammaln(total - size + 1)
    return np.asarray((polya - falling).sum(axis=1), dtype=np.float64)


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
    """Returns the expected counts given both margins; the table must not be empty."""
    return np.outer(table.sum(axis=1), table.sum(axis=0)) / float(table.sum())


def _pearson(table: Table) -> float:
    if not table.size:
        return 0.0
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
