"""The configuration as a table for a terminal: samplers, values, and where each comes from."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain

from rich.text import Text

from audit.config import Config, Subject
from audit.render.plain import clean
from audit.render.terminal import plain_table, rendered

Rows = Iterable[tuple[str, object, str]]


def configuration_text(config: Config | None, rows: Rows, *, color: bool, width: int) -> str:
    """Returns the samplers of a configuration file, then each value with its source."""
    table = plain_table("key", "value", "from")
    for name, value, source in chain(_samplers(config) if config else [], rows):
        shown = (clean(name), clean(_value(value), 200), clean(source, 200))
        table.add_row(*map(Text, shown))
    return rendered([table], color=color, width=width)


def _samplers(config: Config) -> Rows:
    for number, one in enumerate(config.samplers, start=1):
        yield f"samplers {number}", _subject(one), str(config.path)


def _subject(one: Subject) -> str:
    """Returns a sampler and what is its own.

    >>> _subject(Subject(sampler="a:b", cases=["small"], expect="fail"))
    'a:b, cases small, expect fail'
    """
    own = one.model_dump(exclude={"sampler"}, exclude_defaults=True)
    return ", ".join([one.sampler, *(f"{key} {_value(value)}" for key, value in own.items())])


def _value(value: object) -> str:
    """Returns a value as one would write it, "–" where none is given."""
    if isinstance(value, list | tuple):
        return ", ".join(map(str, value)) or "–"
    return "–" if value is None else str(value)
