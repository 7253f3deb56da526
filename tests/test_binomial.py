"""The binomial tail and limits, and those of a mean, against sums of exact terms."""

from fractions import Fraction
from math import comb, factorial

import pytest

from audit.statistics.binomial import lower_limit, mean_limits, upper_limit, upper_tail


def exact_tail(events: int, n: int, p: Fraction) -> Fraction:
    return sum(
        (comb(n, k) * p**k * (1 - p) ** (n - k) for k in range(events, n + 1)), start=Fraction(0)
    )


@pytest.mark.parametrize(("events", "n"), [(0, 7), (1, 7), (3, 7), (7, 7), (40, 200)])
@pytest.mark.parametrize("p", [Fraction(1, 5), Fraction(1, 1000)])
def test_tail_is_the_sum_of_exact_terms(events: int, n: int, p: Fraction) -> None:
    expected = float(exact_tail(events, n, p))
    assert upper_tail(events, n, float(p)) == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize(("events", "n"), [(1, 7), (3, 7), (6, 7), (40, 200)])
@pytest.mark.parametrize("delta", [0.05, 1e-6])
def test_limits_solve_their_defining_equations(events: int, n: int, delta: float) -> None:
    lower, upper = lower_limit(events, n, delta), upper_limit(events, n, delta)
    assert lower < events / n < upper
    assert upper_tail(events, n, lower) == pytest.approx(delta, rel=1e-8)
    assert 1 - upper_tail(events + 1, n, upper) == pytest.approx(delta, rel=1e-6)


def test_limits_at_the_ends() -> None:
    assert lower_limit(0, 5, 0.01) == 0
    assert upper_limit(5, 5, 0.01) == 1


def coverage(law: tuple[float, float, float], n: int, delta: float) -> float:
    """Returns the exact chance that the limits hold the mean of n counts from 0 to 2."""
    mean, covered = law[1] + 2 * law[2], 0.0
    for ones in range(n + 1):
        for twos in range(n + 1 - ones):
            low, high = mean_limits([ones + twos, twos], n, delta)
            ways = factorial(n) // (factorial(ones) * factorial(twos) * factorial(n - ones - twos))
            chance = ways * law[0] ** (n - ones - twos) * law[1] ** ones * law[2] ** twos
            covered += chance * (low <= mean <= high)
    return covered


@pytest.mark.parametrize("law", [(0.3, 0.15, 0.55), (0.97, 0.02, 0.01), (0.0, 0.5, 0.5)])
def test_limits_of_a_mean_cover_it_whatever_the_law(law: tuple[float, float, float]) -> None:
    assert coverage(law, 25, 0.1) >= 0.9


def test_limits_of_a_mean_are_not_idle() -> None:
    # Negative control: limits that spend all of their error elsewhere do not cover.
    assert coverage((0.3, 0.15, 0.55), 25, 1.9) < 0.9
    assert mean_limits([0, 0], 25, 0.1)[0] == 0
    assert mean_limits([25, 25], 25, 0.1)[1] == 2


def test_limits_of_one_share_are_the_binomial_ones() -> None:
    assert mean_limits([7], 20, 0.02) == (lower_limit(7, 20, 0.01), upper_limit(7, 20, 0.01))
