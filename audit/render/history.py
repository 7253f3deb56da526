"""What came before a result, in words: attempts at the run, and changes since an earlier record."""

from __future__ import annotations

from collections.abc import Iterable

from audit.history import Attempt, Since
from audit.plural import counted
from audit.record import Record
from audit.render.facts import Facts
from audit.render.plain import clean

MOST_NAMES = 20
NAME_LIMIT = 60
VERSION_LIMIT = 20


def since_heading(record: Record) -> str:
    """Returns what the record was compared with, "" where it was compared with nothing."""
    since = record.since
    if since is None:
        return ""
    other = since.sampler != record.sampler.name
    of = f", which is of {clean(since.sampler, NAME_LIMIT)}" if other else ""
    return f"Since the record of {clean(since.started, NAME_LIMIT)}{of}"


def since_facts(since: Since) -> Facts:
    """Returns what has changed, in terms and values; at least that nothing has."""
    found = (
        ("Newly failing", _names(since.newly_failing)),
        ("Newly passing", _names(since.newly_passing)),
        ("Newly undecided", _names(since.newly_undecided)),
        ("Cases added", _names(since.added)),
        ("Cases left out", _names(since.removed)),
        ("Cases that are not the same", _names(since.redefined)),
        ("Code", _names(map(_change, since.code, since.code.values()))),
    )
    return [(term, value) for term, value in found if value] or [("Changes", "none")]


def since_lines(record: Record) -> list[str]:
    """Returns the changes as lines, [] where the record was compared with nothing."""
    if record.since is None:
        return []
    facts = since_facts(record.since)
    return [f"{since_heading(record)}:", *(f"  {term}: {value}" for term, value in facts)]


def attempt_facts(record: Record) -> Facts:
    """Returns every attempt at the run, the earliest first."""
    total = len(record.attempts)
    return [
        (f"Attempt {number} of {total}", _attempt(one))
        for number, one in enumerate(record.attempts, start=1)
    ]


def _attempt(one: Attempt) -> str:
    ended = "never finished" if one.exit_code is None else f"exit code {one.exit_code}"
    amount = f"tier {one.tier}, up to {counted(one.cap, 'trial')} a case, seed {one.seed}"
    return clean(f"{one.started}, {amount}: {ended}")


def _names(names: Iterable[str]) -> str:
    """Returns a list of names, the first of many.

    >>> _names(["a", "b"])
    'a, b'
    """
    listed = [clean(name, NAME_LIMIT) for name in names]
    more = len(listed) - MOST_NAMES
    return ", ".join(listed[:MOST_NAMES]) + (f" and {more} more" if more > 0 else "")


def _change(what: str, pair: tuple[str, str]) -> str:
    """Returns what has changed, with both versions where they are short.

    >>> _change("torch", ("2.4", "2.13")), _change("hashed", ("a" * 64, "b" * 64))
    ('torch from 2.4 to 2.13', 'hashed')
    """
    short = all(0 < len(version) <= VERSION_LIMIT for version in pair)
    return f"{what} from {pair[0]} to {pair[1]}" if short else what
