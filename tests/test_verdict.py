"""The decision rules: order of outcomes, what softens what, exit codes."""

import pytest

from audit.verdict import (
    EXIT_CODES,
    Budget,
    Finding,
    Outcome,
    Verdict,
    case_verdict,
    exit_code,
    run_verdict,
)

BUDGET = Budget(alpha=1e-6, delta=1e-3, epsilon=0.02, cases=2)


def finding(**changes):
    neutral = {
        "failures": (),
        "hard": False,
        "dependent": "",
        "certified": 0.015,
        "certify": "full",
        "trials": 1000,
        "trials_needed": 5000,
        "limited": False,
    }
    return Finding(**(neutral | changes))


@pytest.mark.parametrize(
    ("changes", "outcome"),
    [
        ({}, Outcome.PASS),
        ({"certify": "partition"}, Outcome.PASS),
        ({"certify": "bias-only"}, Outcome.INCONCLUSIVE),
        ({"certified": 0.021}, Outcome.INCONCLUSIVE),
        ({"certified": None}, Outcome.INCONCLUSIVE),
        ({"dependent": "rows"}, Outcome.DEPENDENT),
        ({"dependent": "rows", "failures": ("biased",), "certified": 0.5}, Outcome.FAIL),
        ({"failures": ("biased",), "certified": 0.5}, Outcome.FAIL),
        ({"failures": ("biased",)}, Outcome.WITHIN),
        ({"failures": ("impossible",), "hard": True}, Outcome.FAIL),
        ({"limited": True}, Outcome.NO_VERDICT),
        ({"limited": True, "failures": ("biased",), "certified": 0.5}, Outcome.FAIL),
    ],
)
def test_one_case(changes, outcome):
    assert case_verdict(finding(**changes), BUDGET).outcome is outcome


def test_a_partition_pass_says_so():
    verdict = case_verdict(finding(certify="partition"), BUDGET)
    assert verdict.word == "PARTITION-PASS"
    assert "fixed bins" in verdict.sentence


def test_a_pass_against_a_declared_law_names_that_law():
    verdict = case_verdict(finding(claims="lenience"), BUDGET)
    assert "declared law of lenience" in verdict.sentence
    assert "target" not in verdict.sentence


def test_an_accepted_bias_is_within_up_to_the_accepted_size():
    accepting = Budget(alpha=1e-6, delta=1e-3, epsilon=0.02, cases=1, accept_within=0.1)
    proven = finding(failures=("biased",), certified=0.08)
    assert case_verdict(proven, accepting).outcome is Outcome.WITHIN
    assert case_verdict(proven, BUDGET).outcome is Outcome.FAIL


def verdict(outcome):
    return Verdict(outcome, outcome.value)


@pytest.mark.parametrize("worst", [o for o in Outcome if o is not Outcome.PASS])
def test_the_worst_case_decides_the_run(worst):
    verdicts = {"a": verdict(Outcome.PASS), "b": verdict(worst)}
    result = run_verdict(verdicts, BUDGET)
    assert result.outcome is worst
    assert "b: " in result.sentence


def test_a_run_that_could_see_nothing_is_not_testable_whatever_it_measured():
    result = run_verdict({"a": verdict(Outcome.PASS)}, BUDGET, testable=False)
    assert result.outcome is Outcome.NOT_TESTABLE
    failed = run_verdict({"a": verdict(Outcome.FAIL)}, BUDGET, testable=False)
    assert failed.outcome is Outcome.FAIL


def test_all_cases_together_may_fail_a_run():
    result = run_verdict({"a": verdict(Outcome.PASS)}, BUDGET, together="jointly")
    assert result.outcome is Outcome.FAIL
    assert result.sentence == "jointly"


def test_every_outcome_has_its_exit_code():
    assert set(EXIT_CODES) == set(Outcome)
    assert exit_code(verdict(Outcome.WITHIN)) == 1
    assert exit_code(verdict(Outcome.WITHIN), accepted=True) == 0
    assert exit_code(verdict(Outcome.FAIL), accepted=True) == 1


def test_shares_of_alpha_sum_to_one():
    shares = (
        Budget.PRESERVATION,
        Budget.FIRST_ROWS,
        Budget.IMPOSSIBLE,
        Budget.INDEPENDENCE,
        Budget.CONFORMITY,
        Budget.CHI_SQUARE,
    )
    assert sum(shares) == pytest.approx(1.0)
    assert BUDGET.level(Budget.IMPOSSIBLE) == pytest.approx(0.5e-7)
