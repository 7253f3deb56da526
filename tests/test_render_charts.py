"""Figures for papers: files of the right kind, equal for equal records, whatever a name holds."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree

import pytest
import sample_record as sample

from audit.cli import execute
from audit.recordfile import write_record
from audit.render.charts import FORMATS, drawn
from audit.verdict import Outcome

STARTS = {"png": b"\x89PNG", "svg": b"<?xml", "pdf": b"%PDF"}
RECORD = sample.record(sample.audit("m:verify", sample.bad()))
FILES = drawn(RECORD.cases[0], RECORD)


def test_every_format_is_what_it_says() -> None:
    assert set(FILES) == set(FORMATS)
    for form, content in FILES.items():
        assert content.startswith(STARTS[form])


def test_equal_records_give_equal_files() -> None:
    assert drawn(RECORD.cases[0], RECORD) == FILES


def test_the_svg_is_complete_without_a_style_and_asks_for_nothing() -> None:
    text = FILES["svg"].decode()
    root = ElementTree.fromstring(text)
    assert not [element for element in root.iter() if element.tag.endswith("}style")]
    assert not [element for element in root.iter() if "style" in element.attrib]
    assert [e for e in root.iter() if e.attrib.get("stroke") == "#0b5cad"]
    links = [value for e in root.iter() for name, value in e.attrib.items() if "href" in name]
    assert all(link.startswith("#") for link in links)


def test_hostile_names_are_no_formula_and_no_path() -> None:
    hostile = sample.bad("../$x^{$" + sample.HOSTILE)
    record = sample.record(sample.audit("$\\frac{", hostile))
    assert set(drawn(record.cases[0], record)) == set(FORMATS)


def test_the_command_writes_a_file_a_case_and_format(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    nothing = sample.case_result("broken", Outcome.ERROR, None)
    record = sample.record(sample.audit("m:verify", sample.bad("../a"), nothing))
    write_record(record, tmp_path / "record.json")
    folder = tmp_path / "figures"
    assert execute(["report", f"{tmp_path}/record.json", "--figures", str(folder)]) == 0
    names = sorted(path.name for path in folder.iterdir())
    assert [re.sub("[0-9a-f]{8}", "HASH", name) for name in names] == [
        "case-HASH.pdf", "case-HASH.png", "case-HASH.svg",
    ]  # fmt: skip
    assert "written: 3 files" in capsys.readouterr().err


def test_passed_cases_are_drawn_where_that_is_asked_for(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_record(sample.record(sample.audit("m:verify", sample.good("a"))), tmp_path / "r.json")
    command = ["report", f"{tmp_path}/r.json", "--figures", f"{tmp_path}/figures"]
    assert execute(command) == 0
    assert "written: 0 files" in (said := capsys.readouterr().err)
    assert "--all-figures" in said
    assert execute([*command, "--all-figures"]) == 0
    assert len(list((tmp_path / "figures").iterdir())) == len(FORMATS)


def test_a_folder_that_cannot_be_made_is_a_usage_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_record(RECORD, tmp_path / "record.json")
    (tmp_path / "taken").write_text("")
    place = f"{tmp_path}/taken/figures"
    assert execute(["report", f"{tmp_path}/record.json", "--figures", place]) == 2
    assert "cannot be made" in capsys.readouterr().err
