"""The programs of examples/process: they keep the protocol, and their verdict is the right one.

A correct one fails with probability 1e-6; the broken variant of each is its negative control.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from audit.run import Settings, run_audit
from audit.samplers.checking.check import check_sampler
from audit.verdict import Outcome

pytestmark = pytest.mark.heavy

FOLDER = Path(__file__).parent.parent / "examples" / "process"
CASES = ["article-three-tokens", "row-a", "row-b"]
LOOK = Settings(tier="smoke", epsilon=0.1)


def found(*names: str) -> str:
    """Returns the path of a program; without one, skips at home and fails in CI."""
    path = next(filter(None, map(shutil.which, names)), None)
    if path is None:
        reason = f"no {names[0]} on the path; install the distribution's package of that name"
        pytest.fail(reason) if os.environ.get("CI") else pytest.skip(reason)
    return path


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Returns the path of the compiled example in C."""
    path = tmp_path_factory.mktemp("process") / "ratio"
    flags = ["-O2", "-Wall", "-Wextra", "-Werror", "-o", str(path)]
    subprocess.run([found("gcc", "cc", "clang"), *flags, str(FOLDER / "ratio.c")], check=True)
    return str(path)


@pytest.fixture(scope="module", params=["C", "JavaScript"])
def command(request: pytest.FixtureRequest) -> str:
    """Returns the sampler's name for one of the examples."""
    if request.param == "C":
        return f"process:{request.getfixturevalue('program')}"
    return f"process:{found('nodejs', 'node')} {FOLDER / 'ratio.js'}"


def test_it_keeps_every_rule_of_contract_and_protocol(command):
    report = check_sampler(command)
    assert report.broken == ()
    assert {f.result for f in report.findings} <= {"kept", "skipped"}
    assert report.facts.declares == ("ratio",)


def test_it_is_certified(command):
    done = run_audit(command, cases=CASES, settings=LOOK)
    assert done.exit_code == 0
    assert {verdict.outcome for verdict in done.verdicts.values()} == {Outcome.PASS}
    assert done.record.cases[0].evidence is not None
    assert "ratio" in done.record.cases[0].evidence.rules_observed


def test_its_broken_variant_fails(command):
    mixes_rows = command.endswith(".js")
    cases = CASES[1:] if mixes_rows else CASES[:1]
    done = run_audit(f"{command} --broken", cases=cases, settings=LOOK)
    assert done.exit_code == 1
    said = " ".join(reason for v in done.verdicts.values() for reason in v.reasons)
    assert ("rows of a call are mixed up" in said) == mixes_rows
    assert check_sampler(f"{command} --broken").exit_code == (4 if mixes_rows else 0)


def test_a_run_can_be_resumed_and_repeated(command, tmp_path):
    settings = Settings(tier="smoke", limit=1000)
    one, same, again = (
        run_audit(command, cases=CASES[:1], settings=settings, run_dir=folder).record
        for folder in (tmp_path, tmp_path, None)
    )
    assert one.cases[0].counts == same.cases[0].counts == again.cases[0].counts
    assert sum(one.cases[0].counts.values()) == 1000


def test_the_transcript_of_the_document_is_what_is_said(program):
    text = (FOLDER.parent.parent / "docs" / "process.md").read_text(encoding="utf-8")
    asked, answered = (
        [line[2:] for line in text.splitlines() if line.startswith(mark)] for mark in ("> {", "< {")
    )
    given = "\n".join([*asked, ""])
    done = subprocess.run(program, input=given, text=True, capture_output=True, check=True)
    assert done.stdout.splitlines() == answered
