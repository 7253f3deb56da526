"""The text of a record: what must be in it, and what a hostile name must not do to it."""

from __future__ import annotations

import pytest
import sample_record as sample

from audit.render.text import audit_text, verdict_line
from audit.verdict import SCOPE, Budget, Outcome, Verdict, run_verdict

HOSTILE_RECORD = sample.record(
    sample.audit(
        sample.HOSTILE,
        sample.bad(sample.HOSTILE),
        sample.case_result("[bold]e", Outcome.ERROR, None, detail=sample.HOSTILE),
    )
)


def test_the_table_carries_the_numbers_and_the_control() -> None:
    text = audit_text(sample.record(), color=False, width=110)
    # p: Pearson's 88^2/4000 + 88^2/10000 = 2.71 on 2 degrees of freedom, exp(-2.71 / 2) = 0.26
    row = next(line for line in text.splitlines() if line.startswith("article-three-tokens"))
    assert row.split() == [
        "article-three-tokens", "✓", "PASS", "20,000", "0.0044", "(0.0038)", "0.0196", "0.041",
        "0.26", "✗", "FAIL",
    ]  # fmt: skip
    assert "Control ✗ FAIL  fault:full-target-fallback" in text


def test_limits_are_always_said() -> None:
    text = audit_text(sample.record(), color=False, width=10_000)
    assert SCOPE in text
    assert "case that passed: bonus-missing, lenience." in text
    assert "Not tested: state, performance." in text


def test_failures_come_first_and_each_has_its_sentence() -> None:
    cases = [sample.good("a"), sample.bad("b")]
    text = audit_text(sample.record(sample.audit("s", *cases)), color=False, width=110)
    assert text.index("\nb ") < text.index("\na ")
    assert "✗ FAIL  b: the emitted tokens do not follow the target." in text


def test_many_failures_are_cut_and_counted() -> None:
    cases = [sample.bad(f"case-{n}") for n in range(20)]
    text = audit_text(sample.record(sample.audit("s", *cases)), color=False, width=110)
    assert "and 12 more." in text


def test_only_the_case_that_the_run_quotes_has_no_line() -> None:
    cases = [sample.bad(f"case-{n}") for n in range(20)]
    verdicts = {case.id: case.verdict for case in cases}
    verdict = run_verdict(verdicts, Budget(1e-6, 1e-3, 0.05, len(cases)))
    audit = sample.audit("s", *cases).model_copy(update={"verdict": verdict})
    text = audit_text(sample.record(audit, control=None), color=False, width=200)
    assert "20 of 20 cases; case-0: the emitted tokens" in text
    lines = [line for line in text.splitlines() if line.startswith("✗ FAIL  case-")]
    assert [line.split()[2] for line in lines] == [f"case-{n}:" for n in range(1, 9)]
    assert "and 11 more." in text


def test_a_case_whose_sentence_is_part_of_another_has_its_line() -> None:
    cases = [
        sample.case_result(name, Outcome.ERROR, None, verdict=Verdict(Outcome.ERROR, "it raised"))
        for name in ("a", "b")
    ]
    verdict = Verdict(Outcome.ERROR, "a: it raised")
    audit = sample.audit("s", *cases).model_copy(update={"verdict": verdict})
    text = audit_text(sample.record(audit, control=None), color=False, width=200)
    assert "! ERROR  b: it raised" in text
    assert "! ERROR  a: it raised" not in text


@pytest.mark.parametrize("width", [40, 80, 200])
@pytest.mark.parametrize("verbose", [False, True])
def test_a_hostile_name_stays_a_name(width: int, verbose: bool) -> None:
    text = audit_text(HOSTILE_RECORD, color=False, width=width, verbose=verbose)
    assert not any(sign in text for sign in "\x1b\u202e\x00\r")
    assert "x" * 121 not in text.replace("\n", "") or verbose
    assert "[bold]e" in text
    assert max(map(len, text.splitlines())) <= max(width, 60)


def test_colour_is_there_only_when_wanted() -> None:
    assert "\x1b[" in audit_text(sample.record(), color=True, width=110)
    assert "\x1b[" not in audit_text(sample.record(), color=False, width=110)


def test_the_quiet_line_is_one_line() -> None:
    assert verdict_line(HOSTILE_RECORD).count("\n") == 1
    assert verdict_line(sample.record()).startswith("✓ PASS  transformers: ")


def test_verbose_shows_statistics_and_tracebacks() -> None:
    text = audit_text(HOSTILE_RECORD, color=False, width=110, verbose=True)
    assert "Cressie-Read (tokens)" in text
    assert "alert(1)" in text
