"""The shell around the commands: exit codes, colour, progress, files, pipes."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import click
import pytest
import sample_record as sample

from audit.cli import execute, progress
from audit.cli.exits import exit_code_of
from audit.cli.parameters import MOST_SEED
from audit.errors import CaseError, DraftproofError, SamplerError, UsageError
from audit.progress import Progress
from audit.recordfile import read_record, write_record

ROOT = Path(__file__).resolve().parent.parent
STATE = Progress(1_000, 20_000, "article-three-tokens", -2.3, 14.5, "audit")


@pytest.fixture
def record(tmp_path: Path) -> Path:
    """Returns the path of a record."""
    write_record(sample.record(), tmp_path / "record.json")
    return tmp_path / "record.json"


def raising(error: BaseException) -> int:
    """Returns the exit code of work that raises."""

    def work() -> None:
        raise error

    return exit_code_of(work)


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (UsageError("no"), 2),
        (CaseError("one", "two"), 2),
        (click.UsageError("no"), 2),
        (SamplerError("no"), 4),
        (KeyboardInterrupt(), 130),
        (click.Abort(), 130),
    ],
)
def test_an_error_has_its_exit_code(error: BaseException, code: int) -> None:
    assert raising(error) == code


@pytest.mark.parametrize(
    "command",
    [
        ["run", "reference"],
        ["step", "reference"],
        ["state", "reference"],
        ["law", "reference"],
        ["samplers", "check", "reference"],
        ["export", "basis-1", "--sampler", "examples/my_sampler.py:verify"],
        ["selftest"],
    ],
    ids=lambda command: command[0],
)
def test_a_seed_that_no_generator_takes_is_refused_in_a_sentence(
    command: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert execute([*command, "--seed", str(MOST_SEED + 1)]) == 2
    said = f"'--seed': {MOST_SEED + 1} is above {MOST_SEED}, the largest seed."
    assert said in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["law", "NAME"], "no sampler is named 'xxx"),
        (["run", "rule:ratio", "--declares", "NAME"], 'xxx": the nearest of'),
        (["run", "NAME:verify"], "xxx' can be imported from here."),
        (["report", "NAME"], "xxx cannot be read: "),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_a_name_of_ten_thousand_letters_leaves_room_for_the_rest_of_the_sentence(
    arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    given = [one.replace("NAME", "x" * 10_000) for one in arguments]
    assert execute([*given, *["--no-config"] * (arguments[0] == "run")]) == 2
    shown = capsys.readouterr().err
    assert said in shown
    assert len(shown) < 1_000


def test_the_largest_seed_can_be_used(capsys: pytest.CaptureFixture[str]) -> None:
    assert execute(["samplers", "check", "reference", "--seed", str(MOST_SEED)]) == 0
    assert "the contract is kept" in capsys.readouterr().out


@pytest.mark.parametrize("error", [ValueError("odd\nthing"), DraftproofError("odd thing")])
def test_a_defect_is_one_sentence_and_a_log(
    error: Exception, capsys: pytest.CaptureFixture[str]
) -> None:
    assert raising(error) == 70
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    log = Path(said.split()[-1])
    assert "Traceback" in log.read_text()
    log.unlink()


def test_every_problem_of_a_case_file_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    raising(CaseError("one", "two"))
    assert capsys.readouterr().err == "draftproof: one\ndraftproof: two\n"


def test_an_error_about_a_hostile_name_is_harmless(capsys: pytest.CaptureFixture[str]) -> None:
    name = sample.HOSTILE.replace("\x00", "")  # no argument can hold a zero
    assert execute(["report", name[:80]]) == 2
    assert execute(["cases", "show", name]) == 2
    said = capsys.readouterr().err
    assert not any(sign in said for sign in "\x1b\u202e\x00")
    assert max(map(len, said.splitlines())) < 2_100


@pytest.mark.parametrize(
    ("arguments", "environment", "coloured"),
    [
        ([], {}, False),
        ([], {"FORCE_COLOR": "1"}, True),
        ([], {"FORCE_COLOR": "1", "NO_COLOR": "1"}, False),
        (["--color", "always"], {"NO_COLOR": "1"}, True),
        (["--color", "never"], {"FORCE_COLOR": "1"}, False),
        (["--color", "auto"], {"FORCE_COLOR": "1"}, True),
    ],
)
@pytest.mark.parametrize("place", ["before", "after"])
def test_colour(
    record: Path,
    arguments: list[str],
    environment: dict[str, str],
    coloured: bool,
    place: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    for name in ("NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    command = ["report", str(record)]
    assert execute(arguments + command if place == "before" else command + arguments) == 0
    assert ("\x1b[" in capsys.readouterr().out) is coloured


def test_json_on_stdout_is_pure(record: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert execute(["report", str(record), "--json", "-", "--color", "always"]) == 0
    out, err = capsys.readouterr()
    assert json.loads(out)["schema_number"] == 1
    assert err == ""


def test_a_page_is_written_and_read_back(record: Path, tmp_path: Path) -> None:
    page = tmp_path / "report.html"
    assert execute(["report", str(record), "-q", "--html", str(page)]) == 0
    assert read_record(page) == read_record(record)


@pytest.mark.parametrize(
    "arguments",
    [
        ["--json", "missing/r.json"],
        ["--html", "."],
        ["--json", "-", "--html", "-"],
        ["--json", "x", "--html", "x"],
    ],
)
def test_a_bad_place_is_refused_before_anything_else(
    arguments: list[str], capsys: pytest.CaptureFixture[str], tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    assert execute(["run", "no:such.sampler", *arguments]) == 2
    assert "sampler" not in capsys.readouterr().err


def test_a_reader_that_leaves_ends_quietly(record: Path) -> None:
    pipe = subprocess.run(
        f"'{sys.executable}' -m audit report '{record}' --json - | head -c 1",
        shell=True, cwd=ROOT, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert pipe.stderr == ""


def test_an_option_can_stand_in_the_environment(
    record: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("DRAFTPROOF_REPORT_QUIET", "1")
    assert execute(["report", str(record)]) == 0
    assert capsys.readouterr().out.count("\n") == 1


def test_progress_is_a_line_now_and_then(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(progress, "SECONDS_BETWEEN_LINES", 0.0)
    with progress.shown(quiet=False) as report:
        assert report is not None
        report(replace(STATE, done_trials=0))
        report(STATE)
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith(
        "audit: 1,000 of about 20,000 trials, article-three-tokens, evidence 1e-1.0 of 1e6.3, "
    )
    assert err.count("\n") == 1


def test_progress_tells_of_laws_that_are_read(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = iter([0.0, 40.0, 41.0])
    monkeypatch.setattr(progress.time, "monotonic", lambda: next(clock))
    lines = progress._Lines()
    for state in (replace(STATE, laws=(0, 26)), replace(STATE, laws=(4, 26)), STATE):
        lines(state)  # the trials that follow are another stage, with a speed of its own
    assert capsys.readouterr().err == (
        "audit, laws: 4 of 26, article-three-tokens, about 220 s left\n"
    )


@pytest.mark.parametrize(
    ("done", "deadline", "left"),
    [
        (1_500, None, ", about 190 s left"),
        (1_500, 150.0, ", about 50 s left"),
        (1_500, 90.0, ", about 0 s left"),
        (400, None, ""),  # below 2 % of all
        (400, 150.0, ", about 50 s left"),
    ],
)
def test_what_is_left_goes_by_the_speed_of_late_and_ends_at_the_limit(
    done: int, deadline: float | None, left: str, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    # The last 1,200 trials took 12 s, whatever time the 300 before took: 19,000 are left.
    clock = iter([0.0, 88.0, 100.0])
    monkeypatch.setattr(progress, "SECONDS_BETWEEN_LINES", 10.0)
    monkeypatch.setattr(progress.time, "monotonic", lambda: next(clock))
    lines = progress._Lines()
    for made in (0, 300, done):
        lines(replace(STATE, done_trials=made, expected_trials=20_500, deadline=deadline))
    assert capsys.readouterr().err.splitlines()[-1].endswith(f"evidence 1e-1.0 of 1e6.3{left}")


def test_a_short_run_says_nothing_and_quiet_says_nothing(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with progress.shown(quiet=False) as report:
        assert report is not None
        report(STATE)
    with progress.shown(quiet=True) as report:
        assert report is None
    assert capsys.readouterr() == ("", "")


def test_the_bar_shows_trials_and_evidence(monkeypatch: pytest.MonkeyPatch) -> None:
    from rich.console import Console

    console = Console(force_terminal=True, width=140, record=True, file=io.StringIO())
    monkeypatch.setattr("rich.console.Console", lambda **_: console)
    with progress._bar() as bar:
        progress._bar_report(bar)(replace(STATE, laws=(3, 26)))
        progress._bar_report(bar)(STATE)
    shown = console.export_text()
    assert "3/26" in shown
    assert "1,000/20,000 trials" in shown
    assert "evidence 1e-1.0 of 1e6.3" in shown
