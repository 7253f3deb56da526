"""Known defects must fail, and as what they are known; a defect that is gone is a failure."""

from __future__ import annotations

from dataclasses import replace

import pytest
import sample_record as sample

from audit.expectation import expected
from audit.record import Record
from audit.verdict import EXIT_CODES, INTERRUPTED, Outcome

CODES = dict(EXIT_CODES)


def record_of(outcome: Outcome, *suspects: str, code: int | None = None) -> Record:
    """Returns a record of this outcome whose only case names the suspects."""
    case = sample.case_result("a", outcome, sample.evidence(sample.FULL_TARGET, log_e=90.0))
    case = case.model_copy(update={"verdict": replace(case.verdict, suspects=suspects)})
    exit_code = CODES[outcome] if code is None else code
    return sample.record(sample.audit("mine", case), exit_code=exit_code, control=None)


@pytest.mark.parametrize("outcome", list(Outcome))
def test_nothing_changes_where_a_pass_is_expected(outcome: Outcome) -> None:
    record = record_of(outcome)
    assert expected(record, "pass") == record


@pytest.mark.parametrize(
    ("record", "expect", "code", "said"),
    [
        (record_of(Outcome.FAIL), "fail", 0, "expected to fail: so it does"),
        (record_of(Outcome.FAIL, "bonus-from-draft"), "fail:bonus-from-draft", 0, "so it does"),
        (record_of(Outcome.FAIL, "lenience@3/10"), "fail:lenience", 0, "so it does"),
        (record_of(Outcome.FAIL, "lenience@3/10"), "fail:lenience@1/2", 1, "consistent with len"),
        (record_of(Outcome.FAIL, "shared-coin"), "fail:bonus-from-draft", 1, "with shared-coin"),
        (record_of(Outcome.FAIL), "fail:bonus-from-draft", 1, "no fault is named"),
        (record_of(Outcome.PASS), "fail", 1, "but it is PASS; mend the expectation"),
        (record_of(Outcome.PASS, code=3), "fail", 1, "but it is PASS"),  # the control passed too
        (record_of(Outcome.WITHIN, code=0), "fail", 1, "but it is WITHIN"),
        (record_of(Outcome.DEPENDENT), "fail", 1, "but it is DEPENDENT"),
        (record_of(Outcome.INCONCLUSIVE), "fail", 3, "but it is INCONCLUSIVE"),
        (record_of(Outcome.NOT_TESTABLE), "fail", 3, "but it is NOT TESTABLE"),
        (record_of(Outcome.ERROR), "fail", 4, "but it is ERROR"),
        (record_of(Outcome.FAIL, code=INTERRUPTED), "fail", INTERRUPTED, "interrupted"),
    ],
)
def test_a_known_defect_must_fail(record: Record, expect: str, code: int, said: str) -> None:
    judged = expected(record, expect)
    assert judged.exit_code == code
    assert said in judged.expectation
