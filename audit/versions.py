"""How a sentence tells that something is not what it was."""

from __future__ import annotations

import re
from collections.abc import Mapping

_SHA256, _SHORT = re.compile("[0-9a-f]{64}"), 12  # digits that are told of a hash


def change(what: str, was: object, now: object) -> str:
    """Returns what something was and is now, of a SHA-256 the first digits; None: not given.

    >>> change("seed", 1, None), change("sha256", "a" * 64, "b" * 64)
    ('seed was 1 and is now not given', 'sha256 was aaaaaaaaaaaa and is now bbbbbbbbbbbb')
    """
    return f"{what} was {_said(was)} and is now {_said(now)}"


def code_changes(before: Mapping[str, str], now: Mapping[str, str]) -> list[str]:
    """Returns what is not the same of a sampler's identity, a sentence's part each.

    >>> code_changes({"torch": "2.4"}, {"torch": "2.13"})
    ["the sampler's torch was '2.4' and is now '2.13'"]
    """
    of = now.get("hashed", before.get("hashed"))
    names = {"sha256": f"code ({of})", "hashed": "hashed files"}
    pairs = {name: (before.get(name), now.get(name)) for name in {**before, **now}}
    return [
        change(f"the sampler's {names.get(name, name)}", was, value)
        for name, (was, value) in pairs.items()
        if was != value
    ]


def _said(value: object) -> str:
    if isinstance(value, str) and _SHA256.fullmatch(value):
        return value[:_SHORT]
    return "not given" if value is None else repr(value)
