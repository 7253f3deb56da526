"""`run` audits a sampler; `rerun` repeats the run behind a record."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass, fields, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from audit.cli import options
from audit.cli.color import color_option
from audit.cli.configuration import SUBJECTS_OWN, configured, distinct_names, subjects
from audit.cli.exits import exit_code_of, tally, worst
from audit.cli.output import Outputs
from audit.cli.progress import shown
from audit.render.plain import clean
from audit.verdict import INTERRUPTED

if TYPE_CHECKING:
    from audit.config import Subject
    from audit.record import Record
    from audit.run import Settings

VERDICT_CODES = (1, 3, 4)
EXIT_CODES = """\
Exit codes: 0 certified, 1 biased or dependent, 2 usage, 3 undecided, 4 the sampler broke its
contract, 70 internal error, 130 interrupted.
"""


@click.command(epilog=EXIT_CODES)
@click.argument("sampler", required=False)
@options.selection
@options.method
@options.budget
@options.machine
@options.baseline
@options.outputs
@options.exit_zero
@configured
@color_option
@click.pass_context
def run(
    ctx: click.Context, /, sampler: str | None, outputs: Outputs, exit_zero: bool,
    run_dir: Path | None, control: str | None, **settings: Any,
) -> int:  # fmt: skip
    """Audits SAMPLER: does it preserve the target distribution?

    SAMPLER is a name from `draftproof samplers list`, rule:ID, fault:ID, module:object or
    path/to/file.py:object. Without it, every sampler of the configuration file is audited.
    """
    chosen = subjects(ctx, sampler)
    general = {key: value for key, value in settings.items() if key not in SUBJECTS_OWN}
    told = _Told(ctx.obj, outputs, exit_zero, run_dir, control, general)
    if len(chosen) == 1:
        return told.audit(chosen[0])
    codes = _audit_each(told, chosen)
    if not outputs.quiet and not exit_zero:  # which leaves no code to tell from
        known = (one.expect != "pass" for one in chosen[: len(codes)])
        click.echo(f"\n{tally(codes, known)}")
    return worst(codes)


def _audit_each(told: _Told, chosen: Sequence[Subject]) -> list[int]:
    """Returns the exit codes of several samplers, up to one that was interrupted."""
    codes: list[int] = []
    for name, subject in zip(distinct_names(one.sampler for one in chosen), chosen, strict=True):
        codes.append(exit_code_of(partial(told.beside(name).audit, subject)))
        if codes[-1] == INTERRUPTED:
            break
    return codes


@dataclass(frozen=True)
class _Told:
    """What `run` was told, whichever sampler is audited."""

    command: str
    outputs: Outputs
    exit_zero: bool
    run_dir: Path | None
    control: str | None
    settings: dict[str, Any]

    def beside(self, name: str) -> _Told:
        """Returns the same for one of several samplers, with files and a folder of its own."""
        folder = self.run_dir and self.run_dir / name
        return replace(self, outputs=self.outputs.beside(name), run_dir=folder)

    def audit(self, subject: Subject) -> int:
        """Returns the exit code of the audit of one sampler, after writing its result."""
        from audit.changes import compared
        from audit.expectation import expected
        from audit.recordfile import read_record
        from audit.run import Settings, run_audit

        earlier = subject.baseline_record and read_record(Path(subject.baseline_record))
        settings = Settings(declares=tuple(subject.declares or ()), **self.settings)
        with shown(quiet=self.outputs.quiet) as progress, redirect_stdout(sys.stderr):
            done = run_audit(
                subject.sampler, cases=subject.cases or (), control=self.control,
                settings=settings, run_dir=self.run_dir, progress=progress, command=self.command,
            )  # fmt: skip
        record = expected(compared(done.record, earlier or None), subject.expect)
        self.outputs.write(record)
        return _exit_code(record, exit_zero=self.exit_zero)


@click.command(epilog=EXIT_CODES)
@click.argument("record", type=click.Path(path_type=Path))
@options.outputs
@options.exit_zero
@color_option
@click.pass_obj
def rerun(command: str, /, record: Path, outputs: Outputs, exit_zero: bool) -> int:
    """Repeats the run behind RECORD with the same settings and seed, and compares the counts.

    A repeated seed is a check of the record, not new evidence. A verdict exits as in `run`; where
    the counts, the cases or the sampler's code are not those of the record, a PASS exits with 1.
    """
    from audit.recordfile import read_record
    from audit.run import run_audit

    before = read_record(record)
    with shown(quiet=outputs.quiet) as progress, redirect_stdout(sys.stderr):
        done = run_audit(
            before.sampler.name, cases=before.settings.cases, control=before.settings.control,
            settings=_settings_of(before), progress=progress, command=command,
        )  # fmt: skip
    outputs.write(done.record)
    differ = _say_differences(before, done.record)
    return _exit_code(done.record, exit_zero=exit_zero) or int(differ and not exit_zero)


def _settings_of(record: Record) -> Settings:
    from audit.run import Settings

    return Settings(**{item.name: getattr(record.settings, item.name) for item in fields(Settings)})


def _say_differences(before: Record, after: Record) -> bool:
    """Says what differs and returns whether anything does."""
    from audit.changes import differences

    found = differences(before, after)
    for sentence in found or ["same counts as in the record"]:
        click.echo(f"draftproof: {clean(sentence)}", err=True)
    return bool(found)


def _exit_code(record: Record, *, exit_zero: bool) -> int:
    return 0 if exit_zero and record.exit_code in VERDICT_CODES else record.exit_code
