"""What a run tells GitHub Actions besides its result: annotations and the step summary.

A job that may write neither (a fork's, a full disk) has its exit code all the same.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from audit.record import Record


def in_actions() -> bool:
    """Returns whether this process runs in GitHub Actions, which reads commands from stdout."""
    return os.environ.get("GITHUB_ACTIONS") == "true"


def append_summary(record: Record) -> None:
    """Appends the record to the summary of the step, where there is one; never raises."""
    path = os.environ.get("GITHUB_STEP_SUMMARY")
    if not path:
        return
    from audit.render.markdown import markdown

    try:
        with open(path, "a", encoding="utf-8") as file:
            file.write(f"\n{markdown(record)}")
    except (OSError, ValueError) as error:
        click.echo(f"draftproof: no step summary was written: {error}", err=True)
