"""A known defect in every report: as it should be it is told and alarms nobody, else it alarms."""

from __future__ import annotations

import json

import golden_reports
import pytest
import sample_record as sample
from junitparser import JUnitXml

from audit.expectation import expected
from audit.record import Record
from audit.render.annotations import github_annotations
from audit.render.code_quality import code_quality
from audit.render.html import page
from audit.render.junit import junit
from audit.render.markdown import markdown
from audit.render.sarif import sarif_log

TOLD = "expected to fail as full-target-fallback: so it does"


def record_of(expect: str) -> Record:
    """Returns the record of a sampler that fails as full-target-fallback, whatever is expected."""
    audit = sample.audit("m:verify", golden_reports.failed(), sample.good())
    return expected(sample.record(audit, exit_code=1, control=None), expect)


@pytest.fixture(scope="module")
def known() -> Record:
    """Returns the record of a defect that fails as it should."""
    return record_of("fail:full-target-fallback")


@pytest.fixture(scope="module")
def gone() -> Record:
    """Returns the record of a sampler whose known defect is gone."""
    return expected(sample.record(control=None), "fail:full-target-fallback")


def test_junit_skips_an_expected_failure_and_fails_an_unexpected_pass(
    known: Record, gone: Record
) -> None:
    (suite,) = JUnitXml.fromstring(junit(known).encode())
    failed, passed = suite
    assert (failed.result[0].type, passed.result) == ("expected failure", [])
    assert failed.result[0].message.startswith(TOLD)
    assert (suite.failures, suite.errors, suite.skipped) == (0, 0, 1)
    (suite,) = JUnitXml.fromstring(junit(gone).encode())
    assert (suite.failures, suite.skipped) == (1, 0)
    assert "but it is PASS; mend the expectation" in list(suite)[-1].result[0].message


def test_sarif_notes_an_expected_failure_and_reports_an_unexpected_pass(
    known: Record, gone: Record
) -> None:
    (run,) = sarif_log(known)["runs"]
    (invocation,) = run["invocations"]
    assert run["results"] == []
    assert invocation["toolExecutionNotifications"] == [
        {"level": "note", "message": {"text": TOLD}}
    ]
    (run,) = sarif_log(gone)["runs"]
    assert [result["ruleId"] for result in run["results"]] == ["audit-expectation"]
    assert "known defect" in run["tool"]["driver"]["rules"][0]["shortDescription"]["text"]


def test_annotations_and_code_quality_alarm_of_the_unexpected_alone(
    known: Record, gone: Record
) -> None:
    assert github_annotations(known) == ""
    assert json.loads(code_quality(known)) == []
    assert github_annotations(gone).startswith("::error")
    assert len(json.loads(code_quality(gone))) == 1


def test_markdown_and_page_tell_both(known: Record, gone: Record) -> None:
    assert "✗ FAIL (expected) |" in markdown(known)
    assert TOLD in markdown(known)
    assert "mend the expectation" in markdown(gone)
    for record, tone in ((known, "open"), (gone, "bad"), (record_of("pass"), "bad")):
        text = page(record)
        assert f'<section class="verdict {tone}"' in text
        assert record.expectation in text
