"""Which cells are judged together: labels fixed from laws and trials, never from the counts.

Labels are int64 [cells], consecutive from 0. In the bins, cells of target probability 0 share one
further label, the last, so that a forbidden token stays visible as a cell of its own; in a pool
they are labelled EXCLUDED, for `impossible` judges them.
"""

from __future__ import annotations

from hashlib import blake2b
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from audit.statistics.results import Array, Labels

EXCLUDED = -1
Number = TypeVar("Number", np.int64, np.float64)


def pool(expected: Array, *, minimum: float = 10.0) -> Labels:
    """Returns pools of cells, each with an expected count of at least `minimum`.

    The smallest cells are merged, in ascending order, until a pool is large enough; one pool is
    left where all cells together are not. Cells of expected count 0 are EXCLUDED.

    >>> pool(np.array([30.0, 4.0, 0.0, 7.0, 50.0])).tolist()
    [1, 0, -1, 0, 2]
    """
    labels = np.full(len(expected), EXCLUDED, dtype=np.int64)
    label, gathered = 0, 0.0
    for cell in np.argsort(expected, kind="stable").tolist():
        if expected[cell] <= 0:
            continue
        labels[cell] = label
        gathered += float(expected[cell])
        if gathered >= minimum:
            label, gathered = label + 1, 0.0
    if gathered:
        labels[labels == label] = max(label - 1, 0)
    return labels


def binned(values: npt.NDArray[Number], labels: Labels, size: int) -> npt.NDArray[Number]:
    """Returns the sums of the values by label, [size], in their own dtype, without EXCLUDED.

    >>> binned(np.array([5, 7, 1]), np.array([0, -1, 0]), 2).tolist()
    [6, 0]
    """
    sums = np.zeros(size, dtype=values.dtype)
    kept = labels >= 0
    np.add.at(sums, labels[kept], values[kept])
    return sums


def ratio_bins(target: Array, other: Array, *, bins: int = 16) -> Labels:
    """Returns bins of near-equal target mass over the cells ordered by other / target.

    For most faults of acceptance and residual, emitted / target is a function of draft / target:
    these bins keep nearly all evidence at any vocabulary size. Ties are ordered by index.

    >>> ratio_bins(np.array([0.2, 0.5, 0.3]), np.array([0.5, 0.3, 0.2]), bins=2).tolist()
    [1, 0, 1]
    """
    ratio = np.divide(other, target, out=np.zeros(len(target)), where=target > 0)
    return _equal_mass_bins(target, np.argsort(ratio, kind="stable"), bins)


def rank_bins(target: Array, *, bins: int = 16) -> Labels:
    """Returns bins of near-equal target mass over the cells ordered by target, largest first.

    They show what depends on probability alone: temperature, top-k, top-p. Ties are ordered by
    index.

    >>> rank_bins(np.array([0.2, 0.5, 0.0, 0.3]), bins=2).tolist()
    [1, 0, 2, 1]
    """
    return _equal_mass_bins(target, np.argsort(-target, kind="stable"), bins)


def tail_bins(target: Array, *, head: int = 16, bins: int = 32) -> Labels:
    """Returns the `head` likeliest cells as single bins and the others by powers of two.

    At most `bins` labels (the last of them holds all that is rarer), and one for probability 0.
    They show a tail that was cut or raised.

    >>> tail_bins(np.array([0.5, 0.25, 0.2, 0.05, 0.0]), head=2).tolist()
    [0, 1, 2, 3, 4]
    """
    order = np.argsort(-target, kind="stable")
    exponents = np.frexp(target)[1].astype(np.int64)
    start = exponents[order[min(head, len(order) - 1)]]
    labels = np.minimum(head + start - exponents, bins - 1)
    labels[order[:head]] = np.arange(len(order[:head]))
    return _consecutive(labels, target)


def hash_bins(vocab_size: int, key: bytes, *, bins: int = 64) -> Labels:
    """Returns secret bins: the keyed BLAKE2b hash of each id modulo `bins`.

    A sampler that does not know the key (at most 64 bytes) cannot hide a bias inside them.
    """
    digests = (
        blake2b(token.to_bytes(8, "little"), digest_size=8, key=key).digest()
        for token in range(vocab_size)
    )
    words = np.frombuffer(b"".join(digests), dtype="<u8")
    return (words % bins).astype(np.int64)


def _equal_mass_bins(target: Array, order: Labels, bins: int) -> Labels:
    """Returns each cell's bin by the middle of its stretch of the cumulative mass."""
    mass = target[order]
    middle = np.cumsum(mass) - mass / 2
    labels = np.empty(len(target), dtype=np.int64)
    labels[order] = np.minimum(middle / mass.sum() * bins, bins - 1).astype(np.int64)
    return _consecutive(labels, target)


def _consecutive(labels: Labels, target: Array) -> Labels:
    """Returns the labels without gaps, cells of probability 0 behind all others."""
    apart = np.where(target > 0, labels, np.iinfo(np.int64).max)
    return np.unique(apart, return_inverse=True)[1].astype(np.int64)
