"""Progress on stderr: a bar on a terminal, a line every 30 seconds elsewhere and in CI."""

from __future__ import annotations

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
        yield _line_report()


def _bar() -> Bar:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn("{task.fields[phase]}"),
        BarColumn(),
        TextColumn("{task.completed:,.0f}/{task.total:,.0f} trials", markup=False),
        TextColumn("{task.description}", markup=False),
        TimeRemainingColumn(),
    )
    return Progress(*columns, console=Console(stderr=True), transient=True)


def _bar_report(bar: Bar) -> Report:
    tasks: dict[str, TaskID] = {}

    def report(state: Progress) -> None:
        if state.phase not in tasks:
            tasks[state.phase] = bar.add_task("", total=state.planned_trials, phase=state.phase)
        bar.update(
            tasks[state.phase],
            completed=state.done_trials,
            total=state.planned_trials,
            description=f"{clean(state.case_id)} {_evidence(state)}",
        )

    return report


def _line_report() -> Report:
    last = time.monotonic()
    begun = last

    def report(state: Progress) -> None:
        nonlocal last
        now = time.monotonic()
        if now - last >= SECONDS_BETWEEN_LINES:
            last = now
            click.echo(_line(state, seconds=now - begun), err=True)

    return report


def _line(state: Progress, *, seconds: float) -> str:
    done, planned = state.done_trials, state.planned_trials
    left = seconds * (planned - done) / max(done, 1)
    return (
        f"{state.phase}: {done:,} of at most {planned:,} trials, {clean(state.case_id)}, "
        f"{_evidence(state)}, {seconds:.0f} s, at most {left:.0f} s left"
    )


def _evidence(state: Progress) -> str:
    """Returns the evidence against the sampler as powers of ten, beside what a FAIL takes.

    >>> from types import SimpleNamespace
    >>> _evidence(SimpleNamespace(log_e=-2.303, log_threshold=13.816))
    'evidence 1e-1.0 of 1e6.0'
    """
    now, bar = (value / 2.302585 for value in (state.log_e, state.log_threshold))
    return f"evidence 1e{now:.1f} of 1e{bar:.1f}"
