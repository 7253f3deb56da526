"""`report` renders a record again: as text or in any form, as the JSON in a page too."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from audit.cli import options
from audit.cli.color import color_option
from audit.cli.configuration import configured
from audit.cli.output import Outputs

if TYPE_CHECKING:
    from audit.record import Record


@click.command()
@click.argument("record", type=click.Path(path_type=Path))
@options.baseline
@click.option(
    "--figures",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Draw the cases that did not pass there, as PNG, SVG and PDF.",
)
@click.option("--all-figures", is_flag=True, help="Draw the cases that passed too.")
@options.outputs
@configured
@color_option
def report(
    record: Path,
    baseline_record: Path | None,
    figures: Path | None,
    all_figures: bool,
    outputs: Outputs,
) -> None:
    """Shows RECORD, a JSON file or a page that carries one; samples nothing."""
    from audit.changes import compared
    from audit.record import read_record

    earlier = None if baseline_record is None else read_record(baseline_record)
    shown = compared(read_record(record), earlier)
    outputs.write(shown)
    if figures is not None:
        _draw(shown, figures, passed=all_figures, quiet=outputs.quiet)


def _draw(record: Record, folder: Path, *, passed: bool, quiet: bool) -> None:
    from audit.render.charts import write_figures

    files = list(write_figures(record, folder, passed=passed))
    hint = "" if passed or files else "; --all-figures draws the cases that passed too"
    if not quiet:
        click.echo(f"written: {len(files)} files in {folder}{hint}", err=True)
