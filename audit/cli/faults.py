"""`faults list|show|matrix`: the catalogue of rules, right and wrong, and what cases see of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from audit.cli.color import color_option, stdout_color
from audit.cli.output import check_places, emit, stdout_width, write_forms

if TYPE_CHECKING:
    from audit.exact.matrix import Measure


@click.group()
def faults() -> None:
    """Lists and shows catalogued rules and faults, and what cases see of them."""


@faults.command("list")
@color_option
def list_faults() -> None:
    """Lists the faults, and the lossless rules beside which they stand."""
    from audit.exact.catalogue import RULES
    from audit.render.catalogue import rule_list

    emit(rule_list(RULES.values(), color=stdout_color(), width=stdout_width()))


@faults.command()
@click.argument("fault", metavar="FAULT...", nargs=-1, required=True)
@color_option
def show(fault: tuple[str, ...]) -> None:
    """Shows what rules or faults do, how they come about, and reports of them."""
    from audit.exact.catalogue import rule
    from audit.render.catalogue import rule_page

    pages = [rule_page(rule(one), color=stdout_color(), width=stdout_width()) for one in fault]
    emit("\n".join(pages))


@faults.command()
@click.option(
    "--cases",
    multiple=True,
    metavar="ID|GLOB|PATH",
    help="Cases to compare. Repeatable; default: every small case, chains and trees. A single "
    "case: all measures of it.",
)
@click.option(
    "--measure",
    type=click.Choice(["completed", "block", "impossible"]),
    default="completed",
    show_default=True,
    help="Bias of the completed law; distance of the emitted blocks from the base rule's; "
    "chance of an impossible event.",
)
@click.option("--csv", metavar="FILE", help="Write one measure as a table ('-': to stdout).")
@click.option("--json", metavar="FILE", help="Write every measure, exactly ('-': to stdout).")
@color_option
def matrix(cases: tuple[str, ...], measure: Measure, csv: str | None, json: str | None) -> None:
    """Shows which case sees which fault, and which are blind to it."""
    from audit.exact.matrix import fault_matrix
    from audit.render.matrix import matrix_csv, matrix_json, matrix_text
    from audit.selection import select_cases

    check_places(csv=csv, json=json)
    found = fault_matrix(select_cases(cases or ("small", "trees")))
    color, width = stdout_color(), stdout_width()
    write_forms(
        lambda: matrix_text(found, measure=measure, color=color, width=width),
        csv=(csv, lambda: matrix_csv(found, measure)),
        json=(json, lambda: matrix_json(found)),
    )
