"""JUnit XML: read back by junitparser, equal to the golden file, valid whatever a name holds."""

from __future__ import annotations

from xml.etree import ElementTree

import golden_reports
import sample_record as sample
from hypothesis import given
from hypothesis import strategies as st
from junitparser import Error, Failure, JUnitXml, Skipped, TestCase

from audit.render.junit import junit
from audit.verdict import Outcome, Verdict


def read_back(text: str) -> list[TestCase]:
    """Returns the test cases of the one suite in the XML."""
    (suite,) = JUnitXml.fromstring(text.encode())
    return list(suite)


def test_the_golden_file() -> None:
    text = junit(golden_reports.every_outcome())
    assert ElementTree.canonicalize(golden_reports.golden("junit.xml", text)) == (
        ElementTree.canonicalize(text)
    )


def test_every_case_is_a_test_case_with_the_result_of_its_outcome() -> None:
    kinds = {
        case.name: [type(result) for result in case.result]
        for case in read_back(junit(golden_reports.every_outcome()))
    }
    assert kinds == {
        "p-equals-q": [],
        "article-three-tokens": [Failure],
        "within": [Failure],
        "dependent": [Failure],
        "undecided": [Skipped],
        "limited": [Skipped],
        "broken": [Error],
    }


def test_the_totals_count_each_result_once() -> None:
    xml = JUnitXml.fromstring(junit(golden_reports.every_outcome()).encode())
    assert (xml.tests, xml.failures, xml.errors, xml.skipped) == (7, 3, 1, 2)
    assert xml.time == 12.25


def test_numbers_stand_in_the_output_and_reasons_and_traceback_in_the_result() -> None:
    cases = {case.name: case for case in read_back(junit(golden_reports.every_outcome()))}
    lines = (cases["article-three-tokens"].system_out or "").splitlines()
    assert "tv: 0.06" in lines
    assert "measured: 0.26" in lines
    failure, error = (cases[name].result[0] for name in ("article-three-tokens", "broken"))
    assert "a second | reason\nAudit this case alone: draftproof run" in (failure.text or "")
    assert "Traceback:\n  line 7\n" in (error.text or "")


def test_what_no_case_shows_is_a_test_case_too() -> None:
    record = sample.record(verdict=Verdict(Outcome.FAIL, "all cases together prove it"))
    *_, last = read_back(junit(record))
    assert last.is_failure
    assert last.result[0].message == "all cases together prove it."


def test_hostile_text_stays_text() -> None:
    text = junit(golden_reports.hostile())
    cases = read_back(text)
    assert len(cases) == len(golden_reports.HOSTILE_NAMES)
    assert all(len(case.name) <= 120 for case in cases)
    assert not any(sign in text for sign in "\x1b\u202e\x00\x0b\x7f\ufffe")
    assert len(text) < 250_000


@given(st.text(max_size=200))
def test_any_text_gives_xml(text: str) -> None:
    case = sample.case_result(text, Outcome.ERROR, None, detail=text, repeat=text)
    assert len(read_back(junit(sample.record(sample.audit(text, case))))) == 1
