"""A run directory given again: evidence adds up, failures stay, every attempt is listed.

Correct samplers run at alpha = 1e-6 each; the negative controls are samplers that fail once.
"""

from __future__ import annotations

import dataclasses
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from audit.attempts import attempts_in
from audit.cli import execute
from audit.errors import UsageError
from audit.record import Record
from audit.recordfile import read_record
from audit.run import run_audit
from audit.settings import Settings
from audit.verdict import Outcome

ROOT = Path(__file__).resolve().parent.parent
CASES = ["article-three-tokens", "prefix-dependent-2"]
SMALL = Settings(tier="smoke", epsilon=0.03, method="sampled")
LARGE = dataclasses.replace(SMALL, tier="ci")
CHANGING = """
import os
import time
import torch
from pathlib import Path

MEND = Path(__file__).with_name("mended")
calls = 0

def tokens(batch, generator, weights):
    first = torch.multinomial(weights, 1, generator=generator)
    return torch.cat([first, torch.full((len(first), batch.draft_probs.shape[1]), -1)], dim=1)

def target(batch, generator):
    return tokens(batch, generator, batch.target_probs[:, 0])

def biased_at_first(batch, generator):
    return target(batch, generator) if MEND.exists() else tokens(
        batch, generator, batch.draft_probs[:, 0])

def broken_at_first(batch, generator):
    if not MEND.exists():
        raise RuntimeError("out of luck")
    return target(batch, generator)

def slow(batch, generator):
    global calls
    calls += 1
    if calls > 100 and not MEND.exists():
        time.sleep(30)
    return target(batch, generator)
"""


@pytest.fixture
def mine(tmp_path: Path) -> Path:
    """Returns a file of samplers that change once a file named `mended` lies beside it."""
    (tmp_path / "mine.py").write_text(CHANGING)
    return tmp_path / "mine.py"


def counts(record: Record) -> list[dict[str, int]]:
    """Returns the counts of each case."""
    return [case.counts for case in record.cases]


def test_a_larger_tier_adds_evidence_and_lists_both_attempts(tmp_path: Path) -> None:
    first = run_audit("reference", cases=CASES, settings=SMALL, run_dir=tmp_path).record
    assert first.verdict.outcome is Outcome.INCONCLUSIVE
    again = run_audit("reference", cases=CASES, settings=LARGE, run_dir=tmp_path).record
    assert again.verdict.outcome is Outcome.PASS
    for before, after in zip(counts(first), counts(again), strict=True):
        assert sum(after.values()) > sum(before.values()) == 20_000
        assert all(after[block] >= times for block, times in before.items())
    assert {case.certify for case in first.cases} == {"bias-only"}
    assert {case.certify for case in again.cases} == {"full"}
    assert [(one.cap, one.exit_code) for one in again.attempts] == [(20_000, 3), (200_000, 0)]
    assert again.seeds_tried == (0,)
    assert attempts_in(tmp_path) == again.attempts


def test_what_an_earlier_attempt_decided_is_not_decided_again(tmp_path: Path) -> None:
    # The bins of peaked-32 have U below .04 at 20,000 trials with a chance of 1 - 1e-6.
    cases, settings = ["peaked-32", CASES[0]], dataclasses.replace(SMALL, epsilon=0.04)
    first = run_audit("reference", cases=cases, settings=settings, run_dir=tmp_path).record
    larger = dataclasses.replace(settings, tier="ci")
    again = run_audit("reference", cases=cases, settings=larger, run_dir=tmp_path).record
    assert first.cases[0].verdict.word == "PARTITION-PASS"
    assert again.cases[0].verdict == first.cases[0].verdict
    assert again.cases[0].evidence == first.cases[0].evidence
    alone = run_audit("reference", cases=cases, settings=larger).record
    assert alone.cases[0].certify == "full"  # the control: the larger tier by itself


def test_the_same_command_again_changes_nothing(tmp_path: Path) -> None:
    first, again = (
        run_audit("reference", cases=CASES, settings=SMALL, run_dir=tmp_path).record
        for _ in range(2)
    )
    assert counts(first) == counts(again)
    assert len(again.attempts) == 2


def test_a_smaller_tier_would_leave_evidence_out(tmp_path: Path) -> None:
    run_audit("reference", cases=CASES[:1], settings=LARGE, run_dir=tmp_path)
    with pytest.raises(UsageError, match=r"200,000 .* and 20,000 now would leave evidence out"):
        run_audit("reference", cases=CASES[:1], settings=SMALL, run_dir=tmp_path)
    assert len(attempts_in(tmp_path)) == 1  # what is refused is no attempt


@pytest.mark.parametrize("kept", [True, False], ids=["counts kept", "counts deleted"])
def test_a_failure_stays_whatever_more_trials_show(mine: Path, tmp_path: Path, kept: bool) -> None:
    folder, spec = tmp_path / "run", f"{mine}:biased_at_first"
    settings = dataclasses.replace(SMALL, in_process=True)
    first = run_audit(spec, cases=CASES[:1], settings=settings, run_dir=folder)
    assert first.verdict.outcome is Outcome.FAIL
    mine.with_name("mended").touch()
    for path in [] if kept else folder.glob("*.npz"):
        path.unlink()
    larger = dataclasses.replace(settings, tier="ci")
    again = run_audit(spec, cases=CASES[:1], settings=larger, run_dir=folder)
    assert again.verdict.outcome is Outcome.FAIL
    assert again.exit_code == 1
    assert again.verdicts[CASES[0]].sentence == first.verdicts[CASES[0]].sentence


def test_an_error_is_not_retried_away(mine: Path, tmp_path: Path) -> None:
    folder, spec = tmp_path / "run", f"{mine}:broken_at_first"
    settings = dataclasses.replace(SMALL, in_process=True, epsilon=0.05)
    first = run_audit(spec, cases=CASES, settings=settings, run_dir=folder)
    mine.with_name("mended").touch()
    again = run_audit(spec, cases=CASES, settings=settings, run_dir=folder)
    assert (first.exit_code, again.exit_code) == (4, 4)
    assert again.verdict.outcome is Outcome.ERROR
    assert "out of luck" in again.verdict.sentence
    fresh = run_audit(spec, cases=CASES, settings=settings)
    assert fresh.exit_code == 0  # the control: without the directory nothing is remembered


def test_a_killed_run_goes_on_to_the_same_counts(mine: Path, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    command = ["run", f"{mine}:slow", "--cases", CASES[1], "--tier", "smoke", "-q"]
    killed = subprocess.Popen(
        [sys.executable, "-m", "audit", *command, "--run-dir", str(folder)],
        cwd=ROOT, start_new_session=True,
    )  # fmt: skip
    for _ in range(600):
        if len(list(folder.glob("*.npz"))) >= 3:
            break
        time.sleep(0.1)
    os.killpg(killed.pid, signal.SIGKILL)
    killed.wait()
    assert list(folder.glob("*.npz"))

    mine.with_name("mended").touch()
    resumed, whole = tmp_path / "resumed.json", tmp_path / "whole.json"
    assert execute([*command, "--run-dir", str(folder), "--json", str(resumed)]) == 0
    assert execute([*command, "--json", str(whole)]) == 0
    assert counts(read_record(resumed)) == counts(read_record(whole))
    attempts = read_record(resumed).attempts
    assert [one.exit_code for one in attempts] == [None, 0]
