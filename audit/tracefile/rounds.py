"""One verification round of one request, made from the fields of a record and checked.

Whatever the file's form, a record comes here as a mapping of field names; docs/traces.md lists
them. Laws are those after all sampling rules, ids are those of the target's vocabulary.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from audit.tracefile.problems import BadRecord, TooFewRows
from audit.tracefile.rows import Ids, Row, dense, listed, numbers, softmax, token_ids

FORMS = ("probs", "logits", "top")
OPTIONS = (
    "temperature", "draft_temperature", "greedy", "stopped", "vocab_size", "request", "position",
)  # fmt: skip
FIELDS = (
    "draft_token_ids", "emitted_token_ids",
    *(f"{whose}_{form}" for whose in ("target", "draft") for form in FORMS),
    *OPTIONS,
)  # fmt: skip

_OPTIONAL = tuple(name for name in FIELDS if not name.endswith("_token_ids"))

_READ: Mapping[str, Callable[[str, object, float], Row]] = {
    "probs": lambda field, value, _: dense(field, value),
    "logits": softmax,
    "top": lambda field, value, _: listed(field, value),
}


@dataclass(frozen=True, eq=False)
class Round:
    """What one round drafted and emitted, and the laws that it did so by.

    draft int64 [gamma]; emitted int64 [1 to gamma + 1]; target: gamma + 1 rows, row i after the
    first i drafted tokens, or only the first of them, one for each emitted token at least;
    drafting: gamma rows, or none where they were not recorded. greedy: the target's law is its
    most probable token. stopped: the round was cut short behind its last token (a stop token, a
    length limit). half: the rows were recorded in half precision. where: file and line.
    """

    draft: Ids
    emitted: Ids
    target: tuple[Row, ...]
    drafting: tuple[Row, ...]
    greedy: bool = False
    stopped: bool = False
    half: bool = False
    where: str = ""

    @property
    def gamma(self) -> int:
        """The number of drafted tokens."""
        return len(self.draft)

    @property
    def judged(self) -> int:
        """How many emitted tokens follow drafted ones only, so that their target row is known."""
        before = self.emitted[:-1] == self.draft[: len(self.emitted) - 1]
        return int(before.cumprod().sum()) + 1


def check_names(names: Iterable[str]) -> None:
    """Raises BadRecord for a name that is nearly that of a field one may leave out.

    Other names are an engine's own affair.
    """
    for name in names:
        if name not in FIELDS and (meant := _meant(name)):
            raise BadRecord(name, name, f"is no field, but nearly {meant}: rename it")


@lru_cache(maxsize=1000)
def _meant(name: str) -> str:
    return next(iter(difflib.get_close_matches(name, _OPTIONAL, n=1, cutoff=0.85)), "")


def round_of(fields: Mapping[str, object], *, half: bool = False, where: str = "") -> Round:
    """Returns the round of a record. Raises BadRecord for the first field that is not usable."""
    check_names(fields)
    draft = token_ids("draft_token_ids", _needed(fields, "draft_token_ids"))
    emitted = token_ids("emitted_token_ids", _needed(fields, "emitted_token_ids"))
    if not 1 <= len(emitted) <= len(draft) + 1:
        reason = f"tokens are not 1 to {len(draft) + 1}, one more than drafted"
        raise BadRecord("emitted_token_ids", len(emitted), reason)
    heat = _temperature(fields, "temperature", 1.0)
    own = _temperature(fields, "draft_temperature", heat)
    most = len(draft) + 1
    target = _rows(fields, "target", least=len(emitted), most=most, temperature=heat or 1.0)
    drafting = _rows(fields, "draft", least=most - 1, most=most - 1, temperature=own or 1.0)
    _check_ids(draft, emitted, target, drafting, size=_vocab_size(fields))
    greedy = _flag(fields, "greedy") or heat == 0
    stopped = _flag(fields, "stopped")
    return Round(draft, emitted, target, drafting, greedy, stopped, half, where)


def _needed(fields: Mapping[str, object], name: str) -> object:
    if fields.get(name) is None:
        raise BadRecord(name, None, "is missing")
    return fields[name]


def _rows(
    fields: Mapping[str, object], whose: str, *, least: int, most: int, temperature: float
) -> tuple[Row, ...]:
    """Returns the rows of the target or of the draft, which may be left out."""
    given = [form for form in FORMS if fields.get(f"{whose}_{form}") is not None]
    if not given and whose == "draft":
        return ()
    if len(given) != 1:
        names = " or ".join(f"{whose}_{form}" for form in FORMS)
        raise BadRecord(names, given, "is not one form: give exactly one of them")
    name = f"{whose}_{given[0]}"
    value = fields[name]
    if not isinstance(value, list | np.ndarray) or not least <= len(value) <= most:
        found = len(value) if isinstance(value, list | np.ndarray) else value
        needed = f"{least} to {most}" if least < most else f"{most}"
        few = whose == "target" and isinstance(found, int) and 0 < found < least
        raise (TooFewRows if few else BadRecord)(f"rows of {name}", found, f"are not {needed}")
    return tuple(_READ[given[0]](f"{name}[{i}]", row, temperature) for i, row in enumerate(value))


def _check_ids(
    draft: Ids, emitted: Ids, target: tuple[Row, ...], drafting: tuple[Row, ...], *, size: int
) -> None:
    """Raises BadRecord for rows of unequal size, or for an id outside the vocabulary."""
    sizes = [len(row.probs) for row in target if row.ids is None] or [size or 2**63]
    if len(set(sizes)) > 1 or (size and sizes[0] != size):
        raise BadRecord("target rows", sorted(set(sizes)), "are not of one size, vocab_size")
    for row in drafting:
        if row.ids is None and len(row.probs) > sizes[0]:
            raise BadRecord("draft row", len(row.probs), f"is longer than a target row, {sizes[0]}")
    listed_ids = [row.ids for row in (*target, *drafting) if row.ids is not None]
    named = {"draft_token_ids": [draft], "emitted_token_ids": [emitted], "ids": listed_ids}
    for name, arrays in named.items():
        for ids in arrays:
            if len(ids) and int(ids.max()) >= sizes[0]:
                raise BadRecord(name, int(ids.max()), f"is not below the vocabulary's {sizes[0]}")


def _vocab_size(fields: Mapping[str, object]) -> int:
    """Returns the stated vocabulary size, 0 where none is."""
    value = fields.get("vocab_size")
    if value is None:
        return 0
    size = numbers("vocab_size", value)
    if size.ndim or size < 1 or size > 2**31 or size != int(size):
        raise BadRecord("vocab_size", value, "is no number of tokens")
    return int(size)


def _temperature(fields: Mapping[str, object], name: str, default: float) -> float:
    value = fields.get(name)
    if value is None:
        return default
    heat = numbers(name, value)
    if heat.ndim or not 0 <= heat < np.inf:
        raise BadRecord(name, value, "is no temperature: a finite number from 0 on")
    return float(heat)


def _flag(fields: Mapping[str, object], name: str) -> bool:
    value = fields.get(name)
    if value is None or (isinstance(value, int | np.generic) and value in (0, 1)):
        return bool(value)
    raise BadRecord(name, value, "is neither true nor false")
