"""Curves of log-likelihood: their peak, their mean, their interval."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import pytest
from scipy import stats

from audit.diagnosis.fitting import QUANTILE, Curve, simplest
from audit.diagnosis.results import Estimate

GRID = [Fraction(part, 8) for part in range(9)]


def normal(values: Sequence[Fraction]) -> list[float]:
    """Returns the log-density, up to a constant, of a normal at 0.3 with deviation 0.05."""
    return [-(((float(value) - 0.3) / 0.05) ** 2) / 2 for value in values]


def test_the_interval_is_that_of_the_chi_square_quantile() -> None:
    assert pytest.approx(stats.chi2.isf(1e-3, 1), abs=1e-3) == QUANTILE


def test_a_curve_climbs_to_its_peak() -> None:
    curve = Curve(normal, GRID).climbed(12)
    assert float(curve.best) == pytest.approx(0.3, abs=1e-4)
    assert curve.highest == pytest.approx(0, abs=1e-5)


def test_the_ends_of_the_interval_are_where_the_ratio_refutes() -> None:
    found = Curve(normal, GRID).climbed(12).interval(20)
    reach = 0.05 * math.sqrt(QUANTILE)
    assert found.low == pytest.approx(0.3 - reach, abs=1e-4)
    assert found.high == pytest.approx(0.3 + reach, abs=1e-4)


def test_the_mean_is_that_of_the_density() -> None:
    """The normal's mass within 0..1 is 0.05 sqrt(2 pi), its mean height the same over length 1."""
    curve = Curve(normal, [Fraction(part, 64) for part in range(65)]).climbed(4)
    assert curve.log_average() == pytest.approx(math.log(0.05 * math.sqrt(2 * math.pi)), abs=0.01)


def test_a_plateau_is_all_in_the_interval() -> None:
    curve = Curve(lambda values: [0.0 if v >= Fraction(1, 2) else -50.0 for v in values], GRID)
    found = curve.climbed(6).interval(12)
    assert found.low == pytest.approx(0.5, abs=1e-3)
    assert found.high == 1.0


def test_a_whole_curve_asks_for_whole_numbers_only() -> None:
    asked: list[Fraction] = []

    def heights(values: Sequence[Fraction]) -> list[float]:
        asked.extend(values)
        return [-abs(float(value) - 11) for value in values]

    curve = Curve(heights, [Fraction(1), Fraction(4), Fraction(64)], whole=True).climbed(12)
    assert curve.best == 11
    assert all(value.denominator == 1 for value in asked)
    assert len(asked) == len(set(asked)), "every value is asked for once"


@pytest.mark.parametrize(
    ("estimate", "fraction"),
    [
        (Estimate(0.3017, 0.27, 0.33), Fraction(3, 10)),
        (Estimate(0.49, 0.2, 0.8), Fraction(1, 2)),
        (Estimate(0.01, 0.01, 0.4), Fraction(1, 100)),
        (Estimate(16.0, 16.0, 16.0), Fraction(16)),
    ],
)
def test_the_simplest_fraction_is_near_and_within_the_interval(
    estimate: Estimate, fraction: Fraction
) -> None:
    assert abs(simplest(estimate) - fraction) <= Fraction(1, 20)
    assert estimate.low <= simplest(estimate) <= estimate.high
    assert simplest(estimate).denominator <= max(fraction.denominator, 20)
