"""`plan`: how many rounds a fault or a bias takes to be found, before any sampling."""

from __future__ import annotations

import click

from audit.cli.color import color_option, stdout_color
from audit.cli.options import TIERS
from audit.cli.output import check_places, stdout_width, write_forms
from audit.cli.parameters import Finite


@click.command()
@click.option("--fault", metavar="FAULT", help="A fault of the catalogue.")
@click.option(
    "--tv",
    type=Finite(1),
    help="A total variation: of --fault in a share of the rounds, else of the bias that is "
    "hardest to see.",
)
@click.option(
    "--power",
    type=Finite(1),
    default=0.9,
    show_default=True,
    help="The chance with which it is to be found.",
)
@click.option(
    "--cases",
    multiple=True,
    metavar="ID|GLOB|PATH",
    help="Cases to plan for, which share alpha. Repeatable; default: every small case.",
)
@click.option(
    "--tier",
    type=click.Choice(TIERS),
    default="ci",
    show_default=True,
    help="The tier whose trials and epsilon are told about.",
)
@click.option(
    "--samples",
    type=click.IntRange(min=1),
    metavar="N",
    help="Tell the smallest TV that N trials a case find, in place of the tier's.",
)
@click.option("--epsilon", type=Finite(1), help="The total variation to certify.")
@click.option("--alpha", type=Finite(1), default=1e-6, show_default=True, help="As in run.")
@click.option("--json", metavar="FILE", help="Write the plan ('-': to stdout).")
@color_option
def plan(
    fault: str | None, tv: float | None, power: float, cases: tuple[str, ...],
    json: str | None, tier: str, samples: int | None, epsilon: float | None, alpha: float,
) -> None:  # fmt: skip
    """Tells how many rounds each case needs to show a fault or a bias, and which are blind to it.

    Without --fault and --tv: the commonest public fault.
    """
    from audit.plan import make_plan
    from audit.render.plan import plan_json, plan_text
    from audit.settings import Settings

    check_places(json=json)
    settings = Settings(tier=tier, samples=samples, epsilon=epsilon, alpha=alpha)
    made = make_plan(cases, fault=fault, tv=tv, power=power, settings=settings)
    color, width = stdout_color(), stdout_width()
    write_forms(
        lambda: plan_text(made, color=color, width=width), json=(json, lambda: plan_json(made))
    )
