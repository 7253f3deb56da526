"""`exact`: what a rule does, in fractions, without a sample."""

from __future__ import annotations

import click

from audit.cli.color import color_option, stdout_color
from audit.cli.output import emit, stdout_width


@click.command()
@click.argument("case", metavar="[CASE]...", nargs=-1)
@click.option(
    "--rule",
    default="ratio",
    show_default=True,
    metavar="RULE",
    help="A rule or fault of the catalogue.",
)
@color_option
def exact(case: tuple[str, ...], rule: str) -> int:
    """Prints exact laws, distance to the target and acceptance of a rule on CASEs.

    Exits 1 where the rule is biased on one of them, 0 where it is lossless on all.
    """
    from audit.exact.catalogue import rule as known_rule
    from audit.exact.summary import exact_summary
    from audit.render.exact import exact_text
    from audit.selection import select_cases

    cases = select_cases(case, drafts=known_rule(rule).trees or (None,))
    found = [(one, exact_summary(one, rule)) for one in cases]
    emit(exact_text(found, color=stdout_color(), width=stdout_width()))
    return int(any(summary.biased for _, summary in found))
