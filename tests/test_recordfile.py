"""The record: what goes in comes out, and what is no record is refused in one sentence."""

from __future__ import annotations

import json
import math
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import sample_record as sample
from pydantic import ValidationError

from audit.errors import DraftproofError, UsageError
from audit.files import check_writable, write_atomically
from audit.record import SCHEMA_NUMBER, CaseResult
from audit.recordfile import embedded, json_schema, read_record, to_json, write_record
from audit.render.html import page
from audit.resources import reports_dir
from audit.verdict import Outcome


def test_a_record_is_read_back_equal_from_json_and_from_a_page(tmp_path: Path) -> None:
    record = sample.record(sample.audit(sample.HOSTILE, sample.bad(sample.HOSTILE), sample.good()))
    write_record(record, tmp_path / "record.json")
    write_atomically(tmp_path / "report.html", page(record))
    assert read_record(tmp_path / "record.json") == record
    assert read_record(tmp_path / "report.html") == record


def test_every_kind_of_evidence_survives(tmp_path: Path) -> None:
    found = replace(
        sample.evidence(sample.TARGET, log_e=-2000.0),
        conformity=sample.conformity(),
        certified=None,
        detectable=None,
        trials_needed=None,
    )
    error = sample.case_result("broken", Outcome.ERROR, None, detail="Traceback\n  line")
    record = sample.record(
        sample.audit("s", sample.case_result("a", Outcome.FAIL, found), error, declares=("ratio",))
    )
    write_record(record, tmp_path / "r")
    assert read_record(tmp_path / "r") == record


def test_counts_stand_under_counts() -> None:
    data = json.loads(to_json(sample.record()))
    assert data["cases"][0]["counts"] == {"0 2": 9_000, "1": 11_000}
    assert data["schema_number"] == SCHEMA_NUMBER


@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf])
def test_no_number_that_is_not_finite_gets_in(number: float) -> None:
    with pytest.raises((ValidationError, DraftproofError)):
        sample.record(seconds=number)
    with pytest.raises((ValidationError, DraftproofError)):
        sample.evidence(sample.TARGET, log_e=number)


def test_a_lone_surrogate_in_a_name_is_written_out() -> None:
    assert sample.good("a\udcffb").id == "a\\udcffb"


def essence(schema: Any) -> Any:
    """Returns a schema without what differs between versions of pydantic: prose and flags."""
    if isinstance(schema, list):
        return [essence(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    prose = {"description", "title"}
    flags = {key for key in ("additionalProperties",) if isinstance(schema.get(key), bool)}
    return {key: essence(part) for key, part in schema.items() if key not in prose | flags}


def test_the_schema_on_disk_is_current_and_holds_for_a_record() -> None:
    schema = json.loads((reports_dir() / "record.schema.json").read_text(encoding="utf-8"))
    assert essence(schema) == essence(json_schema()), "run: python benchmarks/write_docs.py"
    jsonschema.validate(json.loads(to_json(sample.record())), schema)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "not a draftproof record"),
        ("[]", "schema_number"),
        ('{"schema_number": true}', "schema_number"),
        ('{"schema_number": 0}', "schema_number"),
        ('{"schema_number": 2}', "update draftproof"),
        ('{"schema_number": 1}', "Field required"),
        ('{"schema_number": NaN}', "NaN"),
        ("[" * 100_000, r"r is not a draftproof record: it is nested too deeply\.$"),
        ("<html></html>", "carries no record"),
        ("\0\1", "not a draftproof record"),
    ],
)
def test_what_is_no_record_is_refused(tmp_path: Path, text: str, says: str) -> None:
    (tmp_path / "r").write_text(text, encoding="utf-8")
    with pytest.raises(UsageError, match=says):
        read_record(tmp_path / "r")


@pytest.mark.parametrize("number", ["1e999", '"text"', "null"])
def test_a_damaged_number_is_refused(tmp_path: Path, number: str) -> None:
    text = to_json(sample.record()).replace('"log_e": -3.2', f'"log_e": {number}')
    (tmp_path / "r").write_text(text, encoding="utf-8")
    with pytest.raises(UsageError, match="not a draftproof record"):
        read_record(tmp_path / "r")


def test_bytes_that_are_no_text_and_missing_files_are_refused(tmp_path: Path) -> None:
    (tmp_path / "r").write_bytes(b"\xff\xfe\x00")
    for path in (tmp_path / "r", tmp_path / "missing", tmp_path):
        with pytest.raises(UsageError):
            read_record(path)


def test_a_failed_write_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "r.json"
    path.write_text("old")
    with pytest.raises(UnicodeEncodeError):
        write_atomically(path, "\udcff")
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["r.json"]


@pytest.mark.parametrize("name", [".", "missing/r.json", "x" * 300, "file/r.json"])
def test_a_path_that_cannot_be_written_is_refused_beforehand(tmp_path: Path, name: str) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(UsageError, match="cannot be written"):
        check_writable(tmp_path / name)
    assert os.listdir(tmp_path) == ["file"]


def test_checking_a_path_creates_nothing(tmp_path: Path) -> None:
    check_writable(tmp_path / "r.json")
    assert os.listdir(tmp_path) == []


def test_a_result_refuses_unknown_keys() -> None:
    with pytest.raises(ValidationError):
        CaseResult.model_validate({**sample.good().model_dump(), "verdikt": 1})


def test_a_page_carries_its_record_and_so_did_the_first_pages(tmp_path: Path) -> None:
    record, path = sample.record(), tmp_path / "page.html"
    path.write_text(f"<!doctype html>{embedded(record)}</html>", encoding="utf-8")
    assert read_record(path) == record
    plain = to_json(record, indent=None).replace("<", "\\u003c")
    opening = '<script type="application/json" id="record">'
    path.write_text(f"<!doctype html>{opening}{plain}</script></html>", encoding="utf-8")
    assert read_record(path) == record


def test_a_page_whose_record_is_broken_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    text = embedded(sample.record())
    for broken in (
        text.replace("/Td6", "/Td7"),
        text[:200],
        "<html></html>",
        text.replace("=", "é"),
    ):
        path.write_text(f"<!doctype html>{broken}", encoding="utf-8")
        with pytest.raises(UsageError, match="not a draftproof record"):
            read_record(path)
