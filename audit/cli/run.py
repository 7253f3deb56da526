"""`run` audits a sampler; `rerun` repeats the run behind a record."""

from __future__ import annotations

import sys
from contextlib import redirect_stdout
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from audit.cli import options
from audit.cli.color import color_option
from audit.cli.output import Outputs
from audit.cli.progress import shown
from audit.render.plain import clean

if TYPE_CHECKING:
    from audit.record import Record
    from audit.run import AuditRun, Settings

VERDICT_CODES = (1, 3, 4)
EXIT_CODES = """\
Exit codes: 0 certified, 1 biased or dependent, 2 usage, 3 undecided, 4 the sampler broke its
contract, 70 internal error, 130 interrupted.
"""


@click.command(epilog=EXIT_CODES)
@click.argument("sampler")
@options.selection
@options.budget
@options.machine
@options.outputs
@options.exit_zero
@color_option
@click.pass_obj
def run(
    command: str, /, sampler: str, outputs: Outputs, exit_zero: bool, run_dir: Path | None,
    cases: tuple[str, ...], control: str | None, **settings: Any,
) -> int:  # fmt: skip
    """Audits SAMPLER: does it preserve the target distribution?

    SAMPLER is a name from `draftproof samplers list`, rule:ID, fault:ID, module:object or
    path/to/file.py:object.
    """
    from audit.run import Settings, run_audit

    with shown(quiet=outputs.quiet) as progress, redirect_stdout(sys.stderr):
        done = run_audit(
            sampler, cases=cases, control=control, settings=Settings(**settings),
            run_dir=run_dir, progress=progress, command=command,
        )  # fmt: skip
    outputs.write(done.record)
    return _exit_code(done, exit_zero=exit_zero)


@click.command(epilog=EXIT_CODES)
@click.argument("record", type=click.Path(path_type=Path))
@options.outputs
@options.exit_zero
@color_option
@click.pass_obj
def rerun(command: str, /, record: Path, outputs: Outputs, exit_zero: bool) -> int:
    """Repeats the run behind RECORD with the same settings and seed, and compares the counts.

    A repeated seed is a check of the record, not new evidence. Other counts exit with 1.
    """
    from audit.record import read_record
    from audit.run import run_audit

    before = read_record(record)
    with shown(quiet=outputs.quiet) as progress, redirect_stdout(sys.stderr):
        done = run_audit(
            before.sampler.name, cases=before.settings.cases, control=before.settings.control,
            settings=_settings_of(before), progress=progress, command=command,
        )  # fmt: skip
    outputs.write(done.record)
    differ = _say_differences(before, done.record)
    return _exit_code(done, exit_zero=exit_zero) or int(differ and not exit_zero)


def _settings_of(record: Record) -> Settings:
    from audit.run import Settings

    return Settings(**{item.name: getattr(record.settings, item.name) for item in fields(Settings)})


def _say_differences(before: Record, after: Record) -> bool:
    """Says what differs and returns whether anything does."""
    from audit.record import differences

    found = differences(before, after)
    for sentence in found or ["same counts as in the record"]:
        click.echo(f"draftproof: {clean(sentence)}", err=True)
    return bool(found)


def _exit_code(done: AuditRun, *, exit_zero: bool) -> int:
    return 0 if exit_zero and done.exit_code in VERDICT_CODES else done.exit_code
