"""`samplers list`: what can be audited here."""

from __future__ import annotations

import click

from audit.cli.color import color_option, stdout_color
from audit.cli.output import emit, stdout_width


@click.group()
def samplers() -> None:
    """Lists samplers."""


@samplers.command("list")
@color_option
def list_samplers() -> None:
    """Lists the samplers that draftproof knows: name, level, version or how to install it."""
    from audit.render.listing import sampler_list
    from audit.samplers.registry import list_samplers as known

    emit(sampler_list(known(), color=stdout_color(), width=stdout_width()))
