"""Annotations: few, the worst first, and no text that ends its line or its property."""

from __future__ import annotations

import re

import golden_reports
import pytest
import sample_record as sample

from audit.record import Record
from audit.render.annotations import github_annotations
from audit.verdict import Outcome

LINE = re.compile(r"::(error|warning) file=[^:,\n]+,line=[0-9]+,title=[^:,\n]*::[^\n\r]+")
MORE = re.compile(r"::warning title=draftproof::([0-9]+) more did not pass")


def lines(record: Record) -> list[str]:
    text = github_annotations(record)
    assert text.endswith("\n")
    return text.splitlines()


def test_the_golden_file() -> None:
    text = github_annotations(golden_reports.every_outcome())
    assert golden_reports.golden("annotations.txt", text) == text


def test_a_run_that_passed_says_nothing() -> None:
    assert github_annotations(sample.record()) == ""


@pytest.mark.parametrize(("cases", "more"), [(8, 0), (9, 1), (500, 492)])
def test_at_most_eight_and_the_number_of_the_others(cases: int, more: int) -> None:
    case = sample.bad()
    results = [case.model_copy(update={"id": f"case-{number}"}) for number in range(cases)]
    shown = lines(sample.record(sample.audit("s", *results)))
    assert all(LINE.fullmatch(line) for line in shown[:8])
    counted = [int(found[1]) for line in shown[8:] if (found := MORE.fullmatch(line))]
    assert counted == ([more] if more else [])
    assert len(shown) == 8 + bool(more)


def test_the_worst_are_shown() -> None:
    results = [sample.bad(f"case-{number}") for number in range(20)]
    broken = sample.case_result("broken", Outcome.ERROR, None)
    assert "ERROR%2C broken" in lines(sample.record(sample.audit("s", *results, broken)))[0]


def test_what_is_undecided_is_a_warning() -> None:
    undecided = sample.case_result("u", Outcome.INCONCLUSIVE, None)
    (line,) = lines(sample.record(sample.audit("s", undecided)))
    assert line.startswith("::warning file=cases/u.toml,line=1,")


@pytest.mark.parametrize("name", golden_reports.HOSTILE_NAMES)
def test_a_hostile_name_ends_neither_line_nor_property(name: str) -> None:
    case = sample.case_result(name, Outcome.ERROR, None, repeat=f"draftproof run {name}")
    (line,) = lines(sample.record(sample.audit(name, case)))
    assert LINE.fullmatch(line)
    assert not any(sign in line for sign in "\x1b\u202e\x00\x0b")
    assert len(line) < 4_000
