"""Things with their number."""

from __future__ import annotations


def counted(number: int, noun: str) -> str:
    """Returns a number with its noun; `noun` may have more words than one.

    >>> counted(1, "bad record"), counted(0, "row"), counted(2_000, "row")
    ('1 bad record', '0 rows', '2,000 rows')
    """
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def are(number: int) -> str:
    """Returns the verb after a number of things.

    >>> are(1), are(2)
    ('is', 'are')
    """
    return "is" if number == 1 else "are"
