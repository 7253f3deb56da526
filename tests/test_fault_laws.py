"""The rules, and the faults that an audit bets on, pass an audit against their own exact law.

All other faults are held against their laws in test_rules. The audit's own false-alarm rate is
1e-6 a run. The control at the end hands a law to a sampler that does not have it.
"""

import pytest

from audit.exact.catalogue import RULES
from audit.exact.engine import block_law
from audit.verdict import Outcome
from tests.simulation import budget_for, campaign_of
from tests.worlds import article, prefix_dependent

WORLDS = [article(2), prefix_dependent(2)]
AUDITED = [entry.id for entry in RULES.values() if entry.gate or entry.family == "lossless"]
DEFINED = [(rule, c) for rule in AUDITED for c in WORLDS if block_law(c, rule).undefined == 0]


def verdict(sampler, case, claims):
    budget = budget_for(epsilon=0.04)
    made = campaign_of(
        f"fault:{sampler}" if sampler not in LOSSLESS else f"rule:{sampler}",
        [case],
        claims=claims,
        declares=[claims],
        budget=budget,
    )
    return made.monitors[0].verdict()


LOSSLESS = ("ratio", "greedy", "sampler-match", "point-mass", "block")


@pytest.mark.parametrize(("rule", "case"), DEFINED, ids=lambda value: getattr(value, "id", value))
def test_a_rule_follows_its_own_exact_law(rule, case):
    assert verdict(rule, case, rule).outcome is Outcome.PASS


def test_nearly_every_rule_is_defined_on_these_worlds():
    assert {rule for rule, _ in DEFINED} == set(AUDITED)


@pytest.mark.parametrize("rule", ["full-target-fallback", "shared-coin", "lenience-half"])
def test_a_rule_does_not_follow_another_law(rule):
    assert verdict(rule, WORLDS[1], "absolute-residual").outcome is Outcome.FAIL
