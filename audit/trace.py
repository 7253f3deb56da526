"""The audit of recorded rounds, from files to a record; the public Python API of traces.

Nothing is printed here, and never more than one chunk of rounds is held.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import chain
from typing import Any

from audit import __version__
from audit.errors import UsageError
from audit.exact.catalogue import rule
from audit.plural import counted
from audit.tracefile.problems import Problem, placed
from audit.tracefile.reading import check_files, rounds_in
from audit.tracefile.rounds import Round
from audit.tracerecord import BadLine, TraceFile, TraceRecord, TraceSettings
from audit.traces.judge import selection_verdict, trace_verdict
from audit.traces.readings import evidence_of
from audit.traces.rules import RULES
from audit.traces.watch import TraceWatch
from audit.verdict import INTERRUPTED, Budget, exit_code

__all__ = ["TraceSettings", "run_trace"]

CHUNK_ROUNDS = 64
CHUNK_CELLS = 2**18
MOST_PROBLEMS = 10
DEFAULTS = TraceSettings()
Progress = Callable[[str, int], None]


@dataclass
class _File:
    """What was read of one file."""

    path: str
    rounds: int = 0
    bad: int = 0
    truncated: bool = False


@dataclass
class _Reading:
    """All files in their order, as one stream of rounds; what is wrong is kept aside."""

    paths: Sequence[str]
    limit: int | None
    files: list[_File] = field(default_factory=list)
    problems: list[BadLine] = field(default_factory=list)
    selective: int = 0
    interrupted: bool = False

    @property
    def bad(self) -> int:
        """The number of records left out."""
        return sum(file.bad for file in self.files)

    @property
    def cut_short(self) -> str:
        """Why not all rounds were read, "" where they were."""
        if self.interrupted:
            return "interrupted"
        return "" if self.limit is None else "limited"

    def into(self, watch: TraceWatch, progress: Progress | None) -> None:
        """Hands all rounds to the watch, or those before the user interrupts."""
        try:
            for part in chunks(self.rounds()):
                watch.update(part)
                if progress is not None:
                    progress(self.files[-1].path, watch.tally.rounds)
        except KeyboardInterrupt:
            self.interrupted = True

    def rounds(self) -> Iterator[Round]:
        """Yields the usable rounds, at most `limit`."""
        left = math.inf if self.limit is None else self.limit
        for found in chain.from_iterable(map(self._opened, self.paths)):
            if isinstance(found, Problem):
                self._note(found)
                continue
            self.files[-1].rounds += 1
            yield found
            left -= 1
            if left <= 0:
                return

    def _opened(self, path: str) -> Iterable[Round | Problem]:
        self.files.append(_File(path))
        return rounds_in(path)

    def _note(self, problem: Problem) -> None:
        if problem.truncated:
            self.files[-1].truncated = True
            return
        self.files[-1].bad += 1
        self.selective += problem.selective
        if len(self.problems) < MOST_PROBLEMS:
            self.problems.append(BadLine.model_validate(problem, from_attributes=True))


def run_trace(
    paths: Sequence[str],
    *,
    settings: TraceSettings = DEFAULTS,
    progress: Progress | None = None,
    command: str = "",
) -> TraceRecord:
    """Returns the audit of the rounds that the files hold, read in their order.

    paths: files of JSON lines (gzipped or not), .npz or .safetensors, "-" for standard input;
    docs/traces.md describes the records. progress is told the file and the rounds so far.

    Raises:
        UsageError: a setting or file is unusable, or no record is.
    """
    _check(settings)
    check_files(tuple(paths))
    started, start = datetime.now(UTC).isoformat(timespec="milliseconds"), time.monotonic()
    budget = Budget(settings.alpha, settings.delta, settings.epsilon, cases=1)
    watch = TraceWatch(
        budget, declared=settings.declares, tolerance=settings.tolerance, seed=settings.seed
    )
    reading = _Reading(paths, settings.limit)
    reading.into(watch, progress)
    _refuse_nothing(reading)
    facts = _facts(reading, watch)
    seconds = time.monotonic() - start
    return TraceRecord(
        draftproof=__version__,
        command=command,
        settings=settings,
        started=started,
        seconds=seconds,
        **facts,
    )


def _facts(reading: _Reading, watch: TraceWatch) -> dict[str, Any]:
    """Returns what the record says of the rounds: verdict, evidence, and what was read."""
    evidence = evidence_of(watch)
    if reading.selective:
        verdict = selection_verdict(watch, evidence, left_out=reading.selective)
    else:
        verdict = trace_verdict(watch, evidence, cut_short=reading.cut_short)
    return {
        "files": tuple(TraceFile.model_validate(vars(file)) for file in reading.files),
        "verdict": verdict,
        "evidence": evidence,
        "bad": reading.bad,
        "problems": tuple(reading.problems),
        "interrupted": reading.interrupted,
        "exit_code": INTERRUPTED if reading.interrupted else exit_code(verdict),
    }


def chunks(rounds: Iterable[Round], *, most: int = CHUNK_ROUNDS) -> Iterator[list[Round]]:
    """Yields rounds in chunks of at most `most`, and of bounded size.

    Each ends by what it already holds, so that no bet depends on the rounds that it is made on.
    """
    part: list[Round] = []
    cells = 0
    try:
        for one in rounds:
            part.append(one)
            cells += sum(len(row.probs) for row in one.target)
            if len(part) == most or cells >= CHUNK_CELLS:
                yield part
                part, cells = [], 0
    except KeyboardInterrupt:  # while reading: what was read is judged
        yield part
        raise
    if part:
        yield part


def _check(settings: TraceSettings) -> None:
    """Raises UsageError for the first setting that is out of its bounds."""
    for name in ("alpha", "delta", "epsilon", "tolerance"):
        value = getattr(settings, name)
        if value is not None and not 0 < value < 1:
            raise UsageError(f"{name} = {value!r} is not between 0 and 1, both excluded.")
    for name in settings.declares:
        if rule(name).id not in RULES:
            raise UsageError(
                f"a trace cannot be compared with the rule {name}: declare one of "
                f"{', '.join(RULES)}, or none."
            )


def _refuse_nothing(reading: _Reading) -> None:
    """Raises UsageError where there is nothing to judge, with the first reason."""
    if reading.interrupted or any(file.rounds for file in reading.files):
        return
    first = next(iter(reading.problems), None)
    why = "the files hold no whole record"
    if first is not None:
        why = f"{placed(first.file, first.line)}: {first.field} = {first.value} {first.reason}"
    raise UsageError(
        f"of {counted(reading.bad, 'record')} none can be judged ({why}); docs/traces.md describes "
        "them."
    )
