"""Sampler, cases and rules must be about drafts of the same shape."""

import pytest

from audit.errors import UsageError
from audit.fitting import cases_for, check_rules
from audit.samplers.registry import load_sampler
from audit.selection import select_cases
from tests.worlds import article


def ids(sampler, *given):
    return [case.id for case in cases_for(load_sampler(sampler), given)]


def test_nothing_means_the_cases_that_the_sampler_takes():
    assert ids("reference") == [case.id for case in select_cases(["small"])]
    assert ids("rule:k-seq") == ["tree-basis", "tree-two-paths"]


def test_what_is_given_comes_first_and_alone():
    assert ids("reference", article(1)) == ["article"]
    assert ids("reference", "disjoint", article(1)) == ["article", "disjoint"]


def test_a_case_given_as_an_object_must_fit_too():
    with pytest.raises(UsageError) as error:
        ids("rule:k-seq", article(1))
    assert str(error.value) == (
        "case article drafts chains, but rule:k-seq takes trees of independent siblings; select "
        "other cases (--cases trees are the shipped ones), or say in its `draftproof` attribute "
        "which trees it takes."
    )


def test_a_rule_must_verify_the_drafts_of_some_case():
    cases = select_cases(["tree-basis", "tree-fixed"])
    check_rules(["k-seq", "target-only", "tree-sampler-match"], cases, role="declared rule")
    with pytest.raises(UsageError) as error:
        check_rules(["k-seq", "traversal"], cases, role="declared rule")
    assert str(error.value) == (
        "declared rule traversal verifies trees of distinct siblings, but the selected cases draft "
        "trees of independent siblings or trees of fixed siblings; choose another rule or other "
        "cases."
    )
