"""The numbers that are shown: deviation, observed rules, traces."""

import pytest

from audit.judgement.readings import evidence_of, rules_observed
from audit.selection import select_cases
from tests.simulation import campaign_of
from tests.worlds import article, one_hot_target, prefix_dependent


def evidence(sampler, case, **options):
    (monitor,) = campaign_of(sampler, [case], **options).monitors
    return evidence_of(monitor, predict={"full-target-fallback": 1.0})


def test_predictions_of_a_fault_are_its_first_token_law():
    shown = evidence("reference", article(2)).deviation
    assert shown.predictions["full-target-fallback"] == pytest.approx((0.26, 0.45, 0.29), abs=1e-6)
    assert shown.expected == pytest.approx((0.2, 0.5, 0.3), abs=1e-6)
    assert sum(shown.observed) == evidence("reference", article(2)).trials


@pytest.mark.parametrize(
    ("sampler", "case", "rules"),
    [
        ("rule:ratio", prefix_dependent(2), {"ratio"}),
        ("rule:block", prefix_dependent(2), {"block"}),
        ("rule:sampler-match", prefix_dependent(2), {"sampler-match", "point-mass"}),
        (
            "rule:greedy",
            one_hot_target(),
            {"ratio", "sampler-match", "point-mass", "block", "greedy", "gumbel-coupled"},
        ),
        ("rule:ratio", article(1), {"ratio", "block"}),
        ("fault:absolute-residual", prefix_dependent(2), {"unknown"}),
    ],
)
def test_the_observed_rule_is_told_with_those_of_the_same_law(sampler, case, rules):
    # A right rule is missed at most once in a million (the level of the fit).
    (monitor,) = campaign_of(sampler, [case], cap=5000).monitors
    assert set(rules_observed(monitor)) == rules


def test_impossible_events_come_with_a_trace():
    shown = evidence("fault:draft-fallback", one_hot_target(), cap=500)
    assert shown.impossible.events > 0
    assert any("its target probability is 0" in trace for trace in shown.traces)


def test_excluded_pairs_come_with_a_trace():
    shown = evidence("fault:full-target-fallback", article(2), cap=500, declares=["ratio"])
    assert any("ratio cannot" in trace for trace in shown.conformity.traces)


def test_the_path_of_the_evidence_ends_where_the_evidence_does():
    shown = evidence("fault:full-target-fallback", article(2))
    trials, log_e = shown.path[-1]
    assert (trials, log_e) == (shown.trials, pytest.approx(shown.gate.log_e, abs=1e-4))
    assert list(shown.path) == sorted(shown.path)
    assert len(shown.path) <= 12


def test_accepted_tokens_stand_beside_their_law():
    # Three times .3, .7 * .3 and .7 * .7: the article's case accepts with 7/10 at each position.
    tokens = evidence("rule:ratio", article(2), declares=["ratio"]).acceptance.tokens
    assert tokens.law == pytest.approx((0.3, 0.21, 0.49), abs=1e-6)
    seen = [n / sum(tokens.rounds) for n in tokens.rounds]
    # off by .05 with a chance below 2 * 3 * exp(-2 * 5000 * .05 ** 2) = 8e-11 from 5,000 rounds on
    assert sum(tokens.rounds) >= 5_000
    assert seen == pytest.approx(tokens.law, abs=0.05)


def test_the_bonus_token_stands_beside_the_targets_row():
    right = evidence("rule:ratio", article(2)).bonus
    n = sum(right.observed)
    # every prefix has the row .2 .5 .3
    assert right.expected == pytest.approx([0.2 * n, 0.5 * n, 0.3 * n], rel=1e-4)
    wrong = evidence("fault:bonus-from-draft", article(2), cap=500).bonus
    # drawn from .5 .3 .2 instead of .2 .5 .3: the other way round with a chance below
    # exp(-2 * 80 * .3 ** 2) = 6e-7 from 80 rounds on
    assert sum(wrong.observed) >= 80
    assert wrong.observed[0] > wrong.expected[0]


def test_where_no_draft_is_accepted_there_is_no_bonus():
    (case,) = select_cases(["disjoint"])
    assert evidence("rule:ratio", case, cap=500).bonus is None
    assert evidence("rule:ratio", one_hot_target(), cap=500).bonus is not None
