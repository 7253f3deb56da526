"""Records of other commands than `run`: told by their kind, and shown again."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from audit.cli import execute

ROUND = {
    "draft_token_ids": [0],
    "emitted_token_ids": [1],
    "target_probs": [[0.25, 0.75], [0.5, 0.5]],
    "draft_probs": [[0.75, 0.25]],
}
COMMANDS = {
    "state": ["reference", "--cases", "basis-1", "--sequences", "40", "--watched", "2"],
    "step": ["reference", "--cases", "basis-1", "--limit", "100"],
    "law": ["rule:ratio", "--cases", "basis-1", "--coupled", "100"],
    "trace": ["rounds.jsonl", "--limit", "1"],
}


@pytest.fixture(scope="module")
def records(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Returns a folder with a record of each command, and the text that it printed."""
    folder = tmp_path_factory.mktemp("records")
    (folder / "rounds.jsonl").write_text(json.dumps(ROUND) + "\n")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        for command, given in COMMANDS.items():
            assert execute([command, *given, "-q", "--exit-zero", "--json", f"{command}.json"]) == 0
    return folder


@pytest.mark.parametrize("command", COMMANDS)
def test_each_is_shown_as_its_command_shows_it(
    records: Path, command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path = str(records / f"{command}.json")
    assert execute(["report", path]) == 0
    text = capsys.readouterr().out
    assert execute(["report", path, "-q"]) == 0
    (line,) = capsys.readouterr().out.splitlines()
    assert " ".join(line.split()) in " ".join(text.split())  # the text is wrapped
    assert len(text.splitlines()) > 3
    assert execute(["report", path, "--json", "-"]) == 0
    assert json.loads(capsys.readouterr().out) == json.loads(Path(path).read_text())


def test_what_one_kind_alone_has(
    records: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "step.html"
    assert execute(["report", str(records / "step.json"), "-q", "--html", str(page)]) == 0
    assert page.read_text().startswith("<!doctype html>")
    assert execute(["report", str(records / "law.json"), "-v"]) == 0
    capsys.readouterr()
    assert execute(["report", str(records / "law.json"), "--html", str(page)]) == 2
    said = capsys.readouterr().err
    assert "law.json is a record of `draftproof law`, for which there is no --html" in said


@pytest.mark.parametrize("command", COMMANDS)
def test_where_a_run_is_wanted_the_kind_is_told(
    records: Path, command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path = records / f"{command}.json"
    assert execute(["rerun", str(path)]) == 2
    assert capsys.readouterr().err == (
        f"draftproof: {path} is a record of `draftproof {command}`, not of `draftproof run`; "
        f"`draftproof report {path}` shows it.\n"
    )


def test_a_damaged_one_is_refused(
    records: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    damaged = tmp_path / "law.json"
    damaged.write_text((records / "law.json").read_text().replace('"alpha"', '"alfa"'))
    assert execute(["report", str(damaged)]) == 2
    assert "is not a draftproof record: settings.alfa" in capsys.readouterr().err
