"""What the values of options may be: finite numbers, seeds, rows a call."""

from __future__ import annotations

import math
from typing import Any

import click

MOST_SEED = (1 << 63) - 1  # generators take 64 bits, and some of ours begin a few numbers later


class Finite(click.FloatRange):
    """A finite number above 0, and below `max` where it is given; click lets NaN through."""

    name = "number"

    def __init__(self, max: float | None = None) -> None:
        super().__init__(min=0, max=max, min_open=True, max_open=True)

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """Returns the number. Raises click's usage error for any other text."""
        number = float(super().convert(value, param, ctx))
        if not math.isfinite(number):
            self.fail(f"{value} is not a finite number.", param, ctx)
        return number


class Seed(click.IntRange):
    """A whole number from 0 to MOST_SEED; help names the lower bound alone."""

    def __init__(self) -> None:
        super().__init__(min=0)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Returns the number. Raises click's usage error for any other text."""
        seed = int(super().convert(value, param, ctx))
        if seed > MOST_SEED:
            self.fail(f"{value} is above {MOST_SEED}, the largest seed.", param, ctx)
        return seed


def rows(ctx: click.Context, param: click.Parameter, value: str) -> int | None:
    """Returns the rows a call, None for "auto". Raises click's usage error for any other text."""
    if value == "auto":
        return None
    if value.isdecimal() and int(value) > 0:
        return int(value)
    raise click.BadParameter(f"{value!r} is neither 'auto' nor a number above 0.", ctx, param)
