"""The simulations behind the selftest: right samplers pass them, wrong ones do not.

A rate is judged by an exact binomial at 1e-6.
"""

from __future__ import annotations

import numpy as np
import pytest
from frequencies import at_most

from audit.harness.schedule import chunks
from audit.judgement.bias import Bias
from audit.simulation.alarms import ANYTHING, LEVELS, TESTS, alarms
from audit.simulation.certificates import certified
from audit.simulation.detection import BUDGET, detection, prepared
from audit.simulation.drawn import drawn, followed
from audit.simulation.runs import setups, workers
from audit.statistics.certificate import looks
from audit.verdict import Budget, Outcome

EASY = Budget(alpha=1e-6, delta=1e-3, epsilon=0.05, cases=1)


def test_a_drawn_chunk_holds_its_trials_in_every_table() -> None:
    setup = prepared("prefix-dependent-2")
    (chunk, *_) = chunks([200])
    found = drawn(setup, setup.laws, chunk, np.random.default_rng(1))
    assert found.counts.trials == chunk.trials
    assert found.counts.completed().sum() == chunk.trials
    (together,) = found.together
    assert together.calls.sum() == chunk.trials
    assert together.rows.shape == (4, 8, 8)
    assert together.turns.shape == (2, 8, 8)


def test_rounds_drawn_from_the_target_are_certified_and_from_a_fault_fail() -> None:
    (setup,), rng = setups(("basis-1",), EASY, 20_000), np.random.default_rng(2)
    right = followed(setup, setup.laws, EASY, looks=looks(20_000), rng=rng)
    assert right.verdict().outcome is Outcome.PASS
    wrong = Bias.of(setup, "full-target-fallback").laws(1.0)
    assert followed(setup, wrong, EASY, looks=looks(20_000), rng=rng).failures


def test_the_reference_alarms_no_test_more_often_than_its_level() -> None:
    runs = 20
    made = [alarms(seed, trials=500) for seed in range(runs)]
    for test in TESTS:
        for level in LEVELS:
            assert at_most(sum(found[test, level] for found in made), runs, rate=level)


@pytest.mark.parametrize(
    ("sampler", "seen_by"),
    [
        ("fault:full-target-fallback", {"e-process", "conformity", "chi-square", ANYTHING}),
        ("rule:point-mass", {"conformity", ANYTHING}),
        ("fault:target-context-frozen", {"e-process", "impossible events", ANYTHING}),
    ],
)
def test_a_wrong_sampler_alarms_the_tests_that_can_see_it(sampler: str, seen_by: set[str]) -> None:
    found = alarms(1, trials=1_000, sampler=sampler)
    assert {test for test in TESTS if found[test, 0.001]} >= seen_by
    assert not found["independence", 0.001]


def test_certificates_are_wrong_at_most_delta_of_the_time() -> None:
    wrong = sum(certified(seed, delta=0.05) for seed in range(60))
    assert at_most(wrong, 60, rate=0.05)
    right = sum(certified(seed, delta=0.05, beyond=(0.0, 0.1)) for seed in range(60))
    assert not at_most(right, 60, rate=0.05)


def test_a_fault_is_detected_about_when_it_is_expected() -> None:
    found = detection(("shared-coin", "basis-2"), runs=15, seed=3)
    assert found.missed == 0
    assert found.expected / 2 <= found.observed <= 2 * found.expected
    assert found == detection(("shared-coin", "basis-2"), runs=15, seed=3)
    with pytest.raises(ValueError, match="not seen"):
        detection(("full-target-fallback", "identical"), runs=1, seed=0)


def test_no_certificate_ends_a_simulated_run() -> None:
    setup = prepared("article-three-tokens")
    monitor = followed(setup, setup.laws, BUDGET, looks=looks(20_000), rng=np.random.default_rng(4))
    assert monitor.trials == 20_000


def test_workers_drop_what_is_left_after_an_error() -> None:
    with workers(1) as pool:
        assert list(pool.map(abs, [-1, 2])) == [1, 2]
    with pytest.raises(ZeroDivisionError), workers(1):
        raise ZeroDivisionError
