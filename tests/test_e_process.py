"""The gate: level under the null and within the tolerance, power, and exact bookkeeping.

The world is the article's case: p = (.2, .5, .3), q = (.5, .3, .2), no row depends on a prefix.
Chunks end where a run's do: each look's increment is an eighth and two halves of the rest.
"""

import math
from dataclasses import FrozenInstanceError
from functools import reduce

import numpy as np
import pytest
from frequencies import at_most

from audit.errors import DraftproofError
from audit.statistics.certificate import looks
from audit.statistics.e_process import Gate, LearnedBet, factors, log_mean
from audit.statistics.pooling import rank_bins, ratio_bins

P, Q = np.array([0.2, 0.5, 0.3]), np.array([0.5, 0.3, 0.2])
ACCEPT, RESIDUAL = np.minimum(1, P / Q), np.array([0, 2 / 3, 1 / 3])
HEADLINE = "full-target-fallback"


def block(row: np.ndarray, length: int) -> np.ndarray:
    """Returns the law of `length` independent tokens."""
    return reduce(np.kron, [row] * length, np.ones(1))


def completed(gamma: int, accept: np.ndarray, recovered: np.ndarray) -> np.ndarray:
    """Returns the law of gamma + 1 tokens, from the last position to the first."""
    law = P
    for left in range(1, gamma + 1):
        rejected = (Q * (1 - accept)).sum() * np.kron(recovered, block(P, left))
        law = np.kron(Q * accept, law) + rejected
    return law


def faults(gamma: int) -> dict[str, np.ndarray]:
    kinked = np.abs(P - Q) / np.abs(P - Q).sum()
    return {
        HEADLINE: completed(gamma, ACCEPT, P),
        "absolute-residual": completed(gamma, ACCEPT, kinked),
        "draft-fallback": completed(gamma, ACCEPT, Q),
        "always-accept": completed(gamma, np.ones(3), P),
        "swapped-ratio": completed(gamma, np.minimum(1, Q / P), RESIDUAL),
        "target-without-rejected": completed(gamma, ACCEPT, np.array([0, 5 / 8, 3 / 8])),
    }


def article_gate(gamma: int, *, tolerance: float = 3e-6, listed: bool = True) -> Gate:
    target, draft = block(P, gamma + 1), np.kron(block(Q, gamma), P)
    return Gate.create(
        target,
        faults(gamma) if listed else {},
        groups=(ratio_bins(target, draft), rank_bins(target)),
        tolerance=tolerance,
        weights={HEADLINE: 0.5},
    )


def chunks(cap: int) -> list[int]:
    sizes: list[int] = []
    for before, look in zip([0, *looks(cap)], looks(cap), strict=False):
        mixed = math.ceil((look - before) / 8)
        half = math.ceil((look - before - mixed) / 2)
        sizes += [mixed, half, look - before - mixed - half]
    return sizes


def highest(gate: Gate, law: np.ndarray, *, cap: int, runs: int, seed: int) -> np.ndarray:
    """Returns the largest log wealth of each run up to the cap."""
    rng = np.random.default_rng(seed)
    sizes, tops = chunks(cap), []
    for _ in range(runs):
        tops.append(reduce(lambda g, n: g.updated(rng.multinomial(n, law)), sizes, gate).log_e_max)
    return np.array(tops)


def stops(gate: Gate, law: np.ndarray, *, runs: int, seed: int) -> np.ndarray:
    """Returns the trials after which each run crosses 1 / (alpha / 2), alpha = 1e-6."""
    rng, ends = np.random.default_rng(seed), []
    for _ in range(runs):
        state, n = gate, 0
        for size in chunks(10_000):
            state, n = state.updated(rng.multinomial(size, law)), n + size
            if state.log_e >= math.log(2e6):
                break
        ends.append(n)
    return np.array(ends)


def test_the_law_of_the_ratio_rule_is_the_target() -> None:
    assert completed(2, ACCEPT, RESIDUAL) == pytest.approx(block(P, 3))
    # The article: full-target fallback emits (.26, .45, .29).
    assert faults(1)[HEADLINE].reshape(3, 3).sum(axis=1) == pytest.approx([0.26, 0.45, 0.29])


def crossings(tops: np.ndarray, alpha: float) -> int:
    return int((tops >= math.log(1 / alpha)).sum())


@pytest.mark.parametrize("listed", [True, False])
def test_level_under_the_null_at_any_look(listed: bool) -> None:
    gate = article_gate(2, listed=listed)
    tops = highest(gate, block(P, 3), cap=5000, runs=800, seed=12)
    for alpha in (0.05, 0.01):
        assert at_most(crossings(tops, alpha), 800, rate=alpha)


def test_level_within_the_tolerance_and_alarms_without_it() -> None:
    target, tolerance = block(P, 3), 0.01
    away = faults(2)[HEADLINE] - target
    near = target + tolerance * away / (np.abs(away).sum() / 2)
    for allowed, holds in ((tolerance, True), (0.0, False)):
        gate = article_gate(2, tolerance=allowed)
        tops = highest(gate, near, cap=20_000, runs=400, seed=13)
        assert at_most(crossings(tops, 0.05), 400, rate=0.05) is holds


def test_bets_on_what_they_have_seen_would_alarm() -> None:
    """The negative control of predictive betting: a bet learned from its own chunk gains."""
    rng, target = np.random.default_rng(14), block(P, 3)
    alarms = 0
    for _ in range(400):
        fresh = LearnedBet.create(target, np.arange(27), share=1.0, tolerance=0.0)
        seen = rng.multinomial(1000, target)
        alarms += fresh.updated(seen).updated(seen).log_wealth >= math.log(20)
    assert not at_most(alarms, 400, rate=0.05)


def test_expectation_is_at_most_one_for_every_law_within_the_tolerance() -> None:
    rng = np.random.default_rng(15)
    for _ in range(300):
        size = int(rng.integers(2, 30))
        target, law = rng.dirichlet(np.ones(size)) + 1e-4, rng.dirichlet(np.full(size, 0.1))
        target /= target.sum()
        tolerance = min(float(rng.choice([1e-6, 1e-3, 0.05])), float(target.min()))
        pays, plain = (factors(law, target, tolerance=t) for t in (tolerance, 0.0))
        worst = target.copy()
        worst[pays.argmax()] += tolerance
        worst[pays.argmin()] -= tolerance
        assert pays @ worst <= 1 + 1e-12
        assert plain @ target == pytest.approx(1)
        assert plain @ worst > 1


def test_the_article_fault_stops_within_3000_trials_in_99_percent() -> None:
    ends = stops(article_gate(2), faults(2)[HEADLINE], runs=600, seed=16)
    assert at_most(int((ends > 3000).sum()), 600, rate=0.01)
    assert ends.mean() < 1350  # measured 1,190; standard error 20


def test_a_correct_sampler_does_not_stop() -> None:
    assert (stops(article_gate(2), block(P, 3), runs=60, seed=17) == 10_000).all()


def test_an_unlisted_fault_is_learned() -> None:
    gate = article_gate(2, listed=False)
    ends = stops(gate, faults(2)[HEADLINE], runs=200, seed=18)
    assert at_most(int((ends > 5000).sum()), 200, rate=0.01)
    assert gate.leader() is None


@pytest.mark.parametrize("name", list(faults(1)))
def test_the_leader_is_the_fault_that_made_the_counts(name: str) -> None:
    counts = np.rint(1e6 * faults(1)[name]).astype(np.int64)
    assert article_gate(1).updated(counts).leader() == name


def test_fault_wealth_is_the_likelihood_ratio() -> None:
    target, fault = np.array([0.5, 0.5]), np.array([0.6, 0.4])
    gate = Gate.create(target, {"fault": fault})
    counts = np.array([70, 30])
    whole = gate.updated(counts).faults.log_wealth[0] - gate.faults.log_wealth[0]
    assert whole == pytest.approx(70 * math.log(1.2) + 30 * math.log(0.8))


def test_capital_is_one_and_split_as_documented() -> None:
    gate = article_gate(1)
    assert gate.log_e == pytest.approx(0, abs=1e-12)
    by_fault = np.exp(gate.faults.log_wealth).reshape(6, -1).sum(axis=1)
    assert by_fault == pytest.approx([0.25, 0.05, 0.05, 0.05, 0.05, 0.05])
    assert [bet.log_wealth for bet in gate.learned] == pytest.approx([math.log(1 / 6)] * 3)


def test_nothing_is_bet_in_the_first_chunk_by_learned_bets() -> None:
    fresh = LearnedBet.create(P, np.arange(3), share=1.0, tolerance=0.0)
    assert fresh.updated(np.array([90, 5, 5])).log_wealth == 0


def test_a_gate_is_immutable_and_replays_to_the_same_wealth() -> None:
    gate = article_gate(1)
    parts = np.random.default_rng(19).multinomial(300, faults(1)[HEADLINE], size=3)
    first, second = (reduce(Gate.updated, parts, gate) for _ in range(2))
    assert first.log_e == second.log_e
    assert gate.log_e == pytest.approx(0, abs=1e-12)
    with pytest.raises(FrozenInstanceError):
        gate.log_e_max = 1.0  # type: ignore[misc]


def test_the_maximum_latches() -> None:
    up = np.array([60, 10, 30])
    risen = Gate.create(P, {"first": np.array([0.6, 0.1, 0.3])}).updated(up)
    fallen = risen.updated(np.array([0, 400, 100]))
    assert fallen.log_e < risen.log_e == risen.log_e_max == fallen.log_e_max


def test_impossible_cells_pay_nothing() -> None:
    target = np.array([0.5, 0.0, 0.5])
    gate = Gate.create(target, {"leak": np.array([0.4, 0.1, 0.5])}, groups=[np.zeros(3, np.int64)])
    assert gate.updated(np.array([0, 500, 0])).log_e == pytest.approx(0, abs=1e-12)


def test_faults_that_possible_cells_do_not_show_get_no_capital() -> None:
    target = np.array([0.5, 0.0, 0.5])
    alternatives = {"same": target, "elsewhere": np.array([0.0, 1.0, 0.0])}
    gate = Gate.create(target, alternatives, weights={"same": 0.5})
    assert gate.faults.names == ()
    assert gate.log_e == pytest.approx(0, abs=1e-12)


def test_one_cell_gives_no_nan() -> None:
    law = np.array([0.0, 1.0, 0.0])
    gate = Gate.create(law, {"any": P}, groups=[np.zeros(3, np.int64)], tolerance=1e-3)
    for counts in (np.array([0, 50, 0]), np.array([2, 50, 1])):
        gate = gate.updated(counts)
    assert gate.log_e == pytest.approx(0, abs=1e-12)


def test_huge_counts_neither_overflow_nor_give_nan() -> None:
    one_hot = {"one-hot": np.array([1.0, 0.0, 0.0])}
    gate = Gate.create(P, one_hot, groups=[np.arange(3)], tolerance=0.5)
    for counts in (np.array([10**12, 0, 0]), np.array([0, 10**12, 0])):
        gate = gate.updated(counts)
        assert math.isfinite(gate.log_e)


def test_mean_over_cases_is_that_of_e_values() -> None:
    assert log_mean([math.log(3), math.log(5)]) == pytest.approx(math.log(4))
    assert log_mean([2000.0, 0.0]) == pytest.approx(2000 - math.log(2))


def test_a_target_that_is_no_law_is_refused() -> None:
    with pytest.raises(DraftproofError, match="sum"):
        Gate.create(np.array([0.5, 0.6]), {})
