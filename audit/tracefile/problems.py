"""What is wrong with a part of a trace: raised where it is found, kept where it was read."""

from __future__ import annotations

from dataclasses import dataclass

LONGEST_VALUE = 60


class BadRecord(ValueError):  # noqa: N818 - it names what is bad
    """Raised for a record that cannot be judged: which field, what it holds, and why not."""

    def __init__(self, field: str, value: object, reason: str) -> None:
        super().__init__(f"{field} = {shortened(value)} {reason}")
        self.field, self.value, self.reason = field, shortened(value), reason


class CutOff(BadRecord):
    """Raised for a record that the file ends within."""


class TooFewRows(BadRecord):
    """Raised for a round that emitted more tokens than it has target rows.

    Rounds without those that emitted much are a selection, in which a right engine is biased.
    """


@dataclass(frozen=True)
class Problem:
    """A record that was left out.

    line: that of a text file, or the row of its arrays, from 1; 0 for the file as a whole.
    truncated: the file ends within the record, as it does while an engine is still writing.
    selective: left out for what the round emitted, so that the others are a selection by that.
    """

    file: str
    line: int
    field: str
    value: str
    reason: str
    truncated: bool = False
    selective: bool = False

    @classmethod
    def of(cls, file: str, line: int, error: BadRecord) -> Problem:
        """Returns the problem of a bad record."""
        cut, few = isinstance(error, CutOff), isinstance(error, TooFewRows)
        return cls(file, line, error.field, error.value, error.reason, truncated=cut, selective=few)


def placed(file: str, line: int) -> str:
    """Returns a file and its line; line 0 is the file as a whole.

    >>> placed("t.jsonl", 3), placed("t.npz", 0)
    ('t.jsonl:3', 't.npz')
    """
    return f"{file}:{line}" if line else file


def shortened(value: object) -> str:
    """Returns the value as Python writes it, in one line, at most 60 characters of it.

    >>> shortened([1, 2]), len(shortened("x" * 100))
    ('[1, 2]', 60)
    """
    try:
        # A long container or number is never written out just to be cut.
        whole = value[:LONGEST_VALUE] if isinstance(value, str | bytes | list | tuple) else value
        text = " ".join(repr(whole).split())  # arrays are written in lines
    except (ValueError, RecursionError):  # an integer of thousands of digits, a deep nesting
        text = f"<{type(value).__name__}>"
    return text if len(text) <= LONGEST_VALUE else text[: LONGEST_VALUE - 1] + "…"
