"""What is wrong with a case file, in sentences, all of it before any of it is raised.

Every sentence names the file, the table, the key or the row, the value, the bound and what to do.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from difflib import get_close_matches
from typing import Any, TypeVar

from pydantic import ValidationError

from audit.casefile.checks import shown
from audit.casefile.schema import Table
from audit.errors import CaseError
from audit.plural import counted

MAX_PROBLEMS = 100  # of a file that are spelt out
MAX_KEYS = 100  # of a table, besides rows; no table has nearly as many
_BOUNDS = {"ge": "at least", "le": "at most", "gt": "above", "lt": "below"}
_KINDS = {
    "int_type": "an integer without quotes",
    "float_type": "a number without quotes",
    "finite_number": "a finite number",
    "bool_type": "true or false without quotes",
    "string_type": "a string in quotes",
    "list_type": "a list",
    "model_type": "a table",
}

AnyTable = TypeVar("AnyTable", bound=Table)
Checked = TypeVar("Checked")


def hint(word: str, known: Iterable[str]) -> str:
    """Returns the advice on an unknown word: the nearest known one, else all of them.

    >>> hint("vocab", ["id", "vocab_size"]), hint("x", ["id", "vocab_size"])
    ('did you mean "vocab_size"?', 'known are id, vocab_size.')
    """
    names = list(known)
    near = get_close_matches(word[:100], names, n=1, cutoff=0.5)
    return f'did you mean "{near[0]}"?' if near else f"known are {', '.join(names)}."


class Problems:
    """The problems of one file, collected one by one."""

    def __init__(self, file: str) -> None:
        self.count = 0
        self._file = file
        self._spelt_out: list[str] = []

    def add(self, place: str, what: str) -> None:
        """Adds the sentence made of the file, the place in it and what is wrong there."""
        self.count += 1
        if self.count <= MAX_PROBLEMS:
            self._spelt_out.append(f"{self._file}: {place} {what}")

    def error(self) -> CaseError:
        """Returns the error that lists them."""
        if self.count <= MAX_PROBLEMS:
            return CaseError(*self._spelt_out)
        more = counted(self.count - MAX_PROBLEMS, "more problem")
        return CaseError(*self._spelt_out, f"{self._file}: {more}; correct these first.")

    def attempt(self, place: str, check: Callable[[], Checked]) -> Checked | None:
        """Returns what `check` returns, or None after adding the ValueError that it raised."""
        try:
            return check()
        except ValueError as error:
            self.add(place, str(error))
            return None

    def table(
        self,
        model: type[AnyTable],
        values: object,
        *,
        name: str = "",
        also: Iterable[str] = (),
        context: object = None,
    ) -> AnyTable | None:
        """Returns the checked table, or None after adding what is wrong with it.

        `also` names what may stand beside the model's own keys; `context` is what its values are
        checked against.
        """
        if isinstance(values, dict) and len(values) > MAX_KEYS:
            self.add(
                f"[{name}]" if name else "the top level",
                f"has {len(values)} keys, above the bound of {MAX_KEYS}; remove the unknown ones.",
            )
            return None
        try:
            return model.model_validate(values, context=context)
        except ValidationError as error:
            known = [*model.model_fields, *also]
            for detail in error.errors(include_url=False):
                self.add(_key_place(name, detail["loc"]), _complaint(detail, known))
            return None


def _key_place(table: str, keys: tuple[int | str, ...]) -> str:
    heading = [f"[{table}]"] if table else []
    return " ".join([*heading, *map(_key, keys)])


def _key(key: int | str) -> str:
    """Returns a key as TOML writes it, and of an entry its number in the list."""
    if isinstance(key, int):
        return f"number {key + 1}"
    quoted = shown(key)
    return quoted[1:-1] if quoted[1:-1].isidentifier() else quoted


def _complaint(detail: Mapping[str, Any], known: Iterable[str]) -> str:
    value, limits = shown(detail["input"]), detail.get("ctx", {})
    match detail["type"]:
        case "value_error":
            return str(limits["error"])
        case "missing":
            return "is missing; add it."
        case "extra_forbidden":
            return f"is an unknown key; {hint(str(detail['loc'][-1]), known)}"
        case "literal_error":
            return f"is {value}, but must be {limits['expected']}; correct it."
        case "greater_than_equal" | "greater_than" | "less_than_equal" | "less_than":
            bound = " and ".join(f"{_BOUNDS[name]} {limit}" for name, limit in limits.items())
            return f"is {value}, but must be {bound}; correct it."
        case kind:
            return f"is {value}, but must be {_KINDS.get(kind, 'of another type')}; correct it."
