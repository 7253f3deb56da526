"""The options of `run`, in the groups in which one thinks about them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from functools import wraps
from pathlib import Path
from typing import Any, TypeVar

import click

from audit.cli.output import Outputs
from audit.cli.parameters import Finite, Seed, rows

F = TypeVar("F", bound=Callable[..., object])
Option = Callable[[Any], Any]
TIERS = ("smoke", "ci", "audit", "deep")
METHODS = ("sampled", "steered", "both")


def seed_option(help: str) -> Option:
    """Returns the option `--seed`."""
    return click.option("--seed", type=Seed(), default=0, show_default=True, metavar="N", help=help)


def _all(*options: Option) -> Callable[[F], F]:
    """Returns one decorator that applies the options, so that help lists them in this order."""

    def decorate(command: F) -> F:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


selection = _all(
    click.option(
        "--cases",
        multiple=True,
        metavar="ID|GLOB|PATH",
        help="Cases to run: ids, patterns, files, folders, 'small', 'large', 'trees' or 'all'. "
        "Repeatable; default: every small case, or tree, that the sampler takes.",
    ),
    click.option(
        "--control",
        metavar="FAULT",
        help="Audit this fault too, and demand that it fails.",
    ),
    click.option(
        "--declares",
        multiple=True,
        metavar="RULE",
        help="A rule that the sampler is said to follow. Repeatable.",
    ),
)

error_rates = _all(
    click.option(
        "--alpha",
        type=Finite(1),
        default=1e-6,
        show_default=True,
        help="The chance that correct code is accused, a run.",
    ),
    click.option(
        "--delta",
        type=Finite(1),
        default=1e-3,
        show_default=True,
        help="The chance that a certificate is wrong, a run.",
    ),
)

method = click.option(
    "--method",
    type=click.Choice(METHODS),
    help="Judge by sampled rounds, by the law that is read off the code, or by both, which "
    "must agree. Default: both; sampled in tier smoke and with --samples or --limit.",
)

budget = _all(
    click.option(
        "--tier",
        type=click.Choice(TIERS),
        default="ci",
        show_default=True,
        help="What to spend: the most trials a case, and epsilon.",
    ),
    click.option(
        "--samples",
        type=click.IntRange(min=1),
        metavar="N",
        help="Exactly N trials a case, judged once, at the end.",
    ),
    click.option(
        "--epsilon",
        type=Finite(1),
        help="The total variation to certify, in place of the tier's.",
    ),
    click.option(
        "--accept-within",
        type=Finite(1),
        metavar="EPSILON",
        help="Accept a proven bias if it is certified to be at most this.",
    ),
    error_rates,
    click.option(
        "--time-limit",
        type=Finite(),
        metavar="SECONDS",
        help="Stop sampling after this long and judge what there is.",
    ),
    click.option(
        "--limit",
        type=click.IntRange(min=1),
        metavar="N",
        help="A quick look at N trials a case, without a verdict.",
    ),
)

machine = _all(
    seed_option("The seed of drafts, completions and the sampler's generator."),
    click.option(
        "--device",
        type=click.Choice(["auto", "cpu", "cuda"]),
        default="auto",
        show_default=True,
        help="Where the tensors live.",
    ),
    click.option(
        "--dtype",
        type=click.Choice(["float32", "float64", "bfloat16"]),
        default="float32",
        show_default=True,
        help="The type of the probabilities handed over.",
    ),
    click.option(
        "--batch-size",
        default="auto",
        show_default=True,
        metavar="auto|N",
        callback=rows,
        help="Rows a call. auto: many, and some small calls first.",
    ),
    click.option(
        "--small-batches",
        is_flag=True,
        help="Make calls of 1, 2, 3, 8 and 64 rows alone, a share of the rows each.",
    ),
    click.option(
        "--timeout",
        type=Finite(),
        default=60.0,
        show_default=True,
        metavar="SECONDS",
        help="The longest that one call may take.",
    ),
    click.option(
        "--in-process",
        is_flag=True,
        help="Run a sampler's file in this process, without a worker.",
    ),
    click.option(
        "--python",
        metavar="PATH",
        help="The Python that runs the worker.",
    ),
    click.option(
        "--run-dir",
        type=click.Path(path_type=Path, file_okay=False),
        metavar="DIR",
        help="Keep the counts here; given again, the run resumes, or a larger --tier with the same "
        "--epsilon extends it.",
    ),
)

baseline = click.option(
    "--baseline-record",
    type=click.Path(path_type=Path),
    metavar="RECORD",
    help="Tell what has changed since this earlier record.",
)

_outputs = _all(
    click.option(
        "--json",
        metavar="FILE",
        help="Write the record ('-': to stdout, and nothing else).",
    ),
    click.option(
        "--html",
        metavar="FILE",
        help="Write the page. '-' means stdout for this and the forms below too.",
    ),
    click.option(
        "--junit",
        metavar="FILE",
        help="Write JUnit XML, a test case for each case.",
    ),
    click.option(
        "--sarif",
        metavar="FILE",
        help="Write SARIF 2.1.0, for code scanning.",
    ),
    click.option(
        "--markdown",
        metavar="FILE",
        help="Write the summary as Markdown.",
    ),
    click.option(
        "--csv",
        metavar="FILE",
        help="Write the numbers of each case as CSV.",
    ),
    click.option(
        "--code-quality",
        metavar="FILE",
        help="Write a GitLab code quality report.",
    ),
    click.option(
        "-q",
        "--quiet",
        is_flag=True,
        help="Print the verdict line only, and no progress.",
    ),
    click.option(
        "-v",
        "--verbose",
        is_flag=True,
        help="Print every statistic, and a sampler's traceback.",
    ),
)

exit_zero = click.option(
    "--exit-zero",
    is_flag=True,
    help="Report only: exit 0 whatever the verdict.",
)


def outputs(command: Callable[..., object]) -> Callable[..., object]:
    """Returns the command with the options of a result; it receives them as `outputs`."""

    @wraps(command)
    def checked(*args: Any, **options: Any) -> object:
        where = {item.name: options.pop(item.name) for item in fields(Outputs)}
        return command(*args, outputs=Outputs(**where), **options)

    return _outputs(checked)
