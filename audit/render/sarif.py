"""A record as SARIF 2.1.0, for code scanning: one run, one result for each thing that failed.

Every result has a physical location, since a single one without it makes a code host refuse the
whole file. Undecided cases are no results, and a known defect that fails as it should is a note.
`primaryLocationLineHash` is the one fingerprint that GitHub reads; ours holds no line, so that an
alert survives an edit above it.

References: OASIS, SARIF version 2.1.0 (2020).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from audit.exact.catalogue import RULES
from audit.expectation import as_expected
from audit.record import Record
from audit.render.findings import (
    EXPECTATION_RULE,
    SENTENCE_LIMIT,
    Finding,
    again,
    explained,
    findings,
)
from audit.render.plain import clean
from audit.verdict import INTERRUPTED, Outcome

SCHEMA = (
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
)
_MEANINGS: Mapping[Outcome, str] = {
    Outcome.ERROR: "the sampler broke its contract, raised, died or timed out",
    Outcome.FAIL: "a bias, an impossible event or a broken declared rule, of no catalogued fault",
    Outcome.DEPENDENT: "rows or calls share randomness although they must be independent",
    Outcome.WITHIN: "a bias is proven, and certified to be at most epsilon",
}
_UNEXPECTED = "a known defect does not fail as the configuration says"


def sarif(record: Record) -> str:
    """Returns the SARIF file of a record."""
    return json.dumps(sarif_log(record), indent=2, allow_nan=False) + "\n"


def sarif_log(record: Record) -> dict[str, Any]:
    """Returns the SARIF log of a record as plain values."""
    found = findings(record)
    worst: dict[str, Finding] = {}
    for finding in found:
        worst.setdefault(finding.rule, finding)
    rules = list(worst)
    driver = {
        "name": "draftproof",
        "version": clean(record.draftproof),
        "rules": [_rule(finding) for finding in worst.values()],
    }
    run = {
        "tool": {"driver": driver},
        # the part before the last slash keeps two samplers of one commit apart
        "automationDetails": {"id": f"draftproof/{quote(clean(record.sampler.name))}/"},
        "invocations": [_invocation(record)],
        "results": [_result(finding, rules.index(finding.rule), record) for finding in found],
    }
    return {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}


def _invocation(record: Record) -> dict[str, Any]:
    invocation: dict[str, Any] = {
        "executionSuccessful": record.exit_code != INTERRUPTED,
        "exitCode": record.exit_code,
    }
    if as_expected(record):
        said = clean(record.expectation, SENTENCE_LIMIT)
        invocation["toolExecutionNotifications"] = [{"level": "note", "message": {"text": said}}]
    return invocation


def _rule(finding: Finding) -> dict[str, Any]:
    """Returns what a rule means: a catalogued fault in the catalogue's words."""
    entry = RULES.get(finding.rule)
    outcome = finding.judged.verdict.outcome
    unexpected = finding.rule == EXPECTATION_RULE
    meaning = entry.meaning if entry else _UNEXPECTED if unexpected else _MEANINGS[outcome]
    text = f"{meaning[0].upper()}{meaning[1:]}."
    more = f" How it comes about: {entry.happens}. Law: {entry.formula}." if entry else ""
    return {
        "id": finding.rule,
        "shortDescription": {"text": text},
        "fullDescription": {"text": text + more},
        "help": {"text": text + more},
        "defaultConfiguration": {"level": _level(outcome)},
    }


def _result(finding: Finding, index: int, record: Record) -> dict[str, Any]:
    one, place = finding.judged, finding.place
    return {
        "ruleId": finding.rule,
        "ruleIndex": index,
        "level": _level(one.verdict.outcome),
        "message": {"text": f"{one.name}: {explained(one)} {again(one, record)}".strip()},
        "locations": [
            {
                "physicalLocation": {
                    "artifactLocation": {"uri": quote(place.path)},
                    "region": {"startLine": place.line},
                }
            }
        ],
        "partialFingerprints": {
            "primaryLocationLineHash": finding.fingerprint,
            "draftproof/v1": finding.fingerprint,
        },
    }


def _level(outcome: Outcome) -> str:
    return "warning" if outcome is Outcome.WITHIN else "error"
