"""Generated rows: Zipf's law in integers, the same on every machine, quick at 128,256 ids."""

import time
from fractions import Fraction

import numpy as np
import pytest

from audit.casefile.generated import GeneratedRows, splitmix64, zipf_weights
from audit.row import Row


def test_splitmix64_gives_the_published_sequence():
    # First outputs of the reference implementation by Vigna for the seed 0.
    first = splitmix64(np.arange(3, dtype=np.uint64)).tolist()
    assert first == [0xE220A8397B1DCDAF, 0x6E789E6AA1B965F4, 0x06C45D188009454F]


@pytest.mark.parametrize("exponent", [Fraction(1, 2), Fraction(1), Fraction(3, 2), Fraction(4)])
def test_zipf_weights_follow_the_power_law(exponent):
    weights = np.array(zipf_weights(100, exponent), dtype=float)
    ranks = np.arange(1, 101)
    assert weights == pytest.approx(2.0**40 * ranks ** -float(exponent), abs=1)


def test_the_target_is_a_shuffled_power_law():
    target, _ = GeneratedRows(7, Fraction(1), 16)(1000)
    descending = sorted(target, reverse=True)
    assert Row.of(descending) == Row.normalised(zipf_weights(1000, Fraction(1)))
    assert list(target) != descending


def test_the_draft_is_the_target_times_a_small_integer():
    target, draft = GeneratedRows(7, Fraction(1), 4)(500)
    factors = {q / p for p, q in zip(target, draft, strict=True)}
    unit = min(factor for factor in factors if factor)
    assert {factor / unit for factor in factors} == {0, 1, 2, 3, 4}


def scalar_splitmix64(counter):
    """The generator again, in plain integers modulo 2^64."""
    mixed = (counter + 1) * 0x9E3779B97F4A7C15 % 2**64
    mixed = (mixed ^ mixed >> 30) * 0xBF58476D1CE4E5B9 % 2**64
    mixed = (mixed ^ mixed >> 27) * 0x94D049BB133111EB % 2**64
    return mixed ^ mixed >> 31


@pytest.mark.parametrize("seed", [0, 1, 2**31 - 1])
def test_plain_integers_give_the_same_rows(seed):
    shuffle = [scalar_splitmix64((2 * seed << 32) + token) for token in range(50)]
    factors = [scalar_splitmix64((2 * seed + 1 << 32) + token) % 6 for token in range(50)]
    ranks = {token: rank for rank, token in enumerate(sorted(range(50), key=shuffle.__getitem__))}
    weights = [2**40 // (ranks[token] + 1) for token in range(50)]
    drafted = [weight * factor for weight, factor in zip(weights, factors, strict=True)]
    expected = (Row.normalised(weights), Row.normalised(drafted))
    assert GeneratedRows(seed, Fraction(1), 5)(50) == expected


def test_seeds_differ():
    one, other = (GeneratedRows(seed, Fraction(1), 16)(100) for seed in (1, 2))
    assert one[0] != other[0]
    assert one[1] != other[1]


def test_the_largest_vocabulary_takes_less_than_a_second_of_processor_time():
    start = time.process_time()
    target, draft = GeneratedRows(1, Fraction(1), 16)(128_256)
    assert time.process_time() - start < 1
    for row in (target, draft):
        assert row.numerators.dtype == np.int64
        assert int(row.numerators.sum()) == row.denominator


def test_a_draft_without_mass_is_refused():
    # One id and the factors 0 and 1: the first seed whose factor is 0, by the scalar generator.
    seed = next(s for s in range(99) if scalar_splitmix64(2 * s + 1 << 32) % 2 == 0)
    with pytest.raises(ValueError, match=f"is {seed}, which makes every draft weight 0"):
        GeneratedRows(seed, Fraction(1), 1)(1)
