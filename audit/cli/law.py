"""`law`: reads the exact law of a sampler off its code, by taking over its random numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import click

from audit.cli.color import color_option, stdout_color
from audit.cli.options import error_rates, exit_zero, seed_option
from audit.cli.output import check_places, stdout_width, write_forms
from audit.cli.parameters import Finite
from audit.cli.run import EXIT_CODES, VERDICT_CODES
from audit.render.plain import clean

if TYPE_CHECKING:
    from audit.case import Case
    from audit.laws.terms import Terms


@click.command(epilog=EXIT_CODES)
@click.argument("sampler")
@click.option(
    "--cases",
    multiple=True,
    metavar="ID|GLOB|PATH",
    help="Cases to read, as in run; of at most 64 ids. Repeatable; default: every small one.",
)
@click.option(
    "--coupled",
    type=click.IntRange(min=1),
    metavar="N",
    help="Fresh rows of the proof, a case. Default: as many calls as --epsilon takes, and more "
    "rows a call where --seconds allow it.",
)
@click.option(
    "--seconds",
    type=Finite(),
    default=2.0,
    show_default=True,
    help="What the rows of the proof of a case may take by default.",
)
@click.option(
    "--epsilon",
    type=Finite(1),
    default=5e-3,
    show_default=True,
    help="The total variation to certify.",
)
@click.option(
    "--tolerance",
    type=Finite(1),
    metavar="TV",
    help="What arithmetic may do to a round. Default: by the type, 1e-6 a position in float32.",
)
@click.option(
    "--dtype",
    type=click.Choice(["float32", "float64", "bfloat16"]),
    default="float32",
    show_default=True,
    help="The type of the probabilities handed over.",
)
@error_rates
@seed_option("The seed of everything that is drawn.")
@click.option(
    "--timeout",
    type=Finite(),
    default=600.0,
    show_default=True,
    metavar="SECONDS",
    help="The longest that a case of your own sampler may take.",
)
@click.option("--in-process", is_flag=True, help="Read your own sampler in this process.")
@click.option("--json", metavar="FILE", help="Write the record ('-': to stdout).")
@click.option("-q", "--quiet", is_flag=True, help="Print the verdict line only, and no progress.")
@click.option("-v", "--verbose", is_flag=True, help="Print every test, and a sampler's traceback.")
@exit_zero
@color_option
@click.pass_obj
def law(
    command: str, /, sampler: str, cases: tuple[str, ...], json: str | None, quiet: bool,
    verbose: bool, exit_zero: bool, **settings: int | float | str | None,
) -> int:  # fmt: skip
    """Reads the exact law of SAMPLER off its code on each case.

    SAMPLER is named as in run. Its random numbers are taken over: they are searched for every value
    at which it changes what it emits, and fresh calls prove what was found. Your own sampler runs
    in a process started for this, with this Python; it runs on the CPU.
    """
    from audit.law import read_laws
    from audit.lawrecord import LawSettings, to_json
    from audit.render.law import law_line, law_text

    check_places(json=json)
    record = read_laws(
        sampler, cases, settings=LawSettings.model_validate(settings),
        progress=_lines(quiet=quiet), command=command,
    )  # fmt: skip
    color, width = stdout_color(), stdout_width()
    write_forms(
        lambda: (
            law_line(record)
            if quiet
            else law_text(record, color=color, width=width, verbose=verbose)
        ),
        quiet=quiet,
        json=(json, lambda: to_json(record)),
    )
    return 0 if exit_zero and record.exit_code in VERDICT_CODES else record.exit_code


def _lines(*, quiet: bool) -> Callable[[Case, Terms], None]:
    """Returns what says of each case how it will be proven, before it is read."""

    def report(case: Case, terms: Terms) -> None:
        if not quiet:
            click.echo(f"law: {clean(case.id)}: {terms.promise}", err=True)

    return report
