"""The numbers that are shown: deviation, observed rules, traces."""

import pytest

from audit.judgement.readings import evidence_of, rules_observed
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
