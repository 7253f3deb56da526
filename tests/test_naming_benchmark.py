"""The benchmark of names: what counts as right, and the bounds that information sets."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"
CHAIN_FAULT = "always-accept (chain)"


@pytest.fixture(scope="module", autouse=True)
def _beside_the_scripts() -> object:
    sys.path.insert(0, str(BENCHMARKS))
    yield
    sys.path.remove(str(BENCHMARKS))


def test_a_name_is_right_where_it_leads_and_helps_among_few() -> None:
    from naming import Answer
    from naming_questions import QUESTIONS

    asked = QUESTIONS[CHAIN_FAULT]
    alone = Answer((("always-accept", "an-alias"),), fits=False)
    second = Answer((("other",), ("always-accept",)), fits=False)
    late = Answer((*[(f"other-{n}",) for n in range(3)], ("always-accept",)), fits=False)
    assert (alone.right(asked), alone.alone(asked), alone.helps(asked)) == (True, True, True)
    assert (second.right(asked), second.helps(asked), second.wrong(asked)) == (False, True, True)
    assert (late.right(asked), late.helps(asked)) == (False, False)
    assert not Answer((), fits=True).right(asked)


def test_no_name_is_right_outside_the_catalogue_and_a_correct_rule_is_no_answer_there() -> None:
    from naming import Answer
    from naming_questions import QUESTIONS

    outside = QUESTIONS["residual squared (chain)"]
    correct = QUESTIONS["ratio (chain)"]
    assert Answer((), fits=False).right(outside)
    assert not Answer((), fits=True).right(outside)
    assert Answer((), fits=True).right(correct)
    assert Answer((("greedy",),), fits=False).wrong(correct)


def test_a_correct_rule_is_asked_as_if_only_a_declared_rule_had_failed() -> None:
    from naming_questions import QUESTIONS

    assert not any(one.failed for one in QUESTIONS.values() if one.kind == "correct rules")
    assert all(one.failed for one in QUESTIONS.values() if one.wanted)


def test_the_bound_of_two_laws_is_that_of_the_likelihood_ratio() -> None:
    """Of coins .5 and .6 in 100 rounds .6 is likelier from 56 heads on (binomial law)."""
    from naming_bounds import DRAWS, log_likelihoods

    coins = [[np.array([1 - heads, heads])] for heads in (0.5, 0.6)]
    heights = log_likelihoods(coins[0], coins, 100, np.random.default_rng(1))
    share = float(np.mean(heights[:, 0] >= heights[:, 1]))
    exact = float(stats.binom.cdf(55, 100, 0.5))
    assert np.log(0.4 / 0.5) * 45 + np.log(0.6 / 0.5) * 55 < 0
    assert np.log(0.4 / 0.5) * 44 + np.log(0.6 / 0.5) * 56 > 0
    # Five deviations: wrong with a chance of 6e-7.
    assert share == pytest.approx(exact, abs=5 * np.sqrt(exact * (1 - exact) / DRAWS))


def test_what_no_method_names_is_said_so() -> None:
    """Two tree faults at a total variation of 1/75, and the negative control: one that is far."""
    from naming_bounds import named
    from naming_questions import QUESTIONS

    near = QUESTIONS["siblings-one-coin (independent)"]
    far = QUESTIONS["siblings-sorted-by-draft (independent)"]
    assert named(near, 500, np.random.default_rng(2)) < 0.95
    assert named(near, 20_000, np.random.default_rng(3)) > 0.999
    assert named(far, 500, np.random.default_rng(4)) > 0.99
