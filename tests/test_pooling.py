"""Pools and bins: fixed by laws, complete, near-equal, and never hiding a forbidden token."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.statistics.pooling import (
    EXCLUDED,
    binned,
    hash_bins,
    pool,
    rank_bins,
    ratio_bins,
    tail_bins,
)

EXPECTED = st.lists(st.floats(0, 40), min_size=1, max_size=60).map(np.array)


@given(EXPECTED)
def test_each_pool_reaches_the_minimum_or_is_alone(expected: np.ndarray) -> None:
    labels = pool(expected)
    assert ((labels == EXCLUDED) == (expected <= 0)).all()
    pools = int(labels.max()) + 1
    sums = binned(expected, labels, pools)
    assert (sums >= 10).all() or pools == 1


@given(EXPECTED)
def test_pools_are_contiguous_in_size(expected: np.ndarray) -> None:
    labels = pool(expected)
    ordered = labels[np.argsort(expected, kind="stable")]
    assert (np.diff(ordered[ordered >= 0]) >= 0).all()


def test_large_cells_stay_single() -> None:
    assert pool(np.array([12.0, 3.0, 50.0, 9.0, 11.0])).tolist() == [2, 0, 3, 0, 1]


def test_what_is_left_over_joins_the_last_pool() -> None:
    assert pool(np.array([6.0, 6.0, 7.0])).tolist() == [0, 0, 0]


def zipf(size: int, *, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Returns target and draft laws shaped like a language model's."""
    rng = np.random.default_rng(seed)
    logits = -1.15 * np.log(np.arange(1, size + 1)) + 0.3 * rng.standard_normal(size)
    target, draft = np.exp(logits), np.exp(logits + rng.standard_normal(size))
    return target / target.sum(), draft / draft.sum()


@pytest.mark.parametrize("size", [40, 1000, 32_000])
def test_bins_have_near_equal_mass(size: int) -> None:
    target, draft = zipf(size, seed=size)
    for labels in (ratio_bins(target, draft), rank_bins(target)):
        masses = binned(target, labels, int(labels.max()) + 1)
        assert len(masses) <= 16
        assert (masses > 0).all()
        assert masses.max() <= 2 / 16 + target.max()


def test_ratio_bins_follow_the_ratio_and_rank_bins_the_rank() -> None:
    target, draft = zipf(1000, seed=2)
    by_ratio = ratio_bins(target, draft)[np.argsort(draft / target)]
    by_rank = rank_bins(target)[np.argsort(-target)]
    assert (np.diff(by_ratio) >= 0).all()
    assert (np.diff(by_rank) >= 0).all()


def test_a_law_of_fewer_cells_than_bins_keeps_them_all() -> None:
    assert ratio_bins(np.array([0.2, 0.5, 0.3]), np.array([0.5, 0.3, 0.2])).tolist() == [2, 0, 1]
    assert rank_bins(np.array([1.0])).tolist() == [0]


def test_ties_are_ordered_by_index() -> None:
    assert rank_bins(np.full(8, 1 / 8), bins=4).tolist() == [0, 0, 1, 1, 2, 2, 3, 3]


def test_forbidden_tokens_share_a_cell_of_their_own() -> None:
    target, other = np.array([0.0, 0.6, 0.0, 0.4]), np.array([0.5, 0.1, 0.2, 0.2])
    for labels in (ratio_bins(target, other), rank_bins(target), tail_bins(target)):
        assert labels[0] == labels[2] == labels.max() == 2
        assert sorted(labels[[1, 3]].tolist()) == [0, 1]


@pytest.mark.parametrize("size", [3, 16, 17, 32_000])
def test_tail_bins_are_bounded_and_grouped_by_powers_of_two(size: int) -> None:
    target, _ = zipf(size, seed=3)
    labels = tail_bins(target, head=16, bins=32)
    assert labels.max() < 32
    tail = np.argsort(-target)[16:]
    for label in np.unique(labels[tail])[:-1]:
        inside = target[tail][labels[tail] == label]
        assert inside.max() < 2 * inside.min()


def test_hash_bins_are_keyed_and_even() -> None:
    labels = hash_bins(64_000, b"one")
    counts = np.bincount(labels, minlength=64)
    # Chi-square of 63 degrees of freedom: above 135 with probability 3e-7.
    assert ((counts - 1000) ** 2 / 1000).sum() < 135
    assert (labels == hash_bins(64_000, b"one")).all()
    assert (labels == hash_bins(64_000, b"two")).mean() < 0.05


def test_hash_bins_of_one_key_never_change() -> None:
    # The keyed BLAKE2b (RFC 7693) of id 7 as eight bytes, read as a little-endian number.
    assert hash_bins(8, b"key")[7] == 18009546460469767857 % 64


def test_binned_keeps_whole_numbers_whole() -> None:
    sums = binned(np.array([2**60, 1, 5]), np.array([1, 1, EXCLUDED]), 3)
    assert sums.dtype == np.int64
    assert sums.tolist() == [0, 2**60 + 1, 0]
