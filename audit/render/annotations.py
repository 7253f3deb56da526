"""A record as GitHub annotations: at most 8 lines, the worst first, and one that counts the rest.

GitHub shows 10 errors and 10 warnings a step and drops the others without a word.
"""

from __future__ import annotations

from audit.record import Record
from audit.render.findings import Judged, again, explained, not_passed, place_of

MOST = 8


def github_annotations(record: Record) -> str:
    """Returns the workflow commands, "" where all passed; what is undecided is a warning."""
    found = not_passed(record)
    lines = [_line(one, record) for one in found[:MOST]]
    if more := len(found) - len(lines):
        lines.append(f"::warning title=draftproof::{more} more did not pass")
    return "".join(f"{line}\n" for line in lines)


def _line(one: Judged, record: Record) -> str:
    command = "warning" if one.kind == "open" else "error"
    path, line = place_of(one, record)
    title = _property(f"draftproof: {one.verdict.word}, {one.name}")
    message = f"{explained(one)}\n{again(one, record)}".strip()
    return f"::{command} file={_property(path)},line={line},title={title}::{_data(message)}"


def _data(text: str) -> str:
    """Returns text that cannot end its workflow command.

    >>> _data("50 %\\n::error::")
    '50 %25%0A::error::'
    """
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    """Returns text that cannot end its property either.

    >>> _property("a,b::c")
    'a%2Cb%3A%3Ac'
    """
    return _data(text).replace(":", "%3A").replace(",", "%2C")
