"""What has changed from one record to a later one, and how a repeated run differs."""

from __future__ import annotations

import sample_record as sample

from audit.changes import differences, since, standing
from audit.record import Record
from audit.verdict import Outcome


def record_with(**outcomes: Outcome) -> Record:
    """Returns a record whose cases have these outcomes."""
    found = sample.evidence(sample.NEAR_TARGET, log_e=-3.2)
    cases = [sample.case_result(name, outcome, found) for name, outcome in outcomes.items()]
    return sample.record(sample.audit("transformers", *cases))


def with_identity(record: Record, **identity: str) -> Record:
    """Returns the record of a sampler with this identity."""
    sampler = record.sampler.model_copy(update={"identity": identity})
    return record.model_copy(update={"sampler": sampler})


def test_verdicts_that_have_changed_are_named_by_what_they_are_now() -> None:
    before = record_with(a=Outcome.PASS, b=Outcome.FAIL, c=Outcome.PASS, d=Outcome.FAIL)
    after = record_with(
        a=Outcome.DEPENDENT, b=Outcome.PASS, c=Outcome.INCONCLUSIVE, d=Outcome.ERROR
    )
    found = since(before, after)
    assert found.newly_failing == ("a",)  # d fails as before, whatever the kind
    assert found.newly_passing == ("b",)
    assert found.newly_undecided == ("c",)
    assert found.started == before.started


def test_cases_that_came_went_or_changed_are_named() -> None:
    before = record_with(a=Outcome.PASS, b=Outcome.PASS)
    other = sample.case_result(
        "a", Outcome.PASS, sample.evidence(sample.TARGET, log_e=0.0), hash="9"
    )
    after = sample.record(sample.audit("transformers", other, sample.good("c")))
    found = since(before, after)
    assert (found.added, found.removed, found.redefined) == (("c",), ("b",), ("a",))
    assert found.newly_passing == ("c",)


def test_code_that_has_changed_is_named_with_both_versions() -> None:
    before = with_identity(sample.record(), torch="2.4", hashed="one", gone="x")
    after = with_identity(sample.record(), torch="2.13", hashed="one", new="y")
    assert since(before, after).code == {
        "torch": ("2.4", "2.13"),
        "gone": ("x", ""),
        "new": ("", "y"),
    }
    assert since(before, before).code == {}


def test_a_bias_that_was_accepted_beforehand_passes() -> None:
    record = record_with(a=Outcome.WITHIN)
    (case,) = record.cases
    assert standing(case, record) == "failing"
    settings = record.settings.model_copy(update={"accept_within": 0.5})
    assert standing(case, record.model_copy(update={"settings": settings})) == "passing"
    strict = record.settings.model_copy(update={"accept_within": 1e-6})
    assert standing(case, record.model_copy(update={"settings": strict})) == "failing"


def test_a_repeated_run_without_difference_says_nothing() -> None:
    assert differences(sample.record(), sample.record()) == []


def test_other_code_with_the_same_counts_is_told_with_both() -> None:
    before, after = (
        with_identity(sample.record(), hashed="s.py", sha256=sign * 64) for sign in "ab"
    )
    assert differences(before, after) == [
        "same counts as in the record, but not the same code: the sampler's code (s.py) was "
        "aaaaaaaaaaaa and is now bbbbbbbbbbbb"
    ]


def test_differences_of_a_repeated_run_are_named() -> None:
    other = sample.record(
        sample.audit(
            "transformers",
            sample.good("article-three-tokens").model_copy(update={"counts": {"0": 1}}),
        ).model_copy(
            update={"sampler": sample.record().sampler.model_copy(update={"identity": {}})}
        )
    )
    assert differences(sample.record(), other) == [
        "not the same code as in the record: the sampler's transformers was '5.0.0' and is now not "
        "given",
        "case article-three-tokens has other counts",
        "case p-equals-q was not run",
    ]
