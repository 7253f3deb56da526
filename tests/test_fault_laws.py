"""The rules, and the faults that an audit bets on, pass an audit against their own exact law.

All other faults are held against their laws in test_rules. The audit's own false-alarm rate is
1e-6 a run. The control at the end hands a law to a sampler that does not have it.
"""

import pytest

from audit.exact.catalogue import RULES, rule
from audit.exact.engine import block_law
from audit.verdict import Outcome
from tests.simulation import budget_for, campaign_of
from tests.worlds import article, prefix_dependent

WORLDS = [article(2), prefix_dependent(2)]
AUDITED = [
    entry.id
    for entry in RULES.values()
    if not entry.trees and (entry.gate or entry.family == "lossless")
]
DEFINED = [(id_, c) for id_ in AUDITED for c in WORLDS if block_law(c, id_).undefined == 0]


def verdict(sampler, case, claims):
    budget = budget_for(epsilon=0.04)
    kind = "rule" if rule(sampler).family == "lossless" else "fault"
    made = campaign_of(
        f"{kind}:{sampler}",
        [case],
        claims=claims,
        declares=[claims],
        budget=budget,
    )
    return made.monitors[0].verdict()


@pytest.mark.parametrize(("id_", "case"), DEFINED, ids=lambda value: getattr(value, "id", value))
def test_a_rule_follows_its_own_exact_law(id_, case):
    assert verdict(id_, case, id_).outcome is Outcome.PASS


def test_nearly_every_rule_is_defined_on_these_worlds():
    assert {id_ for id_, _ in DEFINED} == set(AUDITED)


@pytest.mark.parametrize("id_", ["mentored", "cascade-own-tokens", "lenience@3/10"])
def test_a_declared_law_is_judged_by_itself(id_):
    assert verdict(id_, WORLDS[1], id_).outcome is Outcome.PASS


@pytest.mark.parametrize(
    ("id_", "claims"),
    [
        ("full-target-fallback", "absolute-residual"),
        ("shared-coin", "absolute-residual"),
        ("lenience", "absolute-residual"),
        ("lenience@3/10", "lenience"),
        ("mentored", "mentored@3"),
    ],
)
def test_a_rule_does_not_follow_another_law(id_, claims):
    assert verdict(id_, WORLDS[1], claims).outcome is Outcome.FAIL
