"""`run` and `rerun` on real samplers: verdict, exit code, files, interruption.

Runs use the default alpha: a correct sampler is accused with a chance of at most 1e-6 each. The
negative controls are the faults that must fail.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from audit.cli import execute
from audit.recordfile import read_record

CASE = ["--cases", "article-three-tokens"]
ROOT = Path(__file__).resolve().parent.parent
SMOKE = [*CASE, "--tier", "smoke"]
SAMPLERS = """
import signal
import torch

def empty(batch, generator):
    return torch.full((len(batch.draft_token_ids), 3), -1)

def crashing(batch, generator):
    raise RuntimeError("the sampler's own words")

calls = 0

def interrupting(batch, generator):
    global calls
    calls += 1
    if calls == 80:
        signal.raise_signal(signal.SIGINT)
    p = batch.target_probs[:, 0]
    token = torch.multinomial(p, 1, generator=generator)
    return torch.cat([token, torch.full((len(token), 2), -1)], dim=1)
"""


@pytest.fixture
def samplers(tmp_path: Path) -> Path:
    """Returns a file of a user's samplers."""
    (tmp_path / "mine.py").write_text(SAMPLERS)
    return tmp_path / "mine.py"


def test_a_correct_sampler_passes_beside_a_control_that_fails(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert execute(["run", "rule:ratio", *SMOKE, "--control", "full-target-fallback"]) == 0
    out = capsys.readouterr().out
    assert "✓ PASS  rule:ratio: " in out
    assert "Control ✗ FAIL  fault:full-target-fallback: " in out


def test_a_fault_fails_and_exit_zero_only_reports() -> None:
    assert execute(["run", "fault:always-accept", *SMOKE, "-q"]) == 1
    assert execute(["run", "fault:always-accept", *SMOKE, "-q", "--exit-zero"]) == 0


@pytest.mark.parametrize(
    "arguments",
    [
        ["nothing-of-that-name"],
        ["rule:nothing"],
        ["rule:ratio", "--cases", "nothing"],
        ["rule:ratio", "--control", "nothing"],
        ["rule:ratio", *CASE, "--control", "bonus-missing"],
        ["rule:ratio", *CASE, "--declares", "nothing"],
        ["rule:ratio", "--epsilon", "nan"],
        ["rule:ratio", "--alpha", "1"],
        ["rule:ratio", "--time-limit", "inf"],
        ["rule:ratio", "--batch-size", "0"],
        ["rule:ratio", "--samples", "0"],
        [],
    ],
)
def test_what_cannot_be_run_exits_2(arguments: list[str]) -> None:
    assert execute(["run", *arguments]) == 2


def test_an_undecided_run_exits_3() -> None:
    few = ["run", "rule:ratio", *CASE, "--samples", "50", "-q"]
    assert execute(few) == 3
    assert execute([*few, "--method", "both"]) == 0  # its law is read off the code, which decides
    assert execute(["run", "rule:ratio", *CASE, "--limit", "50", "-q"]) == 3


@pytest.mark.parametrize("name", ["empty", "crashing"])
def test_a_sampler_that_breaks_its_contract_exits_4(
    samplers: Path, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert execute(["run", f"{samplers}:{name}", *SMOKE, "--in-process", "-v"]) == 4
    assert "! ERROR" in capsys.readouterr().out


def test_a_traceback_is_for_verbose_and_the_record(
    samplers: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["run", f"{samplers}:crashing", *SMOKE, "--in-process"]
    execute([*command, "--json", str(tmp_path / "r.json")])
    assert "Traceback" not in capsys.readouterr().out
    execute([*command, "-v"])
    assert "Traceback" in capsys.readouterr().out
    assert "Traceback" in read_record(tmp_path / "r.json").cases[0].detail


def test_an_interrupted_run_keeps_what_was_measured(samplers: Path, tmp_path: Path) -> None:
    command = ["run", f"{samplers}:interrupting", "--in-process", "--method", "sampled", *CASE]
    assert execute([*command, "--json", str(tmp_path / "r.json"), "-q"]) == 130
    record = read_record(tmp_path / "r.json")
    assert record.exit_code == 130
    assert sum(record.cases[0].counts.values()) > 0


def test_json_alone_stands_on_stdout(capsys: pytest.CaptureFixture[str]) -> None:
    assert execute(["run", "rule:ratio", *SMOKE, "--json", "-"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert data["exit_code"] == 0
    assert data["command"].startswith("draftproof run rule:ratio --cases")
    assert sum(data["cases"][0]["counts"].values()) == data["cases"][0]["evidence"]["trials"]


def test_a_repeated_run_counts_the_same(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    first, second = tmp_path / "a.json", tmp_path / "b.json"
    execute(["run", "rule:block", *SMOKE, "--seed", "7", "--json", str(first), "-q"])
    assert execute(["rerun", str(first), "--json", str(second), "-q"]) == 0
    assert "same counts as in the record" in capsys.readouterr().err
    assert read_record(second).cases[0].counts == read_record(first).cases[0].counts


def test_a_repeated_run_of_other_code_says_so_beside_the_counts(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first, mine = tmp_path / "a.json", tmp_path / "mine.py"
    mine.write_text((ROOT / "examples" / "my_sampler.py").read_text())
    command = ["run", f"{mine}:verify", *SMOKE, "--method", "sampled", "--in-process", "-q"]
    assert execute([*command, "--json", str(first)]) == 0
    mine.write_text(f"{mine.read_text()}# a comment\n")
    assert execute(["rerun", str(first), "-q"]) == 1
    said = capsys.readouterr().err
    assert "same counts as in the record, but not the same code: the sampler's code (" in said
