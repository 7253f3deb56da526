"""Every form that a result can be written in, several in one run, and what GitHub is told.

Runs use the default alpha: a correct sampler is accused with a chance of at most 1e-6 each. The
negative control is a fault that must fail.
"""

from __future__ import annotations

import csv
import io
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import sample_record as sample
from junitparser import JUnitXml

from audit.cli import execute
from audit.cli.output import FORMS
from audit.recordfile import read_record, write_record

ROOT = Path(__file__).resolve().parent.parent
OPTIONS = [f"--{name.replace('_', '-')}" for name in FORMS]
SMOKE = ["--cases", "article-three-tokens", "--tier", "smoke", "-q"]


@pytest.fixture
def record(tmp_path: Path) -> Path:
    """Returns the path of a record with a failure."""
    audit = sample.audit("verify.py:verify", sample.bad(), sample.good())
    write_record(sample.record(audit, exit_code=1), tmp_path / "record.json")
    return tmp_path / "record.json"


def asked_for(folder: Path) -> list[str]:
    """Returns options that write every form into the folder."""
    return [part for option in OPTIONS for part in (option, str(folder / option[2:]))]


def test_every_form_is_written_in_one_run(record: Path, tmp_path: Path) -> None:
    folder = tmp_path / "all"
    folder.mkdir()
    assert execute(["report", str(record), "-q", *asked_for(folder)]) == 0
    assert {f"--{path.name}" for path in folder.iterdir()} == set(OPTIONS)
    assert read_record(folder / "json") == read_record(folder / "html") == read_record(record)
    assert JUnitXml.fromfile(str(folder / "junit")).failures == 1
    assert json.loads((folder / "sarif").read_text())["version"] == "2.1.0"
    assert len(json.loads((folder / "code-quality").read_text())) == 1


@pytest.mark.parametrize("option", OPTIONS)
def test_any_form_can_stand_on_stdout_alone(
    record: Path, option: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert execute(["report", str(record), "-q", option, str(tmp_path / "file")]) == 0
    capsys.readouterr()
    assert execute(["report", str(record), option, "-", "--color", "always"]) == 0
    out, err = capsys.readouterr()
    assert out == (tmp_path / "file").read_text(encoding="utf-8")
    assert err == ""


@pytest.mark.parametrize(
    "arguments",
    [
        ["--junit", "-", "--sarif", "-"],
        ["--csv", "x", "--code-quality", "x"],
        ["--markdown", "missing/summary.md"],
        ["--code-quality", "."],
    ],
)
def test_a_bad_place_is_refused_before_the_run(
    arguments: list[str], capsys: pytest.CaptureFixture[str], tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    assert execute(["run", "no:such.sampler", *arguments]) == 2
    said = capsys.readouterr().err
    assert "sampler" not in said
    assert arguments[-1] in said
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("sampler", "code", "failures"), [("rule:ratio", 0, 0), ("fault:always-accept", 1, 1)]
)
def test_the_exit_code_is_the_same_whatever_is_written(
    sampler: str, code: int, failures: int, tmp_path: Path
) -> None:
    assert execute(["run", sampler, *SMOKE]) == code
    assert execute(["run", sampler, *SMOKE, *asked_for(tmp_path)]) == code
    assert JUnitXml.fromfile(str(tmp_path / "junit")).failures == failures
    assert len(json.loads((tmp_path / "sarif").read_text())["runs"][0]["results"]) == failures
    (row,) = csv.DictReader(io.StringIO((tmp_path / "csv").read_text()))
    assert row["verdict"] == ("FAIL" if failures else "PASS")


def test_a_result_points_at_the_line_of_a_file_of_ones_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / "code").mkdir()
    text = "import torch\n\n\ndef verify(batch, generator):\n    return batch.draft_token_ids * 0\n"
    (tmp_path / "code" / "mine.py").write_text(text)
    monkeypatch.chdir(tmp_path / "code")
    assert execute(["run", "mine.py:verify", *SMOKE, "--code-quality", "found.json"]) == 4
    (entry,) = json.loads((tmp_path / "code" / "found.json").read_text())
    assert entry["location"] == {"path": "code/mine.py", "lines": {"begin": 4}}


def test_github_is_told_after_the_result(
    record: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    summary = tmp_path / "summary.md"
    summary.write_text("Before.\n")
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))
    for _ in range(2):
        assert execute(["report", str(record), "-q"]) == 0
    verdict, annotation = capsys.readouterr().out.splitlines()[:2]
    assert verdict.startswith("✗ FAIL")
    assert annotation.startswith("::error file=verify.py,line=1,title=")
    text = summary.read_text(encoding="utf-8")
    assert text.startswith("Before.\n\n### ✗ FAIL")
    assert text.count("### ✗ FAIL") == 2


@pytest.mark.parametrize("option", OPTIONS)
def test_a_form_on_stdout_stays_pure_in_github_actions(
    record: Path, option: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    execute(["report", str(record), option, "-"])
    assert "::error file=" not in capsys.readouterr().out


def test_a_run_that_passed_prints_no_empty_annotation(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    write_record(sample.record(), tmp_path / "r.json")
    assert execute(["report", str(tmp_path / "r.json"), "-q"]) == 0
    assert capsys.readouterr().out.count("\n") == 1


@pytest.mark.parametrize("place", ["missing/summary.md", "."])
def test_a_summary_that_cannot_be_written_fails_nothing(
    record: Path, place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path / place))
    assert execute(["report", str(record), "-q"]) == 0
    assert "no step summary was written" in capsys.readouterr().err


def test_reports_of_twenty_cases_take_less_than_3_seconds_of_processor_time(
    tmp_path: Path,
) -> None:
    cases = [sample.bad().model_copy(update={"id": f"case-{number}"}) for number in range(20)]
    write_record(sample.record(sample.audit("s", *cases)), tmp_path / "r.json")
    forms = [part for name in ("html", "junit", "sarif", "markdown")
             for part in (f"--{name}", str(tmp_path / name))]  # fmt: skip
    before = os.times()
    subprocess.run(
        [sys.executable, "-m", "audit", "report", str(tmp_path / "r.json"), "-q", *forms],
        cwd=ROOT, capture_output=True, check=True,
    )  # fmt: skip
    after = os.times()
    used = (after.children_user + after.children_system) - (
        before.children_user + before.children_system
    )
    assert used < 3, f"{used:.2f} s"
