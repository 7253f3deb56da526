"""`faults list|show`: the catalogue of rules, right and wrong."""

from __future__ import annotations

import click

from audit.cli.color import color_option, stdout_color
from audit.cli.output import emit, stdout_width


@click.group()
def faults() -> None:
    """Lists and shows catalogued rules and faults."""


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
