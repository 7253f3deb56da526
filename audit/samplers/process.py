"""A program that we start: its log, its process group, its end; and the worker among them.

A program leads a process group of its own, which ends when it is told to and when the handle is
lost. A worker also ends when this process dies, through a pipe that only this process holds open;
its tensors travel in an in-memory file. POSIX only.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import tempfile
import weakref
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO

from audit.errors import UsageError

_FOLDER = str(Path(__file__).with_name("worker"))
_LOG_LIMIT = 1 << 20
_LOG_TAIL = 4000
_SETTINGS = {
    "OMP_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "OMP_WAIT_POLICY": "PASSIVE",
    "PYTHONUNBUFFERED": "1",  # what it printed is in the log even if it is killed
}


class ChildProcess:
    """A started program; what it prints to its error output stands in a log.

    `theirs` are descriptors that only the program keeps, `ours` those that are closed when it has
    ended; those `passed` it knows by their numbers. stdin and stdout are descriptors; None: nothing
    comes in, what goes out is in the log.

    Raises: UsageError where the program cannot be started.
    """

    def __init__(
        self,
        command: Sequence[str],
        *,
        theirs: Sequence[int],
        ours: Sequence[int],
        passed: Sequence[int] = (),
        stdin: int | None = None,
        stdout: int | None = None,
        settings: Mapping[str, str] = _SETTINGS,
    ) -> None:
        self._log: IO[bytes] = tempfile.TemporaryFile("a+b")  # noqa: SIM115 (closed by _end)
        try:
            self._process = subprocess.Popen(
                command,
                pass_fds=passed,
                stdin=subprocess.DEVNULL if stdin is None else stdin,
                stdout=self._log if stdout is None else stdout,
                stderr=self._log,
                env={**os.environ, **settings},
                start_new_session=True,
            )
        except OSError as error:
            self._log.close()
            _close(ours)
            raise UsageError(f"{command[0]} cannot be started: {error.strerror}.") from None
        finally:
            _close(theirs)
        self._end = weakref.finalize(self, _end, self._process, ours, self._log)

    @property
    def alive(self) -> bool:
        """Whether it has not been ended by us."""
        return self._end.alive

    def printed(self) -> str:
        """Returns the last of what it printed."""
        size = os.fstat(self._log.fileno()).st_size
        tail = os.pread(self._log.fileno(), _LOG_TAIL, max(0, size - _LOG_TAIL))
        return tail.decode(errors="replace")

    def trim_log(self) -> None:
        """Empties the log where it has grown long: a sampler may print at every call."""
        if os.fstat(self._log.fileno()).st_size > _LOG_LIMIT:
            os.ftruncate(self._log.fileno(), 0)

    def end(self) -> str:
        """Kills the process group and returns how the program had ended."""
        self._end()
        code = self._process.returncode
        if code == -signal.SIGKILL:
            return "it was killed, or closed its pipes"
        return f"exit code {code}" if code >= 0 else f"signal {signal.Signals(-code).name}"


class WorkerProcess(ChildProcess):
    """A started worker: write requests to `requests`, read replies from `replies`.

    Raises: UsageError where `python` cannot be started.
    """

    def __init__(self, python: str, *, spec: str, device: str, steps: bool = False) -> None:
        self.file = _memory_file()
        (requests, self.requests), (self.replies, replies) = os.pipe(), os.pipe()
        lifeline, held = os.pipe()
        theirs = [requests, replies, lifeline]
        given: dict[str, object] = {"spec": spec, "device": device, "steps": steps}
        given["descriptors"] = [*theirs, self.file]
        super().__init__(
            [python, _FOLDER, json.dumps(given)],
            theirs=theirs,
            ours=[self.requests, self.replies, held, self.file],
            passed=[*theirs, self.file],
        )


def telling(printed: str) -> list[str]:
    """Returns the last line that speaks of an error, else the last line, as a list of at most one.

    >>> telling("TypeError: no law\\n    at verify (a.js:3)\\n\\nNode.js v20\\n")
    ['TypeError: no law']
    """
    lines = [line.strip() for line in printed.splitlines() if line.strip()]
    errors = [line for line in lines if re.search(r"[Ee]rror\b|\bpanicked\b", line)]
    return (errors or lines)[-1:]


def kill_group(leader: int) -> None:
    """Kills a process group of ours, whose leader has not been waited for yet."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(leader, signal.SIGKILL)


def _end(process: subprocess.Popen[bytes], descriptors: Sequence[int], log: IO[bytes]) -> None:
    kill_group(process.pid)
    process.wait()
    _close(descriptors)
    log.close()


def _close(descriptors: Sequence[int]) -> None:
    for descriptor in descriptors:
        os.close(descriptor)


def _memory_file() -> int:
    """Returns the descriptor of a nameless file, in memory where the system has such files."""
    if hasattr(os, "memfd_create"):
        return os.memfd_create("draftproof")
    with tempfile.TemporaryFile() as file:
        return os.dup(file.fileno())
