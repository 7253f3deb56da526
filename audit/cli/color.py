"""Whether to colour: `--color`, then NO_COLOR, then FORCE_COLOR, then whether it is a terminal.

click itself heeds neither variable, so the answer is put into its context.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import TypeVar

import click

F = TypeVar("F", bound=Callable[..., object])


def _set_color(ctx: click.Context, _: click.Parameter, value: str | None) -> None:
    if value in ("always", "never"):
        ctx.color = value == "always"
    elif value == "auto" or ctx.parent is None:
        ctx.color = _from_environment()


def _from_environment() -> bool | None:
    if os.environ.get("NO_COLOR"):
        return False
    return True if os.environ.get("FORCE_COLOR") else None


def color_option(command: F) -> F:
    """Returns the command with the option `--color`."""
    return click.option(
        "--color",
        type=click.Choice(["auto", "always", "never"]),
        expose_value=False,
        is_eager=True,
        callback=_set_color,
        help="Colour the output (default: auto; NO_COLOR and FORCE_COLOR are heeded).",
    )(command)


def stdout_color() -> bool:
    """Returns whether the result is printed in colour."""
    color = click.get_current_context().color
    return sys.stdout.isatty() if color is None else color
