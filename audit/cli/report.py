"""`report` renders a record again: that of a run in any form, as the JSON in a page too."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click
from click.core import ParameterSource

from audit.cli import options
from audit.cli.color import color_option
from audit.cli.configuration import configured
from audit.cli.output import Outputs
from audit.plural import counted

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
@click.pass_context
def report(
    ctx: click.Context, /, record: Path, baseline_record: Path | None, figures: Path | None,
    all_figures: bool, outputs: Outputs,
) -> None:  # fmt: skip
    """Shows RECORD, a JSON file or a page that carries one; samples nothing."""
    from audit.changes import compared
    from audit.cli.others import show_other
    from audit.kinds import command_of
    from audit.record import Record
    from audit.recordfile import read_data, read_record, validated

    data = read_data(record)
    if (command := command_of(data)) != "run":
        show_other(command, data, record, outputs, stated=_stated(ctx))
        return
    earlier = None if baseline_record is None else read_record(baseline_record)
    shown = compared(validated(Record, data, record), earlier)
    outputs.write(shown)
    if figures is not None:
        _draw(shown, figures, passed=all_figures, quiet=outputs.quiet)


def _stated(ctx: click.Context) -> list[str]:
    """Returns the options that stand on the command line."""
    given = ctx.get_parameter_source
    return [name for name in ctx.params if given(name) is ParameterSource.COMMANDLINE]


def _draw(record: Record, folder: Path, *, passed: bool, quiet: bool) -> None:
    from audit.render.charts import write_figures

    files = list(write_figures(record, folder, passed=passed))
    hint = "" if passed or files else "; --all-figures draws the cases that passed too"
    if not quiet:
        click.echo(f"written: {counted(len(files), 'file')} in {folder}{hint}", err=True)
