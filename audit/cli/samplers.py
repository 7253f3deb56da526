"""`samplers list|check`: what can be audited here, and whether it keeps the contract."""

from __future__ import annotations

import sys
from contextlib import redirect_stdout

import click

from audit.cli.color import color_option, stdout_color
from audit.cli.options import seed_option
from audit.cli.output import check_places, emit, stdout_width, write_forms
from audit.cli.parameters import Finite

UNWRAPPED = 1_000  # columns, more than any line of the list has
DTYPES = ("float32", "float64", "bfloat16", "float16")


@click.group()
def samplers() -> None:
    """Lists samplers, and checks one of them."""


@samplers.command("list")
@color_option
def list_samplers() -> None:
    """Lists the samplers that draftproof knows: name, levels, version or how to install it.

    Into a pipe every sampler takes one line.
    """
    from audit.render.listing import sampler_list
    from audit.samplers.listing import list_samplers as known

    width = stdout_width() if sys.stdout.isatty() else UNWRAPPED
    emit(sampler_list(known(), color=stdout_color(), width=width))


@samplers.command(epilog="Exit codes: 0 the contract is kept, 2 usage, 4 it is broken.")
@click.argument("sampler")
@click.option(
    "--dtype",
    "dtypes",
    type=click.Choice(DTYPES),
    multiple=True,
    default=("float32",),
    show_default=True,
    help="A type of probabilities that it must take. Repeatable; of others it is told whether.",
)
@seed_option("The seed of everything that is drawn.")
@click.option("--device", type=click.Choice(["cpu", "cuda"]), default="cpu", show_default=True)
@click.option(
    "--timeout",
    type=Finite(),
    default=60.0,
    show_default=True,
    metavar="SECONDS",
    help="The longest that one call may take.",
)
@click.option("--in-process", is_flag=True, help="Run a sampler's file in this process.")
@click.option("--python", metavar="PATH", help="The Python that runs the worker.")
@click.option("--json", metavar="FILE", help="Write what was found ('-': to stdout).")
@color_option
def check(
    sampler: str, dtypes: tuple[str, ...], seed: int, device: str, timeout: float,
    in_process: bool, python: str | None, json: str | None,
) -> int:  # fmt: skip
    """Checks the contract of SAMPLER alone, in a few calls and without any statistics.

    It tells which types, batches and drafts the sampler takes, proves rows that are mixed up by
    single tokens, and asks a program (process:COMMAND) for every rule of its protocol.
    """
    from audit.render.checking import checking_json, checking_text
    from audit.samplers.checking.check import check_sampler

    check_places(json=json)
    with redirect_stdout(sys.stderr):
        report = check_sampler(
            sampler, device=device, timeout=timeout, in_process=in_process, python=python,
            seed=seed, dtypes=dtypes,
        )  # fmt: skip
    color, width = stdout_color(), stdout_width()
    write_forms(
        lambda: checking_text(report, color=color, width=width),
        json=(json, lambda: checking_json(report)),
    )
    return report.exit_code
