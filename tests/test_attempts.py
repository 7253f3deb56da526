"""What a run directory remembers of every start."""

from __future__ import annotations

from pathlib import Path

import pytest
import sample_record as sample

from audit.attempts import (
    WHOLE_RUN,
    attempts_in,
    failed_before,
    note,
    refuse_smaller,
    with_attempts,
    worse,
)
from audit.errors import UsageError
from audit.history import Attempt
from audit.verdict import Outcome, Verdict

FIRST = Attempt("2025-01-31T12:00:00Z", seed=0, tier="smoke", cap=20_000)
FAILED = Verdict(Outcome.FAIL, "it failed", ("a reason",), suspects=("lenience",))


def test_attempts_come_back_as_they_were_noted(tmp_path: Path) -> None:
    second = Attempt("2025-02-01", 0, "ci", 200_000, exit_code=1, failed={"a": FAILED})
    note([FIRST, second], tmp_path)
    assert attempts_in(tmp_path) == (FIRST, second)


def test_without_a_folder_or_a_note_there_is_none(tmp_path: Path) -> None:
    note([FIRST], None)
    assert attempts_in(None) == attempts_in(tmp_path) == ()


@pytest.mark.parametrize("content", ["", "[{]", '[{"started": 1}]', "\udcff"])
def test_a_damaged_note_is_refused(tmp_path: Path, content: str) -> None:
    (tmp_path / "attempts.json").write_bytes(content.encode("utf-8", "surrogateescape"))
    with pytest.raises(UsageError, match=r"attempts\.json is damaged"):
        attempts_in(tmp_path)


def test_fewer_trials_than_before_are_refused(tmp_path: Path) -> None:
    refuse_smaller(20_000, [FIRST], folder=tmp_path)
    refuse_smaller(1, [], folder=None)
    with pytest.raises(UsageError, match="it allowed 20,000 trials a case, and 19,999 now"):
        refuse_smaller(19_999, [FIRST], folder=tmp_path)


def test_the_worst_of_all_attempts_is_remembered() -> None:
    dependent = Verdict(Outcome.DEPENDENT, "rows copy")
    one = Attempt("1", 0, "smoke", 1, failed={"a": FAILED, "b": dependent})
    two = Attempt("2", 0, "smoke", 1, failed={"a": dependent, WHOLE_RUN: FAILED})
    assert failed_before([one, two]) == {"a": FAILED, "b": dependent, WHOLE_RUN: FAILED}
    assert failed_before([]) == {}


def test_the_worse_of_two_verdicts_is_the_new_one_where_they_are_alike() -> None:
    good, again = Verdict(Outcome.PASS, "fine"), Verdict(Outcome.FAIL, "again")
    assert worse(good, None) == good
    assert worse(good, FAILED) == FAILED
    assert worse(again, FAILED) == again


def test_a_record_carries_its_attempts_and_what_failed() -> None:
    record = sample.record(sample.audit("mine", sample.bad("a"), sample.good("b")), exit_code=1)
    this = Attempt("now", seed=7, tier="ci", cap=200_000)
    made = with_attempts(record, [FIRST], this)
    assert made.seeds_tried == (0, 7)
    assert made.attempts[0] == FIRST
    assert made.attempts[1].exit_code == 1
    assert set(made.attempts[1].failed) == {"a"}


def test_a_failure_that_no_case_shows_is_remembered_for_the_run() -> None:
    record = sample.record(sample.audit("mine", sample.good()))
    together = record.model_copy(update={"verdict": FAILED})
    assert with_attempts(together, [], FIRST).attempts[0].failed == {WHOLE_RUN: FAILED}
