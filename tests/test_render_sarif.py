"""SARIF: the golden file, the schema, and what makes a code host refuse or double a result.

golden/sarif-reduced.schema.json is our own: the part of the standard that we write, and that every
result must have a location. `SARIF_SCHEMA=FILE pytest tests/test_render_sarif.py` holds the
official schema against the same logs.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import golden_reports
import jsonschema
import pytest
import sample_record as sample

from audit.record import Record
from audit.render.sarif import sarif, sarif_log
from audit.verdict import INTERRUPTED, Outcome

OWN = golden_reports.GOLDEN / "sarif-reduced.schema.json"
SCHEMAS = [OWN, *map(Path, filter(None, [os.environ.get("SARIF_SCHEMA")]))]
RECORDS = {
    "every outcome": golden_reports.every_outcome(),
    "hostile": golden_reports.hostile(),
    "all passed": sample.record(),
}


def run_of(record: Record) -> dict[str, Any]:
    (run,) = sarif_log(record)["runs"]
    found: dict[str, Any] = run
    return found


def test_the_golden_file() -> None:
    text = sarif(golden_reports.every_outcome())
    assert golden_reports.golden("report.sarif.json", text) == text


@pytest.mark.parametrize("schema", SCHEMAS, ids=lambda path: path.name)
@pytest.mark.parametrize("record", RECORDS.values(), ids=RECORDS)
def test_the_schema_holds(record: Record, schema: Path) -> None:
    jsonschema.validate(json.loads(sarif(record)), json.loads(schema.read_text(encoding="utf-8")))


def test_the_schema_refuses_a_result_without_location() -> None:
    log = sarif_log(golden_reports.every_outcome())
    log["runs"][0]["results"][0]["locations"] = []
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(log, json.loads(OWN.read_text(encoding="utf-8")))


def test_a_result_points_at_the_line_of_the_sampler() -> None:
    for result in run_of(golden_reports.every_outcome())["results"]:
        place = result["locations"][0]["physicalLocation"]
        assert place["artifactLocation"]["uri"] == "decoding/verify.py"
        assert place["region"]["startLine"] == 12


@pytest.mark.parametrize("record", RECORDS.values(), ids=RECORDS)
def test_rules_are_listed_once_and_each_result_points_at_its_own(record: Record) -> None:
    run = run_of(record)
    ids = [rule["id"] for rule in run["tool"]["driver"]["rules"]]
    assert len(set(ids)) == len(ids)
    assert all(ids[result["ruleIndex"]] == result["ruleId"] for result in run["results"])


def test_a_suspect_is_described_in_the_words_of_the_catalogue() -> None:
    rules = {r["id"]: r for r in run_of(golden_reports.every_outcome())["tool"]["driver"]["rules"]}
    said = rules["full-target-fallback"]["shortDescription"]["text"]
    assert said == ("Draws from the whole target row after a rejection instead of the residual.")


def test_a_path_is_written_as_a_uri() -> None:
    audit = sample.audit("m:verify", sample.bad())
    sampler = audit.sampler.model_copy(update={"source": "my code/vérify#1.py:3"})
    (result,) = run_of(sample.record(audit.model_copy(update={"sampler": sampler})))["results"]
    uri = result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
    assert uri == "my%20code/v%C3%A9rify%231.py"


def test_two_samplers_of_one_commit_are_two_analyses() -> None:
    ids = [
        run_of(sample.record(sample.audit(name, sample.bad())))["automationDetails"]["id"]
        for name in ("a.py:verify", "b.py:verify")
    ]
    assert ids == ["draftproof/a.py%3Averify/", "draftproof/b.py%3Averify/"]


def test_an_interrupted_run_is_no_successful_one() -> None:
    assert run_of(sample.record())["invocations"][0]["executionSuccessful"]
    cut = run_of(sample.record(exit_code=INTERRUPTED))
    assert cut["invocations"] == [{"executionSuccessful": False, "exitCode": INTERRUPTED}]
    assert cut["results"] == []


def test_hostile_text_is_short_and_harmless() -> None:
    text = sarif(golden_reports.hostile())
    shown = json.dumps(json.loads(text), ensure_ascii=False)
    assert not any(sign in shown for sign in "\x1b\u202e\x00\x0b\ufffe")
    assert "x" * 2_001 not in shown
    assert len(text) < 60_000


def test_what_has_no_suspect_is_named_after_its_outcome() -> None:
    dependent = sample.case_result("d", Outcome.DEPENDENT, None)
    (result,) = run_of(sample.record(sample.audit("s", dependent)))["results"]
    assert (result["ruleId"], result["level"]) == ("audit-dependent", "error")
