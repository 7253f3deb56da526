"""A declared rule is refuted by what it excludes, within 200 trials, and a right one never is."""

import numpy as np

from audit.judgement.conformity import ConformityWatch
from audit.judgement.joint import JointNull
from tests.simulation import budget_for, campaign_of
from tests.worlds import article, prefix_dependent


def test_the_joint_law_is_a_law_and_the_flat_counts_run_along_it():
    null = JointNull.of(article(1), ["ratio"], tolerance=0.0)
    assert null.law.sum() == np.float64(1)
    # by hand: draft 0 (q = 1/2) rejected (3/5), then token 1 (2/3): 1/2 x 3/5 x 2/3 = 1/5
    assert null.law[0 * 3 + 1] == np.float64(0.2)
    made = campaign_of("reference", [article(1)], cap=500)
    flat = JointNull.flat(made.monitors[0].preservation.counts)
    assert len(flat) == len(null.law)
    assert flat.sum() == 500
    assert flat[null.law == 0].sum() == 0


def watch(sampler, rule, case):
    return watch_of(sampler, [rule], case)


def watch_of(sampler, rules, case):
    made = campaign_of(sampler, [case], cap=500, declares=[])
    null = JointNull.of(case, rules, tolerance=3e-6)
    watching = ConformityWatch(null, budget_for(), tolerance=3e-6)
    watching.update(made.monitors[0].preservation.counts)
    return watching


def test_a_rule_that_is_followed_is_not_refuted():
    # False-alarm rate: 0.15e-6 (the conformity share of alpha).
    for rule in ("ratio", "point-mass", "block"):
        assert watch(f"rule:{rule}", rule, prefix_dependent(2)).deviates("undecided") == []


def test_events_that_a_rule_excludes_refute_it():
    found = watch("fault:full-target-fallback", "ratio", article(2)).deviates("failed")
    assert len(found) == 1
    assert "it excludes" in found[0]
    assert "preservation: failed" in found[0]
    assert watch("rule:point-mass", "ratio", article(2)).deviates("certified")


def test_a_sampler_may_switch_between_its_declared_rules_but_not_leave_them():
    switching = watch_of("rule:point-mass", ["ratio", "point-mass"], article(2))
    switching.update(
        campaign_of("reference", [article(2)], cap=500).monitors[0].preservation.counts
    )
    assert switching.deviates("undecided") == []
    outside = watch_of("fault:draft-fallback", ["ratio", "point-mass"], prefix_dependent(2))
    assert outside.deviates("failed")
