"""Where a result goes: as text or one pure form to stdout, in every other form into files."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from audit.cli.color import stdout_color
from audit.cli.github import append_summary, in_actions
from audit.errors import UsageError
from audit.files import check_writable, write_atomically

if TYPE_CHECKING:
    from audit.record import Record

STDOUT = "-"
PIPE_WIDTH = 110
FORMS = {
    "json": "audit.recordfile:to_json",
    "html": "audit.render.html:page",
    "junit": "audit.render.junit:junit",
    "sarif": "audit.render.sarif:sarif",
    "markdown": "audit.render.markdown:markdown",
    "csv": "audit.render.table:table",
    "code_quality": "audit.render.code_quality:code_quality",
}


@dataclass(frozen=True)
class Outputs:
    """What is wanted of a result: files, "-" for stdout, how much text.

    Raises: UsageError for a path that cannot be written, before any work is done.
    """

    json: str | None = None
    html: str | None = None
    junit: str | None = None
    sarif: str | None = None
    markdown: str | None = None
    csv: str | None = None
    code_quality: str | None = None
    quiet: bool = False
    verbose: bool = False

    def __post_init__(self) -> None:
        check_places(**self.places)

    @property
    def places(self) -> dict[str, str | None]:
        """The place of each form."""
        return {name: getattr(self, name) for name in FORMS}

    def beside(self, name: str) -> Outputs:
        """Returns the same for one of several results: its name becomes part of every file's."""
        if STDOUT in self.places.values():
            raise UsageError(
                "several samplers are audited, and stdout (-) holds one result; name a file."
            )
        paths = {form: Path(place) for form, place in self.places.items() if place}
        moved: dict[str, Any] = {
            form: str(path.with_stem(f"{path.stem}-{name}")) for form, path in paths.items()
        }
        return replace(self, **moved)

    def write(self, record: Record) -> None:
        """Prints the result, then writes the files: a full disk loses no verdict."""
        forms = {name: (place, partial(form, name, record)) for name, place in self.places.items()}
        write_forms(partial(self._text, record), quiet=self.quiet, **forms)
        if in_actions() and STDOUT not in self.places.values():
            _annotate(record)
        append_summary(record)

    def _text(self, record: Record) -> str:
        from audit.render.text import audit_text, verdict_line

        if self.quiet:
            return verdict_line(record)
        color, width = stdout_color(), stdout_width()
        return audit_text(record, color=color, width=width, verbose=self.verbose)


def check_places(**places: str | None) -> None:
    """Raises UsageError where a place cannot be written, or two options name the same."""
    named = {name.replace("_", "-"): place for name, place in places.items() if place}
    for name, place in named.items():
        twice = [other for other, where in named.items() if where == place and other != name]
        if twice:
            raise UsageError(f"--{name} and --{twice[0]} both name {place}; name two places.")
        if place != STDOUT:
            check_writable(Path(place))


def write_forms(
    text: Callable[[], str],
    *,
    quiet: bool = False,
    **forms: tuple[str | None, Callable[[], str]],
) -> None:
    """Prints a result as text, or in the form whose place is "-", and writes the other forms.

    forms: name of the option, its place (None: not wanted), and what makes the form.
    """
    printed = [make for place, make in forms.values() if place == STDOUT]
    emit((printed or [text])[0]())
    for place, make in forms.values():
        if place and place != STDOUT:
            write_atomically(Path(place), make())
            if not quiet:
                click.echo(f"written: {place}", err=True)


def emit(text: str) -> None:
    """Prints a result; a reader that has left (`| head`) ends nothing."""
    try:
        click.echo(text.rstrip("\n"), color=stdout_color())
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _annotate(record: Record) -> None:
    from audit.render.annotations import github_annotations

    if lines := github_annotations(record):
        emit(lines)


def stdout_width() -> int:
    """Returns the columns to print in: the terminal's, and a fixed number into a pipe."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else PIPE_WIDTH


def form(name: str, record: Record) -> str:
    """Returns the record in one of FORMS, whose module is imported only now."""
    module, _, function = FORMS[name].partition(":")
    text: str = getattr(import_module(module), function)(record)
    return text.rstrip("\n") + "\n"
