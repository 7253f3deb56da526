"""Decoders in a process of their own: one that hangs, crashes, exits or raises ends by itself."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from groups import gone

from audit.cli import execute
from audit.errors import SamplerError, UsageError
from audit.state.apart import audit_named
from audit.state.record import StateOutcome
from audit.state.settings import StateSettings

FAST = StateSettings(sequences=40, watched=2)
LOOPS = """
import os
import subprocess
import time
from pathlib import Path

from audit.samplers.decoders.loop import decode


def right(*models, **more):
    print("this must not reach stdout")
    return decode(*models, **more)


right.draftproof = {"max_batch": None}


def hangs(*models, **more):
    time.sleep(600)


def hangs_with_another(*models, **more):
    subprocess.Popen(["sleep", "60"])
    told = Path(__file__).with_name("told")
    told.write_text(str(os.getpgrp()))
    told.rename(told.with_name("group"))
    time.sleep(600)


def ends(*models, **more):
    os._exit(3)


def raises(*models, **more):
    raise ValueError("no cache")
"""


@pytest.fixture
def loops(tmp_path) -> str:
    (tmp_path / "loops.py").write_text(LOOPS)
    return f"{tmp_path}/loops.py"


def test_a_right_one_is_audited_as_in_this_process(loops: str, capfd) -> None:
    seen: list[str] = []
    apart = audit_named(
        f"{loops}:right", ["basis-1"], timeout=60, settings=FAST, progress=seen.append
    )
    assert seen == ["basis-1"]
    assert apart.outcome is StateOutcome.UNDECIDED
    assert "this must not reach stdout" not in capfd.readouterr().out
    here = audit_named(f"{loops}:right", ["basis-1"], timeout=0, settings=FAST)
    assert apart.model_copy(update={"seconds": 0}) == here.model_copy(update={"seconds": 0})


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("hangs", "did not return from a call within 0.5 s"),
        ("ends", "ended its process in the middle of a call"),
        ("raises", "the decoder raised ValueError: no cache"),
    ],
)
def test_one_that_does_not_return_is_an_error(loops: str, name: str, said: str) -> None:
    with pytest.raises(SamplerError, match=said):
        audit_named(f"{loops}:{name}", ["basis-1"], timeout=0.5, settings=FAST)


def test_a_limit_ends_all_that_the_decoder_has_started(loops: str) -> None:
    with pytest.raises(SamplerError, match="did not return"):
        audit_named(f"{loops}:hangs_with_another", ["basis-1"], timeout=0.5, settings=FAST)
    assert gone(int(Path(loops).with_name("group").read_text()))


def test_it_ends_with_the_process_that_started_it(loops: str) -> None:
    command = ["state", f"{loops}:hangs_with_another", "--cases", "basis-1"]
    parent = subprocess.Popen([sys.executable, "-m", "audit", *command])
    group = Path(loops).with_name("group")
    until = time.monotonic() + 120
    while not group.exists() and time.monotonic() < until:
        time.sleep(0.05)
    os.kill(parent.pid, signal.SIGKILL)
    parent.wait()
    assert gone(int(group.read_text()))


def test_what_cannot_be_used_is_refused_from_there_too(loops: str) -> None:
    with pytest.raises(UsageError, match="no case"):
        audit_named(f"{loops}:right", ["nothing"], timeout=60, settings=FAST)


def test_the_command_ends_with_the_code_of_a_broken_decoder(loops: str, capsys) -> None:
    command = ["state", f"{loops}:hangs", "--cases", "basis-1", "--timeout", "0.5"]
    assert execute(command) == 4
    assert "did not return from a call within 0.5 s" in capsys.readouterr().err
