"""`trace`: audits what an engine recorded, without calling it."""

from __future__ import annotations

import time
from collections.abc import Callable

import click

from audit.cli.color import color_option, stdout_color
from audit.cli.options import error_rates, exit_zero
from audit.cli.output import check_places, stdout_width, write_forms
from audit.cli.parameters import Finite
from audit.cli.progress import SECONDS_BETWEEN_LINES
from audit.cli.run import VERDICT_CODES
from audit.render.plain import clean

EXIT_CODES = """\
Exit codes: 0 nothing failed and the pooled bins are bounded by epsilon, 1 biased or dependent,
2 usage, or no usable record, 3 undecided, 70 internal error, 130 interrupted.
"""


@click.command(epilog=EXIT_CODES)
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@click.option(
    "--declares",
    multiple=True,
    metavar="RULE",
    help="A rule that the engine is said to follow. Repeatable.",
)
@click.option(
    "--epsilon",
    type=Finite(1),
    default=0.05,
    show_default=True,
    help="The total variation of the pooled bins to certify.",
)
@error_rates
@click.option(
    "--tolerance",
    type=Finite(1),
    metavar="TV",
    help="How far recorded rows may be from those that were used; default: by their type and size.",
)
@click.option(
    "--limit",
    type=click.IntRange(min=1),
    metavar="N",
    help="A quick look at the first N rounds, without a verdict.",
)
@click.option("--json", metavar="FILE", help="Write the record ('-': to stdout).")
@click.option("-q", "--quiet", is_flag=True, help="Print the verdict line only, and no progress.")
@exit_zero
@color_option
@click.pass_obj
def trace(
    command: str, /, files: tuple[str, ...], declares: tuple[str, ...], json: str | None,
    quiet: bool, exit_zero: bool, **settings: float | int | None,
) -> int:  # fmt: skip
    """Audits the rounds that an engine recorded in FILE...: each context is seen once.

    FILE holds JSON lines (gzipped or not; '-' is standard input), or arrays as .npz or
    .safetensors. docs/traces.md describes the records, and a logger of 15 lines.
    """
    from audit.render.trace import trace_line, trace_text
    from audit.trace import TraceSettings, run_trace
    from audit.tracerecord import to_json

    check_places(json=json)
    chosen = TraceSettings.model_validate({"declares": declares, **settings})
    done = run_trace(files, settings=chosen, progress=None if quiet else _lines(), command=command)
    color, width = stdout_color(), stdout_width()
    write_forms(
        lambda: trace_line(done) if quiet else trace_text(done, color=color, width=width),
        quiet=quiet,
        json=(json, lambda: to_json(done)),
    )
    return 0 if exit_zero and done.exit_code in VERDICT_CODES else done.exit_code


def _lines() -> Callable[[str, int], None]:
    """Returns what prints a line on stderr every 30 seconds, without any evidence: nobody should
    stop reading because of what he sees."""
    last = time.monotonic()

    def report(file: str, rounds: int) -> None:
        nonlocal last
        if time.monotonic() - last >= SECONDS_BETWEEN_LINES:
            last = time.monotonic()
            click.echo(f"trace: {rounds:,} rounds, {clean(file)}", err=True)

    return report
