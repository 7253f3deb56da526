"""Replaces objects that a sampler holds: in its globals, closures, attributes and defaults."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from types import CellType, FunctionType, MethodType, ModuleType
from typing import Any

DEEP = 4  # steps from the sampler that are looked at
New = Callable[[object], Any]


@contextmanager
def replaced(sampler: object, new: New) -> Iterator[None]:
    """While entered, holds `new(object)` wherever a sampler holds an object and it is not None.

    Looked through are functions, what they close over, their modules' globals, partials, and the
    attributes of instances, a few steps from the sampler.
    """
    with ExitStack() as stack:
        _Walk(new, stack, _package(sampler)).through(sampler, DEEP)
        yield


def _package(held: Any) -> str:
    """Returns the package that an object is from; only its globals are looked through."""
    while isinstance(held, functools.partial):
        held = held.func
    module = getattr(held, "__module__", None) or type(held).__module__
    return str(module).partition(".")[0]


class _Walk:
    """One walk through what a sampler holds."""

    def __init__(self, new: New, stack: ExitStack, package: str) -> None:
        self._new, self._stack, self._package = new, stack, package
        self._seen: set[int] = set()

    def through(self, held: object, steps: int) -> None:
        """Replaces what an object holds, at most `steps` steps further."""
        if id(held) in self._seen or steps < 0 or isinstance(held, ModuleType | type):
            return
        self._seen.add(id(held))
        if isinstance(held, CellType):
            self._entry(held, "cell_contents", steps)
        elif isinstance(held, dict):
            for key in list(held):
                self._entry(held, key, steps)
        for part in self._parts(held):
            self.through(part, steps)

    def _parts(self, held: Any) -> list[object]:
        """Returns what else an object stands for."""
        if isinstance(held, MethodType):
            return [held.__self__, held.__func__]
        if isinstance(held, functools.partial):
            return [held.func, held.keywords, *held.args]
        if isinstance(held, FunctionType):
            own = _package(held) == self._package
            return [
                held.__kwdefaults__,
                *(held.__closure__ or ()),
                held.__globals__ if own else None,
            ]
        if hasattr(held, "__dict__"):
            return [vars(held), type(held).__dict__.get("__call__")]
        return []

    def _entry(self, place: Any, key: Any, steps: int) -> None:
        """Replaces one entry of a dict or the content of a cell, or looks through it."""
        try:
            old = place[key] if isinstance(place, dict) else place.cell_contents
        except ValueError:  # an empty cell
            return
        other = self._new(old)
        if other is None:
            self.through(old, steps - 1)
            return
        put = place.__setitem__ if isinstance(place, dict) else functools.partial(setattr, place)
        put(key, other)
        self._stack.callback(put, key, old)
