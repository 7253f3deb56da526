"""`selftest`: the tool's own false alarms, certificates and stopping times."""

from __future__ import annotations

import click

from audit.cli.color import color_option, stdout_color
from audit.cli.options import seed_option
from audit.cli.output import check_places, stdout_width, write_forms


@click.command()
@click.option("--quick", is_flag=True, help="A glance in about a minute, marked as quick.")
@seed_option("The seed of everything that is drawn.")
@click.option("--json", metavar="FILE", help="Write all figures ('-': to stdout).")
@color_option
def selftest(quick: bool, seed: int, json: str | None) -> int:
    """Measures how often draftproof itself is wrong, and how fast it finds every fault.

    Up to ten minutes on two cores. Exits 1 where a rate contradicts its nominal level.
    """
    from audit.render.selftest import selftest_json, selftest_text
    from audit.selftest import FULL, QUICK, run_selftest

    check_places(json=json)
    found = run_selftest(
        QUICK if quick else FULL,
        seed=seed,
        progress=lambda what: click.echo(f"selftest: {what}", err=True),
    )
    color, width = stdout_color(), stdout_width()
    write_forms(
        lambda: selftest_text(found, color=color, width=width),
        json=(json, lambda: selftest_json(found)),
    )
    return int(bool(found.inconsistent))
