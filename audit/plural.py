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


def on_average(number: float) -> str:
    """Returns a mean of counts to a tenth, what is less in one figure, and none at all as "0".

    >>> on_average(1234.56), on_average(0.0123), on_average(0.0)
    ('1,234.6', '0.01', '0')
    """
    if number == 0:
        return "0"
    return f"{number:,.1f}" if number >= 0.05 else f"{number:.1g}"
