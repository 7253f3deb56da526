"""`report` renders a record again: as text or in any form, as the JSON in a page too."""

from __future__ import annotations

from pathlib import Path

import click

from audit.cli import options
from audit.cli.color import color_option
from audit.cli.configuration import configured
from audit.cli.output import Outputs


@click.command()
@click.argument("record", type=click.Path(path_type=Path))
@options.baseline
@options.outputs
@configured
@color_option
def report(record: Path, baseline_record: Path | None, outputs: Outputs) -> None:
    """Shows RECORD, a JSON file or a page that carries one; samples nothing."""
    from audit.changes import compared
    from audit.record import read_record

    earlier = None if baseline_record is None else read_record(baseline_record)
    outputs.write(compared(read_record(record), earlier))
