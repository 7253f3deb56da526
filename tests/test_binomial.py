"""The binomial tail and limits against sums of exact terms."""

from fractions import Fraction
from math import comb

import pytest

from audit.statistics.binomial import lower_limit, upper_limit, upper_tail


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
