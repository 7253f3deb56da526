"""What was accepted beside the exact figures: the declared or observed rule, and the best.

Values are those of the algorithm page, sections 1.1, 1.6 and 2.4. A run of 20,000 trials leaves its
mean by more than 0.05 with a chance below 1e-9; the seeds are fixed.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from audit.case import Case
from audit.evidence import Acceptance
from audit.judgement.acceptance import acceptance_of
from audit.judgement.readings import rules_observed
from audit.selection import select_cases
from audit.statistics.binomial import mean_limits
from audit.statistics.impossible import look_alpha
from audit.tree import Tree
from tests.simulation import campaign_of
from tests.worlds import article, prefix_dependent


def acceptance(sampler: str, case: Case, **options: object) -> Acceptance:
    """Returns what is shown after a run."""
    (monitor,) = campaign_of(sampler, [case], **options).monitors
    return acceptance_of(monitor, rules_observed(monitor))


def test_by_the_declared_rule() -> None:
    shown = acceptance("reference", article(2), declares=["ratio"])
    assert (shown.rules, shown.source) == (("ratio",), "declared")
    assert shown.best == shown.expected == pytest.approx(0.7, abs=1e-6)
    assert shown.expected_emitted == pytest.approx(2.19, abs=1e-5)
    assert shown.mean_emitted == pytest.approx(2.19, abs=0.05)
    assert shown.low < shown.observed < shown.high
    tokens = shown.tokens
    assert tokens is not None
    assert tokens.low < tokens.observed < tokens.high
    assert tokens.observed == pytest.approx(tokens.expected, abs=0.05)
    assert tokens.expected == pytest.approx(1.19, abs=1e-5)
    assert tokens.best == tokens.best_lower == pytest.approx(1.25, abs=1e-5)
    assert tokens.best_known_by == shown.best_known_by == "closed form"


def test_by_the_rule_that_fits_where_none_is_declared_or_another_is() -> None:
    for declares in ([], ["ratio"]):
        shown = acceptance("rule:block", prefix_dependent(2), declares=declares)
        assert (shown.rules, shown.source) == (("block",), "observed")
        assert shown.tokens is not None
        assert shown.tokens.expected == shown.tokens.best == pytest.approx(1.3, abs=1e-5)


def test_rules_of_one_law_are_named_together() -> None:
    shown = acceptance("rule:ratio", article(1), cap=5000)
    assert {"ratio", "block"} <= set(shown.rules)
    assert shown.expected == pytest.approx(0.7, abs=1e-6)


def test_a_wrong_rule_may_accept_more_than_the_best() -> None:
    shown = acceptance("fault:always-accept", prefix_dependent(2), cap=500)
    assert (shown.rules, shown.source, shown.expected) == ((), "", None)
    assert shown.tokens is not None
    assert shown.tokens.observed == 2 > shown.tokens.high - 1 > shown.tokens.best - 1
    assert shown.tokens.best == pytest.approx(1.3, abs=1e-5)


def test_every_end_of_a_chunk_has_its_share_of_the_error() -> None:
    (monitor,) = campaign_of("reference", [article(2)], cap=1000).monitors
    lengths = monitor.preservation.counts.lengths()
    shown = acceptance_of(monitor, ["ratio"])
    delta = look_alpha(1e-3, monitor.preservation.chunks)
    assert monitor.preservation.chunks > 1
    assert (shown.low, shown.high) == mean_limits([lengths[1:].sum()], 1000, delta)
    assert shown.tokens is not None
    both = mean_limits([lengths[1:].sum(), lengths[2]], 1000, delta)
    assert (shown.tokens.low, shown.tokens.high) == both


def test_two_drafts_are_compared_with_the_best_of_two() -> None:
    # SEED, k = 2: recursive rejection 17/20, the best 19/20.
    case = replace(article(1), tree=Tree((-1, -1), "independent"))
    shown = acceptance("rule:recursive-rejection", case)
    assert shown.rules == ("recursive-rejection",)
    assert shown.expected == pytest.approx(0.85, abs=1e-5)
    assert shown.best == pytest.approx(0.95, abs=1e-5)
    assert shown.observed == pytest.approx(0.85, abs=0.05)


def test_a_large_case_has_the_figures_of_the_declared_rule() -> None:
    (large,) = select_cases(["zipf-1000"])
    shown = acceptance("rule:ratio", large, cap=500, declares=["ratio"])
    assert (shown.rules, shown.source) == (("ratio",), "declared")
    assert shown.expected == shown.best
    assert acceptance("rule:ratio", large, cap=500, declares=["block"]).expected is None


def test_paths_of_two_tokens_have_a_certified_best() -> None:
    case = replace(prefix_dependent(2), tree=Tree((-1, -1, 0, 1), "independent"))
    tokens = acceptance("rule:recursive-rejection", case, cap=2000).tokens
    assert tokens is not None
    assert tokens.best_known_by == "linear program, rational certificate"
    assert tokens.expected == pytest.approx(1.52, abs=1e-5)
    assert tokens.best == pytest.approx(2261 / 1250, abs=1e-5)
