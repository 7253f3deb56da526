"""What each emitted token says, as numbers without a vocabulary: bins, ratios of named faults.

The randomised probability integral transform orders the cells of a row, puts u at a random point
of the stretch that the emitted cell has on [0, 1], and is uniform whatever the row: tokens of
different contexts, places and row sizes pool into 16 bins of equal chance. Three orders are used:
by q / p (faults of acceptance and residual), by p (temperature, top-k, top-p), by id (cut off
vocabularies, broken running sums).

References: Rosenblatt (1952); Brockwell (2007) for the randomised transform of discrete laws.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np
import numpy.typing as npt

from audit.statistics.e_process import LARGEST_FACTOR
from audit.tracefile.rows import Array
from audit.traces import faults
from audit.traces.tokens import Flags, Tokens

BINS = 16
ORDERS = ("ratio", "rank", "id")
UNKNOWN = -1  # no draft row, or a token of probability 0
_LARGEST_RATIO = 1e12
Bins = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Scores:
    """The tokens of one chunk of rounds, in no order.

    bins int64 [tokens, orders]; possible: the recorded probability is above 0. Of each named fault,
    [tokens, faults]: factor (its law over the target, clipped, of expectation 1), spread (largest
    less smallest factor), ratio (not clipped; where a cell holds several tokens an upper bound for
    the first fault and 1 for the others), fit (the bin under the fault's own law, unknown there).
    """

    rounds: npt.NDArray[np.int64]
    places: npt.NDArray[np.int64]
    bonus: Flags
    possible: Flags
    tolerance: Array
    rest: Array
    bins: Bins
    factor: Array
    spread: Array
    ratio: Array
    fit: Bins

    def __len__(self) -> int:
        return len(self.places)


def joined(parts: list[Scores]) -> Scores:
    """Returns the scores of several batches as one; there must be one at least."""
    columns = (np.concatenate([getattr(part, f.name) for part in parts]) for f in fields(Scores))
    return Scores(*columns)


def scores_of(tokens: Tokens, coins: Array) -> Scores:
    """Returns the scores of a batch; coins [tokens] are the auditor's own, uniform on [0, 1)."""
    with np.errstate(over="ignore"):  # a ratio to a probability of 1e-320 is as good as infinite
        return _scored(tokens, coins)


def _scored(tokens: Tokens, coins: Array) -> Scores:
    p, cell = tokens.target, tokens.cell
    chance = _at(p, cell)
    possible = chance > 0
    below = [_below(key, cell) for key in _keys(tokens)]
    positions = [_position(p, chance, mask, coins) for mask in below]
    bins = np.stack([np.where(possible, _bin(u), UNKNOWN) for u in positions], axis=1)
    if tokens.draft is None:
        bins[:, ORDERS.index("ratio")] = UNKNOWN
    named = [
        _named(tokens, name, below[int(name in faults.EVERYWHERE)], coins) for name in faults.NAMES
    ]
    factor, spread, ratio, fit = (np.stack(part, axis=1) for part in zip(*named, strict=True))
    return Scores(
        tokens.rounds, tokens.places, tokens.bonus, possible, tokens.tolerance, tokens.rest,
        bins, factor, spread, ratio, fit,
    )  # fmt: skip


def rank_bin(weights: Array, cell: int, coin: float) -> int:
    """Returns the bin of one token by the probabilities that these weights [cells] stand for.

    >>> rank_bin(np.array([1.0, 3.0]), 1, 0.5), rank_bin(np.array([1.0, 3.0]), 0, 0.0)
    (6, 12)
    """
    own = weights[cell]
    earlier = (weights > own) | ((weights == own) & (np.arange(len(weights)) < cell))
    position = (float(weights[earlier].sum()) + coin * float(own)) / float(weights.sum())
    return min(int(position * BINS), BINS - 1)


def _at(rows: Array, cell: Bins) -> Array:
    return np.asarray(rows[np.arange(len(cell)), cell])


def _keys(tokens: Tokens) -> tuple[Array, Array, Array]:
    """Returns the three keys [tokens, cells] that cells are ordered by, in the order of ORDERS."""
    p = tokens.target
    rank = -p
    ids = np.broadcast_to(np.arange(p.shape[1], dtype=np.float64), p.shape)
    if tokens.draft is None:
        return rank, rank, ids
    return np.divide(tokens.draft.rows, p, out=np.zeros_like(p), where=p > 0), rank, ids


def _below(key: Array, cell: Bins) -> Flags:
    """Returns which cells stand before the emitted one, [tokens, cells]; ties by index."""
    own = _at(key, cell)[:, np.newaxis]
    earlier = np.arange(key.shape[1]) < cell[:, np.newaxis]
    return np.asarray((key < own) | ((key == own) & earlier))


def _position(law: Array, chance: Array, below: Flags, coins: Array) -> Array:
    return np.asarray(np.einsum("ij,ij->i", law, below) + coins * chance)


def _bin(position: Array) -> Bins:
    return np.clip(position * BINS, 0, BINS - 1).astype(np.int64)


def _named(
    tokens: Tokens, name: str, below: Flags, coins: Array
) -> tuple[Array, Array, Array, Bins]:
    """Returns factor, spread, ratio and fit of one fault, [tokens] each."""
    law, cell = _law(tokens, name), tokens.cell
    own, chance = _at(law, cell), _at(tokens.target, cell)
    ratio = np.divide(own, chance, out=np.ones_like(own), where=chance > 0)
    ratio = np.minimum(ratio, _LARGEST_RATIO)
    factor, spread = _factor(law, tokens.target, cell)
    fit = np.where(tokens.exact, _bin(_position(law, own, below, coins)), UNKNOWN)
    return factor, spread, _bounded(tokens, name, ratio), fit


def _law(tokens: Tokens, name: str) -> Array:
    """Returns what a fault emits at every token, [tokens, cells].

    That is the target's law where the fault does not act, or where no draft row is known.
    """
    p = tokens.target
    if name in faults.EVERYWHERE:
        return faults.EVERYWHERE[name](p, p)
    if tokens.draft is None:
        return p
    q, concerned = tokens.draft.rows, faults.acts(name, tokens.bonus)[:, np.newaxis]
    if name in faults.AT_BONUS:
        return np.where(concerned, faults.AT_BONUS[name](tokens.before, q), p)
    return np.where(concerned, faults.AT_DRAFTS[name](p, q), p)


def _factor(law: Array, target: Array, cell: Bins) -> tuple[Array, Array]:
    """Returns the factor of the emitted cell and the spread over all possible cells, [tokens].

    Impossible cells count as 1, which hardly ever widens the spread: its mean is 1.
    """
    ratio = np.divide(law, target, out=np.ones_like(law), where=target > 0)
    ratio = np.clip(ratio, 1 / LARGEST_FACTOR, LARGEST_FACTOR)
    mean = np.einsum("ij,ij->i", ratio, target)
    return _at(ratio, cell) / mean, (ratio.max(axis=1) - ratio.min(axis=1)) / mean


def _bounded(tokens: Tokens, name: str, ratio: Array) -> Array:
    """Returns the ratio where cells are tokens; elsewhere the headline's upper bound, or 1."""
    if tokens.exact.all():
        return ratio
    if name != faults.HEADLINE or tokens.draft is None:
        return np.where(tokens.exact, ratio, 1.0)
    p, cell = tokens.target, tokens.cell
    # Of tokens that share the last cell only the sum is known: they may have nothing in common.
    rejected = 1 - np.minimum(p, tokens.draft.low)[:, :-1].sum(axis=1)
    kept = np.minimum(_at(tokens.draft.high, cell) / np.maximum(_at(p, cell), 1e-300), 1)
    return np.where(tokens.exact | tokens.bonus, ratio, kept + rejected)
