"""Whether a record is what was expected of it: a known defect must fail, and as what it is known.

An expectation is strict: a defect that is gone is a failure too, so that it is taken off the list.
"""

from __future__ import annotations

from audit.record import Record
from audit.verdict import EXIT_CODES, INTERRUPTED, Outcome

AS_EXPECTED, NOT_AS_EXPECTED = EXIT_CODES[Outcome.PASS], EXIT_CODES[Outcome.FAIL]


def expected(record: Record, expect: str) -> Record:
    """Returns the record with the exit code and the sentence of an expectation.

    expect: "pass" (nothing is changed), "fail", or "fail:FAULT": FAULT must be a suspect. What is
    undecided, an ERROR or interrupted keeps its exit code.
    """
    kind, _, fault = expect.partition(":")
    if kind == "pass":
        return record
    code, said = _judged(record, fault)
    wanted = f"expected to fail{f' as {fault}' if fault else ''}"
    return record.model_copy(update={"exit_code": code, "expectation": f"{wanted}: {said}"})


def as_expected(record: Record) -> bool:
    """Returns whether the record is that of a known defect which failed as it should."""
    return bool(record.expectation) and record.exit_code == AS_EXPECTED


def not_as_expected(record: Record) -> bool:
    """Returns whether the record is that of a known defect which is gone, or another one."""
    return bool(record.expectation) and record.exit_code == NOT_AS_EXPECTED


def _judged(record: Record, fault: str) -> tuple[int, str]:
    outcome = record.verdict.outcome
    if record.exit_code == INTERRUPTED:
        return INTERRUPTED, "interrupted"
    if outcome in (Outcome.PASS, Outcome.WITHIN, Outcome.DEPENDENT):
        return NOT_AS_EXPECTED, f"but it is {record.verdict.word}; mend the expectation"
    if outcome is not Outcome.FAIL:
        return record.exit_code, f"but it is {record.verdict.word}"
    suspects = _suspects(record)
    if not fault or fault in suspects or fault in {name.partition("@")[0] for name in suspects}:
        return AS_EXPECTED, "so it does"
    found = f"it is consistent with {', '.join(suspects)}" if suspects else "no fault is named"
    return NOT_AS_EXPECTED, f"it fails, but {found}"


def _suspects(record: Record) -> tuple[str, ...]:
    """Returns the faults that the run or one of its cases is consistent with."""
    verdicts = [record.verdict, *(case.verdict for case in record.cases)]
    return tuple(dict.fromkeys(name for one in verdicts for name in one.suspects))
