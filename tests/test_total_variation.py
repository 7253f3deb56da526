"""The estimate, its exact null mean, and the coverage of both bounds."""

from fractions import Fraction
from math import comb

import numpy as np
import pytest
from frequencies import at_most

from audit.errors import DraftproofError
from audit.statistics.total_variation import null_mean, plug_in, slack, total_variation

SEED_CASE = np.array([0.2, 0.5, 0.3])


def enumerated_null_mean(law: list[Fraction], n: int) -> Fraction:
    """Returns E sum |X / n - p| / 2, term by term in rationals."""
    total = Fraction(0)
    for p in law:
        for k in range(n + 1):
            total += comb(n, k) * p**k * (1 - p) ** (n - k) * abs(Fraction(k, n) - p)
    return total / 2


@pytest.mark.parametrize("n", [1, 2, 7, 10, 40])
@pytest.mark.parametrize("law", [(1, 1), (1, 4), (2, 5, 3), (0, 1, 9), (0, 1), (1, 1, 1, 1, 1, 1)])
def test_null_mean_is_the_enumerated_one(law: tuple[int, ...], n: int) -> None:
    exact = [Fraction(weight, sum(law)) for weight in law]
    found = null_mean(np.array([float(p) for p in exact]), n)
    assert found == pytest.approx(float(enumerated_null_mean(exact, n)), rel=1e-12, abs=1e-15)


def test_null_means_of_the_design_table() -> None:
    # statistics.md 2.7: V = 3, and uniform V = 32 and 1,000 (the latter rounded to .040).
    for n, expected in ((10**4, 0.0054), (10**5, 0.0017), (10**6, 0.00054), (10**8, 0.00005)):
        assert null_mean(SEED_CASE, n) == pytest.approx(expected, rel=0.1)
    assert null_mean(np.full(32, 1 / 32), 10**4) == pytest.approx(0.0222, abs=5e-5)
    assert null_mean(np.full(1000, 1e-3), 10**5) == pytest.approx(0.040, abs=5e-4)


def random_laws(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Returns a target and a sampler's law: equal, near or far, with zeros and point masses."""
    size = int(rng.integers(2, 40))
    target = rng.dirichlet(np.full(size, rng.choice([0.1, 1.0, 10.0])))
    other = rng.dirichlet(np.full(size, rng.choice([0.05, 1.0])))
    strength = rng.choice([0.0, 0.01, 0.1, 1.0])
    return target, (1 - strength) * target + strength * other


def misses(delta: float, *, shrink: float = 0.0) -> tuple[int, int, int]:
    """Returns how often upper and lower bound were wrong, and the runs, over 300 random cells.

    `shrink` is taken from the upper bound and added to the lower one: the negative control.
    """
    rng = np.random.default_rng(7)
    upper = lower = 0
    for _ in range(300):
        target, law = random_laws(rng)
        n, truth = int(rng.choice([5, 50, 500])), float(np.abs(law - target).sum() / 2)
        for first, second in rng.multinomial(n, law, size=(10, 2)):
            found = total_variation(first, second, probabilities=target, delta=delta)
            room = shrink * slack(2 * n, delta)
            upper += found.upper - room < truth - 1e-12
            lower += found.lower + room > truth + 1e-12
    return upper, lower, 3000


@pytest.mark.parametrize("delta", [0.2, 0.05, 0.001])
def test_bounds_cover_in_random_cells(delta: float) -> None:
    upper, lower, runs = misses(delta)
    assert at_most(upper, runs, rate=delta)
    assert at_most(lower, runs, rate=delta)


def test_bounds_without_their_room_do_not_cover() -> None:
    upper, lower, runs = misses(0.05, shrink=1.0)
    assert not at_most(upper, runs, rate=0.05)
    assert not at_most(lower, runs, rate=0.05)


def test_lower_bound_finds_a_fault() -> None:
    # Full-target fallback on the seed case: TV .06; Clopper-Pearson at 1e-6 leaves more than .04.
    first, second = np.random.default_rng(8).multinomial(50_000, [0.26, 0.45, 0.29], size=2)
    found = total_variation(first, second, probabilities=SEED_CASE, delta=1e-6)
    assert 0.04 < found.lower < 0.06 < found.upper


def test_a_correct_sampler_is_near_its_null_mean() -> None:
    law = np.full(1000, 1e-3)
    halves = np.random.default_rng(9).multinomial(50_000, law, size=2)
    found = total_variation(*halves, probabilities=law, delta=1e-3)
    # Standard deviation at most .3 / sqrt(n); 6 of them.
    assert abs(found.estimate - found.null_mean) < 6 * 0.3 / np.sqrt(100_000)
    assert found.lower == 0


def test_bounds_stay_within_zero_and_one() -> None:
    found = total_variation(
        np.array([1, 0]), np.array([1, 0]), probabilities=np.array([0.0, 1.0]), delta=1e-6
    )
    assert (found.estimate, found.upper, found.null_mean) == (1, 1, 0)
    assert found.lower == pytest.approx(1e-6)


def test_one_hot_law_gives_no_nan() -> None:
    law = np.array([0.0, 1.0])
    found = total_variation(np.array([0, 50]), np.array([0, 50]), probabilities=law, delta=1e-3)
    assert (found.estimate, found.null_mean, found.lower) == (0, 0, 0)
    assert found.upper == pytest.approx(slack(100, 1e-3))


def test_no_trials_are_refused() -> None:
    with pytest.raises(DraftproofError, match="at least 1 trial"):
        plug_in(np.zeros(3, dtype=np.int64), SEED_CASE)
