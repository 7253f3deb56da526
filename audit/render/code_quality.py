"""A record as a GitLab code quality report: what failed, each with a fingerprint of its own."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from audit.record import Record
from audit.render.findings import Finding, explained, findings
from audit.verdict import Outcome

SEVERITIES: Mapping[Outcome, str] = {
    Outcome.ERROR: "blocker",
    Outcome.FAIL: "critical",
    Outcome.DEPENDENT: "major",
    Outcome.WITHIN: "minor",
}


def code_quality(record: Record) -> str:
    """Returns the JSON of a record; an empty list where nothing failed."""
    entries = [_entry(finding) for finding in findings(record)]
    return json.dumps(entries, indent=2, allow_nan=False) + "\n"


def _entry(finding: Finding) -> dict[str, Any]:
    one = finding.judged
    return {
        "description": f"{one.name}: {explained(one)}",
        "check_name": finding.rule,
        "fingerprint": finding.fingerprint,
        "severity": SEVERITIES[one.verdict.outcome],
        "location": {"path": finding.place.path, "lines": {"begin": finding.place.line}},
    }
