"""A gate in pytest: copy it beside your tests. Paths are relative to pytest's root folder.

Each case is a test of its own; all of them share one audit. `draftproof` must be installed, which
makes its plugin known to pytest.
"""

import pytest

CASES = ["article-three-tokens", "prefix-dependent-2"]


@pytest.mark.draftproof(sampler="my_sampler.py:verify", cases=CASES, tier="smoke")
def test_my_sampler_is_lossless():
    """The audit fails the test by itself."""


@pytest.mark.draftproof(sampler="my_sampler.py:verify", cases=CASES, tier="smoke")
def test_the_result_of_a_case_is_at_hand(draftproof_case):
    """What has passed may be asked for more, such as the rules that fit what was seen."""
    assert "ratio" in draftproof_case.result.evidence.rules_observed


def test_the_audit_would_find_a_mistake(draftproof_audit):
    """A control of your own: a sampler that is known to be wrong."""
    with pytest.raises(pytest.fail.Exception, match="full-target-fallback"):
        draftproof_audit("broken_sampler.py:verify", cases=CASES[:1], tier="smoke")
