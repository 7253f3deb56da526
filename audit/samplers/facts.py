"""What a sampler says about itself, checked: its `draftproof` attribute becomes `Facts`."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from dataclasses import fields
from typing import Any, get_args

from audit.errors import UsageError
from audit.exact.catalogue import rule
from audit.samplers.interface import Facts
from audit.samplers.rules import RULES, SAMPLERS
from audit.tree import Drafting

MOST_KNOWN = 20
_DRAFTINGS = get_args(Drafting)


def facts_from(given: object, *, name: str, where: str = ".draftproof") -> Facts:
    """Returns the facts of the dict that the sampler `name` carries; `where` it stands.

    Raises: UsageError, for an unknown key or rule (with the nearest known one), a constant out of
    bounds, or a wrong type.
    """
    if not isinstance(given, Mapping):
        raise UsageError(f"{name}{where} is of type {type(given).__name__}; make it a dict.")
    known = [field.name for field in fields(Facts)]
    for key, value in given.items():
        if key not in known:
            raise UsageError(f"{name}{where} has an unknown key {nearest(key, known)}")
        wanted = _wanted(key, value)
        if wanted:
            raise UsageError(f"{name}{where}[{key!r}] is {value!r}; it must be {wanted}.")
    lists = {key: tuple(given[key]) for key in ("declares", "trees") if key in given}
    facts = Facts(**{**given, **lists})
    for id_ in facts.declares:
        _refuse_unknown(id_, RULES, said=f"{name} declares an unknown rule")
    if facts.claims:
        _refuse_unknown(facts.claims, SAMPLERS, said=f"{name} claims an unknown law")
    return facts


def nearest(name: object, known: Iterable[str]) -> str:
    """Returns the name and the known ones nearest to it, or the first, as the end of a sentence.

    >>> nearest("ratoi", ["ratio", "block"])
    "'ratoi'; did you mean ratio?"
    """
    names = list(known)
    close = difflib.get_close_matches(str(name), names)
    if close:
        return f"{name!r}; did you mean {' or '.join(close)}?"
    more = f", and {len(names) - MOST_KNOWN} more" if len(names) > MOST_KNOWN else ""
    return f"{name!r}; known are {', '.join(names[:MOST_KNOWN])}{more}."


def _refuse_unknown(id_: str, known: Iterable[str], *, said: str) -> None:
    """Raises UsageError where `id` or `id@value` names nothing that is known."""
    if id_.partition("@")[0] not in known:
        raise UsageError(f"{said} {nearest(id_, known)}")
    try:
        rule(id_)
    except UsageError as error:
        raise UsageError(f"{said}: {error}") from None


def _wanted(key: str, value: Any) -> str:
    """Returns what the value of a key must be, "" where it is that."""
    if key == "declares":
        strings = isinstance(value, list | tuple) and all(isinstance(v, str) for v in value)
        return "" if strings else "a list of rule ids"
    if key == "trees":
        fits = isinstance(value, list | tuple) and all(one in _DRAFTINGS for one in value)
        return "" if fits else f"a list of any of {', '.join(_DRAFTINGS)}"
    if key == "claims":
        return "" if isinstance(value, str) else "a rule or fault id"
    if key == "max_batch":
        number = isinstance(value, int) and not isinstance(value, bool) and value > 0
        return "" if number or value is None else "a whole number above 0, or None"
    return "" if isinstance(value, bool) else "True or False"
