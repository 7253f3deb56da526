"""The pytest plugin in processes of their own, since a plugin cannot be tried out under itself.

Correct samplers run at alpha = 1e-6 an audit; the broken example is the negative control.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
MARKED = """
import pytest

CASES = ["article-three-tokens", "basis-1"]

@pytest.mark.draftproof(sampler="good.py:verify", cases=CASES, tier="smoke")
def test_good(): ...

@pytest.mark.draftproof(sampler="bad.py:verify", cases=[*CASES, "identical"], tier="smoke")
def test_bad(draftproof_case):
    assert draftproof_case.result.verdict.word == "PASS"  # the one that is blind

@pytest.mark.draftproof(sampler="rule:ratio", cases=["identical"], tier="smoke")
def test_blind(): ...

@pytest.mark.draftproof(sampler="rule:recursive-rejection", tier="smoke")
class TestTrees:
    def test_that_chains_do_not_fit(self): ...

@pytest.mark.draftproof(sampler="missing.py:verify", cases=CASES)
def test_missing(): ...

@pytest.mark.draftproof(sampler="rule:ratio", cases=["basis-1"], samples=50,
                        method="sampled")
def test_undecided(): ...
"""
BY_HAND = """
import torch
from audit.selection import select_cases

def mine(batch, generator):
    token = torch.multinomial(batch.target_probs[:, 0], 1, generator=generator)
    gamma = batch.draft_token_ids.shape[1]
    return torch.cat([token, torch.full((len(token), gamma), -1)], dim=1)

def test_a_callable_and_a_case_object(draftproof_audit):
    done = draftproof_audit(mine, cases=select_cases(["basis-1"]), tier="smoke")
    assert done.record.cases[0].id == "basis-1"

def test_broken(draftproof_audit):
    draftproof_audit("bad.py:verify", cases="article-three-tokens", tier="smoke")

def test_options(draftproof_audit):
    draftproof_audit(mine, cases=["basis-1"], tire="smoke")

def test_no_sampler(draftproof_audit):
    draftproof_audit(3)

def test_unmarked(draftproof_case): ...
"""

UNHEARD = """
import unittest
import pytest

audited = pytest.mark.draftproof(sampler="bad.py:verify", cases=["basis-1"], tier="smoke")

@audited
class TestOfAnotherKind(unittest.TestCase):
    def test_in_a_marked_class(self): ...

class TestMethod(unittest.TestCase):
    @audited
    def test_marked(self): ...

@pytest.mark.parametrize("one", ["plain", pytest.param("marked", marks=audited)])
def test_parameter(one): ...
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Returns a folder with a good and a bad sampler and a root file for pytest."""
    for name, example in (("good", "my_sampler"), ("bad", "broken_sampler")):
        text = (ROOT / "examples" / f"{example}.py").read_text()
        (tmp_path / f"{name}.py").write_text(text)
    (tmp_path / "pytest.ini").write_text("[pytest]\naddopts = --strict-markers\n")
    (tmp_path / "below").mkdir()
    return tmp_path


def outcome(folder: Path, *options: str, where: str = ".") -> tuple[dict[str, str], str]:
    """Returns how each test of the folder ended, by name, and all that pytest printed."""
    environment = {key: value for key, value in os.environ.items() if not key.startswith("PYTEST")}
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:draftproof", "-p", "draftproof_pytest",
         "-p", "no:cacheprovider", "-rA", "-q", *options],
        cwd=folder / where, capture_output=True, text=True, check=False,
        env={**environment, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    words = [line.split(" - ")[0].split() for line in done.stdout.splitlines()]
    kinds = ("PASSED", "FAILED", "ERROR", "SKIPPED")
    named = {
        line[1].rpartition("::")[2]: line[0] for line in words if line[:1] and line[0] in kinds
    }
    return named, done.stdout


def test_a_marker_makes_one_test_a_case(folder: Path) -> None:
    (folder / "test_it.py").write_text(MARKED)
    ended, said = outcome(folder)
    trees = [name for name in ended if name.startswith("test_that_chains_do_not_fit[")]
    assert {ended.pop(name) for name in trees} == {"FAILED"}
    assert "takes trees of independent siblings; select other cases (--cases trees" in said
    assert ended == {
        "test_good[article-three-tokens]": "PASSED",
        "test_good[basis-1]": "PASSED",
        "test_bad[article-three-tokens]": "FAILED",
        "test_bad[basis-1]": "FAILED",
        "test_bad[identical]": "PASSED",
        "test_blind[identical]": "FAILED",
        "test_missing[article-three-tokens]": "FAILED",
        "test_missing[basis-1]": "FAILED",
        "test_undecided[basis-1]": "FAILED",
    }
    assert "✗ FAIL  article-three-tokens  (bad.py:verify)" in said
    assert "first token 0: 2" in said
    assert "recovered token 0 at position 1: " in said
    assert "TV 0.0" in said
    assert "epsilon 0.05" in said
    alone = "draftproof run bad.py:verify --tier smoke --cases article-three-tokens"
    assert f"Audit this case alone: {alone}" in said
    assert "not testable: no selected case could see" in said
    assert "missing.py is not a file" in said
    assert "? INCONCLUSIVE  basis-1  (rule:ratio)" in said


def test_audits_by_hand(folder: Path) -> None:
    (folder / "test_it.py").write_text(BY_HAND)
    ended, said = outcome(folder)
    assert ended == {
        "test_a_callable_and_a_case_object": "PASSED",
        "test_broken": "FAILED",
        "test_options": "FAILED",
        "test_no_sampler": "FAILED",
        "test_unmarked": "ERROR",
    }
    assert 'draftproof_audit: tire is an unknown key; did you mean "tier"?' in said
    assert "sampler must be the name of a sampler or a function" in said
    assert "draftproof_case needs @pytest.mark.draftproof" in said


def test_paths_are_relative_to_the_root_and_workers_share_the_tests(folder: Path) -> None:
    (folder / "below" / "test_it.py").write_text(MARKED)
    ended, said = outcome(folder, "-k", "good", "-n", "2", "--dist", "loadfile", where="below")
    assert ended == {
        "test_good[article-three-tokens]": "PASSED",
        "test_good[basis-1]": "PASSED",
    }, said


def test_a_marker_that_asks_for_nothing_stops_the_collection(folder: Path) -> None:
    more = ["cases=['no-such-case']", "tire=1", "cases='small'", ")\n@pytest.mark.draftproof('x'"]
    markers = [f"sampler='rule:ratio', {one}" for one in more] + ["'rule:ratio', ['basis-1']"]
    files = [f"test_{number}.py" for number in range(len(markers))]
    for file, marker in zip(files, markers, strict=True):
        (folder / file).write_text(
            f"import pytest\n@pytest.mark.draftproof({marker})\ndef test_it(): ...\n"
        )
    ended, said = outcome(folder)
    assert ended == dict.fromkeys(files, "ERROR")
    assert "Traceback" not in said
    assert '"no-such-case" names no case' in said
    assert '@pytest.mark.draftproof: tire is an unknown key; did you mean "tier"?' in said
    assert '@pytest.mark.draftproof: cases is "small", but must be a list' in said
    assert "test_3.py::test_it has @pytest.mark.draftproof twice, and only one" in said
    assert "takes the sampler by its place and nothing else" in said


def test_a_marker_that_no_audit_hears_of_does_not_pass(folder: Path) -> None:
    (folder / "test_it.py").write_text(UNHEARD)
    ended, said = outcome(folder)
    assert ended == {
        "test_in_a_marked_class": "ERROR",
        "test_marked": "ERROR",
        "test_parameter[plain]": "PASSED",
        "test_parameter[marked]": "ERROR",
    }
    assert "audits nothing here: mark a test function" in said
    assert "Traceback" not in said


def test_a_start_without_audits_loads_nothing_of_ours() -> None:
    code = "import draftproof_pytest, sys; print(*(m for m in sys.modules if m[:5] == 'audit'))"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == []


def test_a_package_audit_of_the_users_own_is_left_alone(folder: Path) -> None:
    (folder / "audit").mkdir()
    (folder / "audit" / "__init__.py").write_text("OWN = True\n")
    (folder / "conftest.py").write_text("")  # makes pytest put this folder first
    (folder / "test_own.py").write_text("import audit\ndef test_own(): assert audit.OWN\n")
    marked = "import pytest, audit\n@pytest.mark.draftproof('rule:ratio')\ndef test_it(): ...\n"
    (folder / "test_marked.py").write_text(marked)
    ended, said = outcome(folder, "--continue-on-collection-errors")
    assert ended == {"test_own": "PASSED", "test_marked.py": "ERROR"}
    assert "named `audit` hides its own" in " ".join(said.split())


def test_a_package_installs_the_plugin_beside_audit() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    wheel = project["tool"]["hatch"]["build"]["targets"]["wheel"]["force-include"]
    (module,) = project["project"]["entry-points"]["pytest11"].values()
    assert wheel[f"audit/entry/{module}.py"] == f"{module}.py"
