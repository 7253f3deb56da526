"""Where a result goes: text or pure JSON on stdout, record and page into files."""

from __future__ import annotations

import os
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from audit.cli.color import stdout_color
from audit.errors import UsageError
from audit.files import check_writable, write_atomically

if TYPE_CHECKING:
    from audit.record import Record

STDOUT = "-"
PIPE_WIDTH = 110


@dataclass(frozen=True)
class Outputs:
    """What is wanted of a result: files, "-" for stdout, how much text.

    Raises: UsageError for a path that cannot be written, before any work is done.
    """

    json: str | None = None
    html: str | None = None
    quiet: bool = False
    verbose: bool = False

    def __post_init__(self) -> None:
        if self.json and self.json == self.html:
            raise UsageError(f"--json and --html both name {self.json}; name two places.")
        for path in (self.json, self.html):
            if path and path != STDOUT:
                check_writable(Path(path))

    def write(self, record: Record) -> None:
        """Prints the result, then writes the files: a full disk loses no verdict."""
        emit(self._stdout(record))
        for path, text in ((self.json, _json), (self.html, _page)):
            if path and path != STDOUT:
                write_atomically(Path(path), text(record))
                if not self.quiet:
                    click.echo(f"written: {path}", err=True)

    def _stdout(self, record: Record) -> str:
        if self.json == STDOUT:
            return _json(record)
        if self.html == STDOUT:
            return _page(record)
        from audit.render.text import audit_text, verdict_line

        if self.quiet:
            return verdict_line(record)
        color, width = stdout_color(), stdout_width()
        return audit_text(record, color=color, width=width, verbose=self.verbose)


def emit(text: str) -> None:
    """Prints a result; a reader that has left (`| head`) ends nothing."""
    try:
        click.echo(text.rstrip("\n"), color=stdout_color())
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def stdout_width() -> int:
    """Returns the columns to print in: the terminal's, and a fixed number into a pipe."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else PIPE_WIDTH


def _json(record: Record) -> str:
    from audit.record import to_json

    return to_json(record) + "\n"


def _page(record: Record) -> str:
    from audit.render.html import page

    return page(record)
