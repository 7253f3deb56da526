"""What identifies a callable of this process: the code that it is made of and the values it holds.

Functions are followed into their defaults and closures, `functools.partial` and bound methods into
what they bind, callable instances into their attributes. Values that are not plain (tensors, other
objects) count by their type alone, and modules that the code imports not at all.
"""

from __future__ import annotations

import functools
import hashlib
import inspect
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from types import CodeType, FunctionType, MethodType
from typing import Any

_PLAIN = (type(None), type(...), bool, int, float, complex, str, bytes)


class _NoSourceError(Exception):
    """Raised where a function or class was not read from a file that is still there."""


def code_of_object(sampler: object) -> Mapping[str, str]:
    """Returns the SHA-256 of a callable as `sha256`, and what it is over as `hashed`.

    It is over the source files of the functions and classes met, their byte code (the file may
    have been edited since) and their plain values. Where a part has no source file, typed in or
    compiled, there is no hash and `hashed` starts with "nothing".
    """
    walk = _Walk()
    try:
        texts = list(walk.texts(sampler))
    except _NoSourceError as error:
        return {"hashed": f"nothing, for {error} has no source file"}
    if not walk.files:
        return {"hashed": f"nothing, for a {type(sampler).__name__} has no source file"}
    files = sorted((path.name, _sha256(path.read_bytes())) for path in walk.files)
    names = ", ".join(name for name, _ in files)
    said = f"{names}, and the code and plain values of the object"
    return {"sha256": _sha256(repr([files, texts]).encode()), "hashed": said}


class _Walk:
    """A walk through all that a callable is made of; `files` are the source files met."""

    def __init__(self) -> None:
        self.files: set[Path] = set()
        self._met: dict[int, tuple[int, object]] = {}  # holds the objects: no id is used twice

    def texts(self, value: Any) -> Iterator[str]:
        """Yields a text for each part of a value, the same in every process."""
        if type(value) in _PLAIN:
            yield repr(value)
        elif id(value) in self._met:
            yield f"part {self._met[id(value)][0]} again"
        else:
            self._met[id(value)] = (len(self._met), value)
            yield type(value).__qualname__
            yield from self._inside(value)

    def _inside(self, value: Any) -> Iterator[str]:
        if isinstance(value, list | tuple):
            yield from self._each(value)
        elif isinstance(value, dict):
            yield from self._each(value.keys())
            yield from self._each(value.values())
        elif isinstance(value, set | frozenset):
            yield from sorted(" ".join(self.texts(item)) for item in value)
        elif isinstance(value, CodeType):
            yield from self._each((value.co_code, *value.co_names, *value.co_consts))
        elif isinstance(value, FunctionType):
            yield from self._function(value)
        elif isinstance(value, MethodType):
            yield from self._each((value.__func__, value.__self__))
        elif isinstance(value, functools.partial):
            yield from self._each((value.func, value.args, value.keywords))
        else:
            yield from self._other(value)

    def _each(self, values: Iterable[Any]) -> Iterator[str]:
        for value in values:
            yield from self.texts(value)
        yield "end"

    def _function(self, function: FunctionType) -> Iterator[str]:
        self._add_source(function)
        cells = [_content(cell) for cell in function.__closure__ or ()]
        held = (function.__defaults__, function.__kwdefaults__, *cells)
        yield from self._each((function.__code__, *held))

    def _other(self, value: Any) -> Iterator[str]:
        """Yields the parts of an instance that can be called; names what has a name."""
        call = getattr(type(value), "__call__", None)  # noqa: B004 (its own, not that of type)
        if isinstance(call, FunctionType):
            for cls in type(value).__mro__[:-1]:  # what it inherits, but for `object`
                self._add_source(cls)
            yield from self._each((call, vars(value) if hasattr(value, "__dict__") else None))
        elif callable(value):
            yield str(getattr(value, "__qualname__", ""))

    def _add_source(self, value: Any) -> None:
        try:
            file = Path(inspect.getsourcefile(value) or "")
        except (TypeError, OSError):
            file = Path()
        if not file.is_file():
            raise _NoSourceError(value.__qualname__)
        self.files.add(file)


def _content(cell: Any) -> object:
    """Returns what a variable of a closure holds, None where it holds nothing yet."""
    try:
        return cell.cell_contents
    except ValueError:
        return None


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
