"""Foreseen powers against exact values and simulation, each test at its own false-alarm rate.

A simulated share is compared with a foreseen power by an exact binomial tail of 1e-6 a side after
an allowance of .1 for the approximation; the controls ask for what is not foreseen.
"""

from __future__ import annotations

import numpy as np
import pytest
from frequencies import at_most
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom

from audit.statistics.chi_square import cressie_read, critical_value, upper_tail
from audit.statistics.e_process import Gate
from audit.statistics.power import (
    chi_square_power,
    crossing_power,
    flattest,
    gate_course,
    impossible_power,
)

P = np.array([0.2, 0.5, 0.3])
FULL_TARGET = np.array([0.26, 0.45, 0.29])  # the article: TV .06, chi-square distance .02333
ALLOWANCE = 0.1


def agrees(hits: int, runs: int, power: float) -> bool:
    """Returns whether the share is within the allowance of the power, at 1e-6 a side."""
    above = at_most(hits, runs, rate=min(power + ALLOWANCE, 1.0))
    return above and at_most(runs - hits, runs, rate=min(1 - power + ALLOWANCE, 1.0))


def test_the_chi_square_needs_what_the_design_states() -> None:
    # statistics.md, 2.3: 1,784 trials at alpha 1e-6 and 90 % power, from the noncentral law.
    powers = [chi_square_power(FULL_TARGET, P, n=n, level=1e-6) for n in (1_500, 1_784, 2_100)]
    assert powers[0] < 0.88 < powers[1] < 0.92 < powers[2]


@pytest.mark.parametrize(("n", "level"), [(300, 1e-2), (1_000, 1e-4), (2_000, 1e-6)])
def test_the_chi_square_fails_as_often_as_foreseen(n: int, level: float) -> None:
    rng, runs = np.random.default_rng(5), 400
    p_values = [cressie_read(rng.multinomial(n, FULL_TARGET), P, n=n).p_value for _ in range(runs)]
    hits = sum(value <= level for value in p_values)
    assert agrees(hits, runs, chi_square_power(FULL_TARGET, P, n=n, level=level))
    assert not agrees(hits, runs, chi_square_power(P, P, n=n, level=level))


def test_cells_of_probability_zero_and_a_single_pool_show_nothing() -> None:
    outside = np.array([0.0, 0.0, 0.0, 1.0])
    target = np.array([0.2, 0.5, 0.3, 0.0])
    assert chi_square_power(outside, target, n=1_000, level=1e-2) == 0
    assert chi_square_power(np.append(FULL_TARGET, 0), target, n=10, level=1e-2) == 0
    assert chi_square_power(target, target, n=1_000, level=1e-2) == pytest.approx(1e-2)


@given(st.floats(1e-12, 0.5), st.integers(1, 200), st.floats(0, 100))
def test_the_critical_value_has_the_wanted_tail(
    level: float, degrees: int, noncentrality: float
) -> None:
    critical = critical_value(degrees, level, noncentrality)
    assert upper_tail(critical, degrees, noncentrality) == pytest.approx(level, rel=1e-6)


@pytest.mark.parametrize("tolerance", [0.0, 1e-4])
def test_impossible_events_fail_with_the_exact_chance(tolerance: float) -> None:
    level, n, chance = 1e-7, 2_000, 0.002
    fewest = next(k for k in range(n) if binom.sf(k - 1, n, tolerance) <= level)
    power = impossible_power(chance, n=n, level=level, tolerance=tolerance)
    assert power == pytest.approx(binom.sf(fewest - 1, n, chance))
    assert fewest > 1 or not tolerance
    assert impossible_power(tolerance, n=n, level=level, tolerance=tolerance) == 0
    assert impossible_power(0.5, n=1, level=1e-9, tolerance=1e-3) == 0  # not even one is enough


@given(st.lists(st.integers(0, 50), min_size=2, max_size=12).filter(any), st.floats(0.01, 1))
def test_no_direction_has_a_smaller_chi_square_distance_than_the_flattest(
    weights: list[int], strength: float
) -> None:
    target = np.array(weights) / sum(weights)
    end = flattest(target)
    assert end.sum() == pytest.approx(1)
    if np.count_nonzero(target) == 1:
        assert end[target > 0].sum() == 0
        return
    possible = target > 0
    law = (1 - strength) * target + strength * end
    tv = np.abs(law - target).sum() / 2
    distance = ((law - target)[possible] ** 2 / target[possible]).sum()
    gained = target[end > 0].sum()
    assert 0 < gained <= 0.5 + 1e-9
    assert distance == pytest.approx(tv**2 * (1 / gained + 1 / (1 - gained)))
    assert distance >= 4 * tv**2 - 1e-12  # the least that any law at this TV has


def gate_of(*, groups: tuple[np.ndarray, ...] = ()) -> Gate:
    return Gate.create(P, {"full": FULL_TARGET}, groups=groups, tolerance=1e-6)


TRIALS = np.array([25, 88, 87, 38, 131, 131, 63, 219, 218, 125, 438, 437])


def simulated(gate: Gate, law: np.ndarray, runs: int) -> np.ndarray:
    """Returns log e-values after each chunk, [runs, chunks]."""
    rng, logs = np.random.default_rng(3), []
    for _ in range(runs):
        state, path = gate, []
        for n in TRIALS:
            state = state.updated(rng.multinomial(n, law))
            path.append(state.log_e)
        logs.append(path)
    return np.array(logs)


@pytest.mark.parametrize("law", [FULL_TARGET, np.array([0.25, 0.5, 0.25]), P])
def test_a_gate_grows_as_foreseen(law: np.ndarray) -> None:
    gate, runs = gate_of(groups=(np.array([0, 1, 1]),)), 300
    mean, deviation = gate_course(gate, law, TRIALS)
    logs = simulated(gate, law, runs)
    error = logs.std(axis=0) / np.sqrt(runs)
    assert (np.abs(logs.mean(axis=0) - mean) < 5 * error + 1.0).all()
    assert logs.std(axis=0)[-1] == pytest.approx(deviation[-1], rel=0.35, abs=1.0)


def test_a_gate_crosses_its_bar_as_often_as_foreseen() -> None:
    gate, runs, bar = gate_of(), 300, np.log(1e4)
    powers = crossing_power(*gate_course(gate, FULL_TARGET, TRIALS), bar)
    crossed = (np.maximum.accumulate(simulated(gate, FULL_TARGET, runs), axis=1) >= bar).sum(0)
    for chunk in (5, 8, 11):
        assert agrees(int(crossed[chunk]), runs, float(powers[chunk])), chunk
    late = crossing_power(*gate_course(gate, FULL_TARGET, TRIALS), np.log(1e12))
    assert not agrees(int(crossed[11]), runs, float(late[11]))


def test_a_bar_is_reached_surely_or_never_without_deviation() -> None:
    powers = crossing_power(np.array([0.0, 2.0, 1.0]), np.zeros(3), 1.5)
    assert powers.tolist() == [0.0, 1.0, 1.0]
