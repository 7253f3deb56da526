"""Rows: exact sums, equality across denominators, rotation as in the instance G2."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.row import Row, integer_array

weights = st.lists(st.integers(0, 10**30), min_size=1, max_size=20).filter(any)


def test_of_takes_the_least_common_denominator():
    row = Row.of([Fraction(1, 4), Fraction(1, 6), Fraction(7, 12)])
    assert row.denominator == 12
    assert row.numerators.tolist() == [3, 2, 7]


def test_equal_rows_over_different_denominators_are_equal_and_hash_alike():
    one, other = Row(integer_array([1, 2]), 3), Row(integer_array([2, 4]), 6)
    assert one == other
    assert hash(one) == hash(other)
    assert one != Row(integer_array([2, 1]), 3)
    assert one != Row(integer_array([1, 2, 0]), 3)
    assert one != (Fraction(1, 3), Fraction(2, 3))


def test_rotation_is_the_one_of_the_instance_g2():
    # algorithms.md: rotate_a(v)[i] = v[(i + a) mod 3], here of p(.|2) after token 1.
    row = Row.of([Fraction(2, 5), Fraction(2, 5), Fraction(1, 5)])
    assert list(row.rotated(1)) == [Fraction(2, 5), Fraction(1, 5), Fraction(2, 5)]
    assert row.rotated(0) == row
    assert row.rotated(3) == row


def test_large_integers_keep_every_digit():
    row = Row.normalised([1, 10**40])
    assert row.numerators.dtype == object
    assert row[0] == Fraction(1, 10**40 + 1)


def test_floats_are_correctly_rounded_even_where_the_integers_exceed_a_double():
    row = Row.normalised([10**400, 2 * 10**400])
    assert row.floats().dtype == np.float64
    assert row.floats().tolist() == [1 / 3, 2 / 3]
    assert Row.normalised([10**400 + 1, 2 * 10**400]).floats().tolist() == [1 / 3, 2 / 3]


def test_numerators_cannot_be_written_to():
    for row in (Row.normalised([1, 2]), Row.normalised([1, 2]).rotated(1)):
        with pytest.raises(ValueError, match="read-only"):
            row.numerators[0] = 5


@given(weights)
def test_a_normalised_row_sums_to_one_and_keeps_proportions(numbers):
    row = Row.normalised(numbers)
    assert sum(row) == 1
    assert all(value * sum(numbers) == number for value, number in zip(row, numbers, strict=True))


@given(weights, st.integers(0, 40), st.integers(0, 40))
def test_rotations_add_up(numbers, first, second):
    row = Row.normalised(numbers)
    assert row.rotated(first).rotated(second) == row.rotated(first + second)
