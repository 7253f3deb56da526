"""Progress on stderr: a bar on a terminal, a line every 30 seconds elsewhere and in CI."""

from __future__ import annotations

import math
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from audit.render.plain import clean

if TYPE_CHECKING:
    from rich.progress import Progress as Bar
    from rich.progress import TaskID

    from audit.run import Progress

SECONDS_BETWEEN_LINES = 30.0
EARLY = 0.02  # of the trials: the calls before are small, and slower a trial than all others
Report = Callable[["Progress"], None]


@contextmanager
def shown(*, quiet: bool) -> Iterator[Report | None]:
    """Yields what to tell the progress to, or None where nothing is to be shown."""
    if quiet:
        yield None
    elif sys.stderr.isatty() and not os.environ.get("CI"):
        with _bar() as bar:
            yield _bar_report(bar)
    else:
        yield _Lines()


def _bar() -> Bar:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn("{task.fields[phase]}"),
        BarColumn(),
        TextColumn("{task.completed:,.0f}/{task.total:,.0f} {task.fields[unit]}", markup=False),
        TextColumn("{task.description}", markup=False),
        TimeRemainingColumn(),
    )
    return Progress(*columns, console=Console(stderr=True), transient=True)


def _bar_report(bar: Bar) -> Report:
    tasks: dict[str, TaskID] = {}

    def report(state: Progress) -> None:
        (done, expected), stage = state.share, state.stage
        if stage not in tasks:
            unit = "trials" if state.laws is None else ""
            tasks[stage] = bar.add_task("", total=expected, phase=stage, unit=unit)
        bar.update(tasks[stage], completed=done, total=expected, description=_case(state))

    return report


class _Lines:
    """Prints a line now and then; what is left is estimated by the speed since the last one."""

    def __init__(self) -> None:
        self._stage, self._time, self._done = "", 0.0, 0

    def __call__(self, state: Progress) -> None:
        """Takes in how far a phase is."""
        now = time.monotonic()
        if state.stage == self._stage:
            seconds, more = now - self._time, state.share[0] - self._done
            if seconds < SECONDS_BETWEEN_LINES or not more:
                return
            click.echo(_line(state, speed=more / max(seconds, 1e-3), now=now), err=True)
        self._stage, self._time, self._done = state.stage, now, state.share[0]


def _line(state: Progress, *, speed: float, now: float) -> str:
    """Returns the line; speed: trials, or laws, a second."""
    done, expected = state.share
    how_far = f"{done} of {expected}"
    if state.laws is None:
        how_far = f"{done:,} of about {expected:,} trials"
    return f"{state.stage}: {how_far}, {_case(state)}{_left(state, speed=speed, now=now)}"


def _case(state: Progress) -> str:
    """Returns the case that is at work, and the evidence of its trials."""
    evidence = f", {_evidence(state)}" if state.laws is None else ""
    return f"{clean(state.case_id)}{evidence}"


def _left(state: Progress, *, speed: float, now: float) -> str:
    """Returns what is left, cut by a time limit; "" where it is too early to tell."""
    limit = math.inf if state.deadline is None else max(0.0, state.deadline - now)
    left, (done, expected) = math.inf, state.share
    if done >= EARLY * expected:
        left = (expected - done) / speed
    return f", about {min(left, limit):.0f} s left" if min(left, limit) < math.inf else ""


def _evidence(state: Progress) -> str:
    """Returns the evidence against the sampler as powers of ten, beside what a FAIL takes.

    >>> from types import SimpleNamespace
    >>> _evidence(SimpleNamespace(log_e=-2.303, log_threshold=13.816))
    'evidence 1e-1.0 of 1e6.0'
    """
    now, bar = (value / 2.302585 for value in (state.log_e, state.log_threshold))
    return f"evidence 1e{now:.1f} of 1e{bar:.1f}"
