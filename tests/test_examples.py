"""The examples are run: the shell steps of workflow and action, the hook, the gate, the adapter.

Correct samplers run at alpha = 1e-6; the broken example in the gate is the negative control.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from audit.cli import execute
from audit.recordfile import read_record

ROOT = Path(__file__).resolve().parent.parent
EXAMPLES = ROOT / "examples"
SHIMS = {
    "draftproof": f'exec "{sys.executable}" -m audit "$@"',
    "pip": 'echo "$@" >> pip.log',
}
QUICK = {"DRAFTPROOF_RUN_TIER": "smoke", "DRAFTPROOF_RUN_CASES": "basis-1"}


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Returns a project with a package, the current folder; pip and draftproof are scripts."""
    programs, folder = tmp_path / "bin", tmp_path / "project"
    for name, line in SHIMS.items():
        programs.mkdir(exist_ok=True)
        (programs / name).write_text(f"#!/bin/sh\n{line}\n")
        (programs / name).chmod(0o755)
    (folder / "my_package").mkdir(parents=True)
    for name in ("my_sampler.py", "broken_sampler.py", "draftproof.toml", "test_gate.py"):
        (folder / name).write_bytes((EXAMPLES / name).read_bytes())
    (folder / "my_package" / "decoding.py").write_bytes((EXAMPLES / "my_sampler.py").read_bytes())
    monkeypatch.setenv("PATH", f"{programs}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.chdir(folder)
    return folder


def ran(script: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Returns a finished shell step, run as GitHub runs one."""
    return subprocess.run(
        ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script],
        env={**os.environ, **QUICK, **environment}, capture_output=True, text=True, check=False,
    )  # fmt: skip


def read(name: str) -> Any:
    """Returns a YAML file of the examples."""
    return yaml.safe_load((EXAMPLES / name).read_text(encoding="utf-8"))


def environment_of(step: dict[str, Any], **inputs: str) -> dict[str, str]:
    """Returns the variables of a step, its inputs filled in."""
    found = step.get("env", {}).items()
    return {
        key: re.sub(r"\$\{\{ inputs\.(\w+) \}\}", lambda m: inputs[m[1]], v) for key, v in found
    }


def test_the_steps_of_the_workflow_run(project: Path) -> None:
    workflow = read("ci.yml")
    install, audit = (step["run"] for step in workflow["jobs"]["audit"]["steps"] if "run" in step)
    package = workflow["jobs"]["audit"]["env"]["DRAFTPROOF_PACKAGE"]
    assert ran(install, DRAFTPROOF_PACKAGE="a wheel.whl").returncode == 0
    assert (project / "pip.log").read_text() == "install a wheel.whl .\n"
    assert package == "${{ vars.DRAFTPROOF_PACKAGE }}"
    done = ran(audit)
    assert done.returncode == 0, done.stderr
    uploaded = workflow["jobs"]["audit"]["steps"][-1]["with"]["path"].split()
    assert all((project / name).stat().st_size for name in uploaded)
    assert read_record(project / "record.json").settings.control == "full-target-fallback"


@pytest.mark.parametrize(
    ("sampler", "options", "code"),
    [("", "", 0), ("broken_sampler.py:verify", "--no-config --tier smoke", 1)],
)
def test_the_steps_of_the_action_run(project: Path, sampler: str, options: str, code: int) -> None:
    action = read("action/action.yml")
    install, audit, upload = action["runs"]["steps"]
    inputs = {"package": "git+https://example.org/x", "sampler": sampler, "options": options}
    assert set(inputs) | {"folder"} == set(action["inputs"])
    assert "${{" not in install["run"] + audit["run"]  # what is given stays out of the script
    assert ran(install["run"], **environment_of(install, **inputs)).returncode == 0
    assert (project / "pip.log").read_text() == "install git+https://example.org/x\n"
    done = ran(audit["run"], **environment_of(audit, **inputs))
    assert done.returncode == code, done.stderr
    results = project / Path(upload["with"]["path"]).name
    assert {path.name for path in results.iterdir()} == {"record.json", "report.html", "junit.xml"}


def test_the_hook_runs(project: Path) -> None:
    (hook,) = read("pre-commit.yml")["repos"][0]["hooks"]
    assert hook["pass_filenames"] is False
    done = subprocess.run(
        shlex.split(hook["entry"]), env={**os.environ, **QUICK}, capture_output=True, text=True,
        check=True,
    )  # fmt: skip
    assert done.stdout.startswith("✓ PASS  my_sampler.py:verify: ")


def test_the_gate_runs(project: Path) -> None:
    (project / "pytest.ini").write_text("[pytest]\naddopts = --strict-markers\n")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:draftproof", "-p", "draftproof_pytest",
         "-p", "no:cacheprovider", "-q", "test_gate.py"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert "5 passed" in done.stdout, done.stdout


def test_the_adapter_of_the_documentation_passes(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("transformers")
    code = re.search(r"```python\n(.*?)```", (ROOT / "docs" / "adapters.md").read_text(), re.DOTALL)
    assert code is not None
    (project / "adapter.py").write_text(code[1])
    command = ["run", "adapter.py:verify", "--in-process", "--tier", "smoke", "-q"]
    assert execute([*command, "--no-config", "--cases", "basis-1"]) == 0
    assert "PASS" in capsys.readouterr().out
