"""A finding as a script: run by itself it sees the bias of a fault, and none of a correct sampler.

A script accuses a correct sampler with a chance of at most 1e-6 (Chernoff's bound over all tokens).
"""

from __future__ import annotations

import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

from audit.cli import execute
from audit.cli.parameters import MOST_SEED
from audit.exact.engine import completed_law, target_law
from audit.render.export import export_script
from audit.samplers.registry import load_sampler
from audit.selection import select_cases

ROOT = Path(__file__).resolve().parent.parent
OURS = """
from audit.samplers.rules import sampler_of
verify = sampler_of("{rule}")
verify.draftproof = {{"trees": ["{drafting}"]}}
"""
WRONG = """
import torch

class Verifier:
    def __call__(self, batch, generator):
        gamma = batch.draft_token_ids.shape[1]
        return batch.draft_token_ids, torch.full((len(batch.draft_token_ids),), gamma)

class Holder:
    nested = Verifier
"""


def exported(
    folder: Path, case: str, sampler: str, *, rounds: int = 100_000, seed: int = 3
) -> Path:
    """Returns the script that reproduces `sampler` on `case`."""
    (chosen,) = select_cases([case])
    script = folder / "reproduce.py"
    loaded = load_sampler(sampler, in_process=True)
    script.write_text(export_script(chosen, loaded, rounds=rounds, seed=seed))
    return script


def ran(script: Path) -> tuple[int, str]:
    """Returns the exit code of the script in a plain process, and what it printed."""
    done = subprocess.run(
        [sys.executable, "-I", "-W", "error", str(script)],
        cwd=script.parent, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.stderr == ""
    return done.returncode, done.stdout


def ran_here(script: Path, capsys: pytest.CaptureFixture[str]) -> tuple[int, str]:
    """Returns the exit code of the script in this process, and what it printed."""
    with pytest.raises(SystemExit) as ended:
        runpy.run_path(str(script))
    assert isinstance(ended.value.code, int)
    return ended.value.code, capsys.readouterr().out


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Returns the current folder, which holds the examples' samplers."""
    for name in ("my_sampler.py", "broken_sampler.py"):
        (tmp_path / name).write_text((ROOT / "examples" / name).read_text())
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    return tmp_path


def test_the_bias_of_a_fault_is_seen_without_draftproof(folder: Path) -> None:
    script = exported(folder, "article-three-tokens", "broken_sampler.py:verify")
    text = script.read_text()
    assert "audit" not in text
    assert re.findall("^(?:from|import) (.*?)(?: import.*)?$", text, re.MULTILINE) == [
        "itertools, math, operator, os, runpy, sys",
        "collections",
        "types",
        "torch",
    ]
    assert len(text.splitlines()) <= 80
    code, said = ran(script)
    assert code == 1
    assert "BIASED" in said
    assert "token 0 after []" in said
    assert ": 0.2" in said
    # 39/500, the exact distance of the fault; the estimate of 100,000 rounds is within .01 of it.
    (case,) = select_cases(["article-three-tokens"])
    exact = completed_law(case, "full-target-fallback").total_variation(target_law(case))
    found = re.search(r"to the target ([0-9.]+)", said)
    assert found is not None
    assert float(found[1]) == pytest.approx(float(exact), abs=0.01)


def test_a_correct_sampler_shows_none(folder: Path) -> None:
    script = exported(folder, "prefix-dependent-2", "my_sampler.py:verify")
    code, said = ran(script)
    assert (code, said.splitlines()[-1]) == (0, "no bias seen")


def test_a_script_runs_with_the_largest_seed(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    script = exported(folder, "basis-1", "my_sampler.py:verify", rounds=50, seed=MOST_SEED)
    assert ran_here(script, capsys)[0] == 0


def test_a_module_a_class_and_an_impossible_token_are_met(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "package").mkdir()
    (folder / "package" / "decoding.py").write_text(WRONG)
    sampler = "package.decoding:Holder.nested"
    code, said = ran_here(exported(folder, "target-zero", sampler, rounds=300), capsys)
    assert code == 1
    assert "10^-inf" in said


@pytest.mark.parametrize(
    ("case", "right", "wrong"),
    [
        ("tree-basis", "recursive-rejection", "siblings-full-target-fallback"),
        ("tree-two-levels", "recursive-rejection-distinct", "distinct-full-target-fallback"),
        ("tree-fixed", "target-only", "fixed-full-target-fallback"),
    ],
)
def test_drafts_of_a_tree_are_drawn_as_they_should(
    folder: Path, case: str, right: str, wrong: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (chosen,) = select_cases([case])
    for rule, expected in ((right, 0), (wrong, 1)):
        (folder / "ours.py").write_text(OURS.format(rule=rule, drafting=chosen.drafting))
        script = exported(folder, case, "ours.py:verify", rounds=20_000)
        assert ran_here(script, capsys)[0] == expected, rule


def test_the_script_goes_to_stdout_or_into_a_file(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["export", "basis-1", "--sampler", "my_sampler.py:verify", "--rounds", "7"]
    assert execute(command) == 0
    printed = capsys.readouterr().out
    assert "ROUNDS, ROWS, SEED = 7, 7, 0" in printed
    assert execute([*command, "--out", "script.py"]) == 0
    assert (folder / "script.py").read_text().strip() == printed.strip()


def test_hostile_names_stay_text(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    case = (ROOT / "cases" / "basis-1.toml").read_text()
    hostile = re.sub(
        "^why = .*$", 'why = "# import os \\"\\"\\" {{ 1 }} {% if %}"', case, flags=re.M
    )
    (folder / "mine.toml").write_text(hostile)
    (folder / 'it\'s "1".py').write_text((folder / "my_sampler.py").read_text())
    script = exported(folder, "mine.toml", 'it\'s "1".py:verify', rounds=50)
    code, said = ran_here(script, capsys)
    assert (code, said.splitlines()[-1]) == (0, "no bias seen")


@pytest.mark.parametrize(
    ("case", "sampler", "said"),
    [
        ("basis-1", "fault:always-accept", "is a part of draftproof"),
        ("basis-1", "reference", "is a part of draftproof"),
        ("basis-1", "missing.py:verify", "missing.py is not a file"),
        ("zipf-1000", "my_sampler.py:verify", "above the bound of 100,000"),
        ("small", "my_sampler.py:verify", "name one"),
        ("tree-basis", "my_sampler.py:verify", "drafts trees"),
    ],
)
def test_what_cannot_be_exported_is_refused(
    folder: Path, case: str, sampler: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert execute(["export", case, "--sampler", sampler]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert said in err
