"""`report` renders a record again: as text, as a page, or as the JSON in a page."""

from __future__ import annotations

from pathlib import Path

import click

from audit.cli import options
from audit.cli.color import color_option
from audit.cli.output import Outputs


@click.command()
@click.argument("record", type=click.Path(path_type=Path))
@options.outputs
@color_option
def report(record: Path, outputs: Outputs) -> None:
    """Shows RECORD, a JSON file or a page that carries one; samples nothing."""
    from audit.record import read_record

    outputs.write(read_record(record))
