"""`step`: audits a sampler that proposes and verifies, its claim first."""

from __future__ import annotations

import sys
from contextlib import redirect_stdout
from functools import partial
from typing import Any

import click

from audit.cli import options
from audit.cli.color import color_option, stdout_color
from audit.cli.output import check_places, stdout_width, write_forms
from audit.cli.parameters import Finite
from audit.cli.progress import shown
from audit.cli.run import EXIT_CODES, VERDICT_CODES


@click.command(epilog=EXIT_CODES)
@click.argument("sampler")
@click.option(
    "--cases",
    multiple=True,
    metavar="ID|GLOB|PATH",
    help="Cases to run, small ones that draft chains. Repeatable; default: every shipped one.",
)
@click.option(
    "--drafts",
    default="sampled",
    show_default=True,
    metavar="NAME",
    help="How a rule of ours drafts: sampled, or one of the faults in docs/step-level.md.",
)
@options.budget
@click.option(
    "--timeout",
    type=Finite(),
    default=60.0,
    show_default=True,
    metavar="SECONDS",
    help="The longest that one call may take.",
)
@click.option("--in-process", is_flag=True, help="Run a file of yours in this process.")
@click.option("--python", metavar="PATH", help="The Python that runs the worker.")
@options.seed_option("The seed of completions and of the sampler's generator.")
@click.option("--json", metavar="FILE", help="Write the record ('-': to stdout).")
@click.option("--html", metavar="FILE", help="Write the page ('-': to stdout).")
@click.option("-q", "--quiet", is_flag=True, help="Print the first line only, and no progress.")
@click.option("-v", "--verbose", is_flag=True, help="Print a sampler's traceback too.")
@options.exit_zero
@color_option
@click.pass_obj
def step(
    command: str, /, sampler: str, cases: tuple[str, ...], drafts: str, json: str | None,
    html: str | None, quiet: bool, verbose: bool, exit_zero: bool, **settings: Any,
) -> int:  # fmt: skip
    """Audits SAMPLER where it drafts for itself: is q what it says, and what does it emit?

    SAMPLER is reference, rule:ID, fault:ID, module:object or path/to/file.py:object, which is
    handed two models (docs/step-level.md).
    """
    from audit.render.step import first_line, step_text
    from audit.render.step_page import step_page
    from audit.settings import Settings
    from audit.stepping.auditing import run_step
    from audit.stepping.record import to_json

    check_places(json=json, html=html)
    with shown(quiet=quiet) as progress, redirect_stdout(sys.stderr):
        record = run_step(
            sampler, cases=cases, drafts=drafts, settings=Settings(**settings),
            progress=progress, command=command,
        )  # fmt: skip
    text = partial(step_text, record, color=stdout_color(), width=stdout_width(), verbose=verbose)
    write_forms(
        lambda: first_line(record) if quiet else text(),
        quiet=quiet,
        json=(json, lambda: to_json(record)),
        html=(html, lambda: step_page(record)),
    )
    return 0 if exit_zero and record.exit_code in VERDICT_CODES else record.exit_code
