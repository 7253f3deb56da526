"""The GitLab report: golden file, unique fingerprints, relative paths."""

from __future__ import annotations

import json
from typing import Any

import golden_reports
import pytest
import sample_record as sample

from audit.record import Record
from audit.render.code_quality import SEVERITIES, code_quality
from audit.render.findings import findings

KEYS = {"description", "check_name", "fingerprint", "severity", "location"}


def entries(record: Record) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(code_quality(record))
    return found


def test_the_golden_file() -> None:
    text = code_quality(golden_reports.every_outcome())
    assert golden_reports.golden("code_quality.json", text) == text


@pytest.mark.parametrize("record", [golden_reports.every_outcome(), golden_reports.hostile()])
def test_every_entry_is_whole_unique_and_relative(record: Record) -> None:
    found = entries(record)
    assert len(found) == len(findings(record)) > 0
    assert len({entry["fingerprint"] for entry in found}) == len(found)
    for entry in found:
        assert entry.keys() == KEYS
        assert entry["severity"] in ("info", "minor", "major", "critical", "blocker")
        assert entry["location"]["lines"]["begin"] >= 1
        path = entry["location"]["path"]
        assert not path.startswith(("/", "."))
        assert ".." not in path


def test_nothing_that_failed_is_an_empty_list() -> None:
    assert code_quality(sample.record()) == "[]\n"


def test_every_adverse_outcome_has_a_severity_of_its_own() -> None:
    assert len(set(SEVERITIES.values())) == len(SEVERITIES) == 4
