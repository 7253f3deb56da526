"""What a sampler says about itself, checked: its `draftproof` attribute becomes `Facts`."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from dataclasses import fields
from typing import Any

from audit.errors import UsageError
from audit.samplers.interface import Facts
from audit.samplers.rules import RULES, SAMPLERS


def facts_from(given: object, *, name: str) -> Facts:
    """Returns the facts of the dict that the sampler `name` carries.

    Raises: UsageError, for an unknown key or rule (with the nearest known one) or a wrong type.
    """
    if not isinstance(given, Mapping):
        raise UsageError(f"{name}.draftproof is of type {type(given).__name__}; make it a dict.")
    known = [field.name for field in fields(Facts)]
    for key, value in given.items():
        if key not in known:
            raise UsageError(f"{name}.draftproof has an unknown key {nearest(key, known)}")
        wanted = _wanted(key, value)
        if wanted:
            raise UsageError(f"{name}.draftproof[{key!r}] is {value!r}; it must be {wanted}.")
    values: dict[str, Any] = {**given, "declares": tuple(given.get("declares", ()))}
    facts = Facts(**values)
    for id_ in facts.declares:
        if id_ not in RULES:
            raise UsageError(f"{name} declares an unknown rule {nearest(id_, RULES)}")
    if facts.claims and facts.claims not in SAMPLERS:
        raise UsageError(f"{name} claims an unknown law {nearest(facts.claims, SAMPLERS)}")
    return facts


def nearest(name: object, known: Iterable[str]) -> str:
    """Returns the name and the known ones nearest to it, or all of them, as the end of a sentence.

    >>> nearest("ratoi", ["ratio", "block"])
    "'ratoi'; did you mean ratio?"
    """
    names = list(known)
    close = difflib.get_close_matches(str(name), names)
    if close:
        return f"{name!r}; did you mean {' or '.join(close)}?"
    return f"{name!r}; known are {', '.join(names)}."


def _wanted(key: str, value: Any) -> str:
    """Returns what the value of a key must be, "" where it is that."""
    if key == "declares":
        strings = isinstance(value, list | tuple) and all(isinstance(v, str) for v in value)
        return "" if strings else "a list of rule ids"
    if key == "claims":
        return "" if isinstance(value, str) else "a rule or fault id"
    if key == "max_batch":
        number = isinstance(value, int) and not isinstance(value, bool) and value > 0
        return "" if number or value is None else "a whole number above 0, or None"
    return "" if isinstance(value, bool) else "True or False"
