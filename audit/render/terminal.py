"""Tables and coloured lines as text for a terminal, whatever stands in them.

Texts are built as rich `Text`, never as markup, so that a name in brackets stays a name.
"""

from __future__ import annotations

import io
from collections.abc import Iterable

from rich.console import Console, RenderableType
from rich.table import Table

STYLES = {"good": "green", "bad": "bold red", "within": "yellow", "open": "yellow"}
NARROW = 90


def rendered(parts: Iterable[RenderableType], *, color: bool, width: int) -> str:
    """Returns what rich makes of the parts, without spaces at the ends of lines."""
    buffer = io.StringIO()
    console = Console(
        file=buffer,
        force_terminal=color,
        color_system="standard" if color else None,
        width=width,
        highlight=False,
        emoji=False,
        markup=False,
    )
    for part in parts:
        console.print(part)
    return "\n".join(line.rstrip() for line in buffer.getvalue().splitlines()) + "\n"


def plain_table(*headings: str, numbers: Iterable[str] = ()) -> Table:
    """Returns an empty table without lines; the columns in `numbers` stand to the right."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for heading in headings:
        number = heading in numbers
        table.add_column(heading, justify="right" if number else "left", no_wrap=number)
    return table
