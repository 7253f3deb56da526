"""`init`: a configuration and a sampler to start from."""

from __future__ import annotations

from pathlib import Path
from shlex import quote

import click

from audit.cli.color import color_option
from audit.cli.output import emit


@click.command()
@click.argument("folder", metavar="[DIR]", default=".", type=click.Path(path_type=Path))
@click.option("--force", is_flag=True, help="Overwrite files of these names.")
@color_option
def init(folder: Path, force: bool) -> None:
    """Writes draftproof.toml and my_sampler.py into DIR, to be filled in.

    They run as they are: `draftproof run` there audits the sampler.
    """
    from audit.starter import write_starter

    written = write_starter(folder, force=force)
    there = "" if folder.resolve() == Path.cwd() else f"cd {quote(str(folder))} && "
    emit("\n".join([*(f"written: {path}" for path in written), f"next: {there}draftproof run"]))
