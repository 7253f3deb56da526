"""`cases list|show|validate`: the worlds in which samplers are audited."""

from __future__ import annotations

import click

from audit.cli.color import color_option, stdout_color
from audit.cli.output import emit, stdout_width


@click.group()
def cases() -> None:
    """Lists, shows and validates cases."""


@cases.command("list")
@color_option
def list_cases() -> None:
    """Lists the cases that ship with draftproof; 'large' ones run only when they are named."""
    from audit.render.listing import case_list
    from audit.selection import select_cases

    emit(case_list(select_cases(["all"]), color=stdout_color(), width=stdout_width()))


@cases.command()
@click.argument("case", metavar="CASE...", nargs=-1, required=True)
@color_option
def show(case: tuple[str, ...]) -> None:
    """Shows the rows of the cases named by id, pattern or path, after all sampling rules."""
    from audit.render.listing import case_page
    from audit.selection import select_cases

    pages = [
        case_page(found, color=stdout_color(), width=stdout_width()) for found in select_cases(case)
    ]
    emit("\n".join(pages))


@cases.command()
@click.argument("path", metavar="PATH...", nargs=-1, required=True)
@color_option
def validate(path: tuple[str, ...]) -> None:
    """Checks case files or folders; a broken set exits 2 and lists every error."""
    from audit.selection import select_cases

    found = len(select_cases(path))
    emit("1 case is valid" if found == 1 else f"{found} cases are valid")
