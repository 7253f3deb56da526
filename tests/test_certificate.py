"""Looks, deltas and planning figures against the design tables and against simulation."""

import numpy as np
import pytest
from frequencies import at_most

from audit.statistics.certificate import (
    detectable,
    expected_upper,
    look_delta,
    looks,
    trials_needed,
)
from audit.statistics.chi_square import pearson
from audit.statistics.total_variation import plug_in, slack

SEED_CASE = np.array([0.2, 0.5, 0.3])


def test_looks_follow_the_series_and_end_at_the_cap() -> None:
    assert looks(20_000) == [200, 500, 1000, 2000, 5000, 10_000, 20_000]
    assert looks(700) == [200, 500, 700]
    assert looks(50) == [50]


def test_looks_share_delta() -> None:
    spent = sum(20 * look_delta(1e-3, cases=20, look=k) for k in range(1, 10_001))
    assert 0.999e-3 < spent < 1e-3


# statistics.md 2.7: trials for U <= epsilon with 90 % probability at delta 1e-3, V = 3.
@pytest.mark.parametrize(
    ("epsilon", "n"),
    [(0.05, 3.1e3), (0.02, 1.9e4), (0.01, 7.8e4), (0.005, 3.1e5), (0.001, 7.8e6)],
)
def test_expected_bound_is_that_of_the_design_table(epsilon: float, n: float) -> None:
    assert expected_upper(SEED_CASE, int(n), 1e-3) == pytest.approx(epsilon, rel=0.02)


# verdict.md section 4: near-uniform cells.
@pytest.mark.parametrize(
    ("cells", "n", "bound"),
    [(256, 200_000, 0.0192), (256, 20_000, 0.061), (1024, 200_000, 0.034), (4096, 200_000, 0.062)],
)
def test_expected_bound_over_many_cells(cells: int, n: int, bound: float) -> None:
    assert expected_upper(np.full(cells, 1 / cells), n, 1e-3) == pytest.approx(bound, rel=0.015)


@pytest.mark.parametrize("cells", [2, 3, 27, 1000])
@pytest.mark.parametrize("n", [200, 5000])
def test_a_correct_sampler_stays_below_its_expected_bound(cells: int, n: int) -> None:
    law = np.arange(1, cells + 1) / (cells * (cells + 1) / 2)
    runs = np.random.default_rng(10).multinomial(n, law, size=2000)
    uppers = np.array([plug_in(counts, law) + slack(n, 1e-3) for counts in runs])
    bound = expected_upper(law, n, 1e-3)
    assert at_most(int((uppers > bound).sum()), 2000, rate=0.11)
    # Negative control: the null mean alone is exceeded about every second time.
    without = expected_upper(law, n, 1e-3, chance=0.5)
    assert not at_most(int((uppers > without).sum()), 2000, rate=0.11)


def test_trials_needed_is_the_first_look_that_suffices() -> None:
    def delta_at(look: int) -> float:
        return look_delta(1e-3, cases=20, look=look)

    needed = trials_needed(SEED_CASE, 0.02, delta_at=delta_at)
    assert needed == 50_000
    look = looks(needed).index(needed) + 1
    assert expected_upper(SEED_CASE, needed, delta_at(look)) <= 0.02
    assert expected_upper(SEED_CASE, 20_000, delta_at(look - 1)) > 0.02
    assert trials_needed(SEED_CASE, 1e-5, delta_at=delta_at) is None


# statistics.md 2.3: minimum detectable TV, 90 %, 16 bins.
@pytest.mark.parametrize(
    ("n", "expected"),
    [(10**3, 0.125), (10**4, 0.039), (10**5, 0.0125), (10**6, 0.0039), (10**7, 0.0012)],
)
def test_detectable_is_that_of_the_design_table(n: int, expected: float) -> None:
    assert detectable(n, 1e-6) == pytest.approx(expected, rel=0.04)


def test_detectable_at_other_levels() -> None:
    assert detectable(10**4, 2e-9) / detectable(10**4, 1e-6) == pytest.approx(1.14, abs=0.01)
    assert detectable(10**4, 1e-3) / detectable(10**4, 1e-6) == pytest.approx(0.80, abs=0.01)
    assert detectable(1, 1e-6) == 1


def test_what_is_detectable_is_detected_nine_times_in_ten() -> None:
    n, uniform = 10_000, np.full(16, 1 / 16)
    bias = 2 * detectable(n, 1e-6) * np.tile([1, -1], 8) / 16
    runs = np.random.default_rng(11).multinomial(n, uniform + bias, size=2000)
    hits = sum(pearson(counts, uniform, n=n).p_value <= 1e-6 for counts in runs)
    assert at_most(2000 - hits, 2000, rate=0.11)
    assert at_most(hits, 2000, rate=0.91)
