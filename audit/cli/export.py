"""`export`: a finding as a script for a bug report."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import click

from audit.cli.color import color_option
from audit.cli.options import seed_option
from audit.cli.output import STDOUT, check_places, emit
from audit.files import write_atomically
from audit.render.plain import clean


@click.command()
@click.argument("case", metavar="CASE")
@click.option(
    "--sampler",
    required=True,
    metavar="SAMPLER",
    help="The sampler to call, module:object or path.py:object.",
)
@click.option(
    "--out", default=STDOUT, show_default=True, metavar="FILE", help="Where the script goes."
)
@click.option(
    "--rounds",
    type=click.IntRange(min=1),
    default=100_000,
    show_default=True,
    metavar="N",
    help="The rounds that the script makes.",
)
@seed_option("The script's seed.")
@color_option
def export(case: str, sampler: str, out: str, rounds: int, seed: int) -> None:
    """Writes a script that shows on CASE what a sampler emits, without draftproof.

    It needs torch and the sampler, prints the total variation and the farthest deviation, and
    exits with 1 where the sampler is biased.
    """
    from audit.fitting import cases_for
    from audit.render.export import export_script
    from audit.samplers.registry import load_sampler
    from audit.selection import select_cases

    check_places(out=out)
    chosen = select_cases([case])
    if len(chosen) > 1:
        raise click.UsageError(f"CASE {case} names {len(chosen)} cases; name one.")
    with closing(load_sampler(sampler)) as loaded:
        (fitting,) = cases_for(loaded, chosen)
    script = export_script(fitting, loaded, rounds=rounds, seed=seed)
    if out == STDOUT:
        emit(script)
    else:
        write_atomically(Path(out), script)
        click.echo(f"written: {clean(out)}", err=True)
