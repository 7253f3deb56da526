"""`optimum`: how far a rule is from the best possible sampler, in fractions."""

from __future__ import annotations

from pathlib import Path

import click

from audit.cli.color import color_option, stdout_color
from audit.cli.output import STDOUT, emit, stdout_width
from audit.files import check_writable, write_atomically


@click.command()
@click.argument("case", metavar="CASE...", nargs=-1, required=True)
@click.option(
    "--rule",
    metavar="RULE",
    help="A rule of the catalogue. Default: the standard one for the case's drafts.",
)
@click.option(
    "--json",
    "file",
    metavar="FILE",
    help="Write the figures ('-': to stdout, and nothing else).",
)
@color_option
def optimum(case: tuple[str, ...], rule: str | None, file: str | None) -> None:
    """Compares what a rule accepts on CASEs with the best that any lossless rule could do.

    Exact figures of one round. None of them is evidence that a sampler is correct.
    """
    from audit.exact.comparison import comparison
    from audit.render.optimum import optimum_json, optimum_text
    from audit.selection import select_cases

    if file and file != STDOUT:
        check_writable(Path(file))
    found = [comparison(one, rule) for one in select_cases(case)]
    if file == STDOUT:
        emit(optimum_json(found))
        return
    emit(optimum_text(found, color=stdout_color(), width=stdout_width()))
    if file:
        write_atomically(Path(file), optimum_json(found) + "\n")
