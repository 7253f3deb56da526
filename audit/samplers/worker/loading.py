"""Finds the object that a user's spec names, and says in one sentence why it cannot be used."""

from __future__ import annotations

import functools
import importlib
import importlib.util
import inspect
import os
import sys
import traceback
import types
from pathlib import Path
from typing import Any

_OURS = __name__.partition(".")[0]
_LIBRARY = Path(os.__file__).parent
_INSTALLED = {"site-packages", "dist-packages"}


class RefusedError(Exception):
    """Raised where a sampler cannot be used; `usage` where the name given for it is at fault."""

    def __init__(self, sentence: str, *, usage: bool = False, detail: str = "") -> None:
        super().__init__(sentence)
        self.usage = usage
        self.detail = detail


def uncallable(found: Any) -> str:
    """Returns why an object is no sampler, as the rest of a sentence; "" where it is callable."""
    wanted = "name a function (batch, generator) -> tokens"
    kind = type(found).__name__
    return "" if callable(found) else f"is of type {kind}, which is not callable; {wanted}"


def load(spec: str, unusable: Any = uncallable) -> tuple[Any, dict[str, Any]]:
    """Returns the callable that `module:object` or `path.py:object` names, and where it is from.

    A class is called without arguments. unusable: says why an object will not do. The origin holds
    the name of its `module` ("" for a file), the `file` of that ("" if it has none), all `files` of
    the folder that are loaded by now, and the `place` of its code, file and line.
    Raises: RefusedError, with the traceback of the user's code as detail if it failed.
    """
    place, _, name = spec.rpartition(":")
    is_file = place.endswith(".py")
    module = _from_file(place) if is_file else _by_name(place)
    found: Any = module
    for part in name.split("."):
        if not hasattr(found, part):
            known = ", ".join(n for n in vars(module) if not n.startswith("_"))
            raise RefusedError(f"{place} has no object {name!r}; it defines {known}.", usage=True)
        found = getattr(found, part)
    if isinstance(found, type):
        found = guarded(f"calling the class {spec} without arguments", found)
    wrong = unusable(found)
    if wrong:
        raise RefusedError(f"{spec} {wrong}.", usage=True)
    origin = _origin("" if is_file else place, getattr(module, "__file__", None) or "")
    return found, {**origin, "place": place_of(found)}


def place_of(found: Any) -> tuple[str, int]:
    """Returns the file and the line on which a callable's code begins, ("", 0) where it has none.

    Decorators and partial applications are looked through; of an instance its call is meant, of
    a torch module its forward pass.
    """
    try:
        found = inspect.unwrap(found.func if isinstance(found, functools.partial) else found)
        owners = [found, *(getattr(type(found), name, None) for name in ("forward", "__call__"))]
        codes = [getattr(owner, "__code__", None) for owner in owners]
    except Exception:  # an attribute of theirs may do anything, and only a place is at stake
        return "", 0
    code = next((code for code in codes if isinstance(code, types.CodeType)), None)
    return (os.path.abspath(code.co_filename), code.co_firstlineno) if code else ("", 0)


def root_of(name: str, file: Path) -> Path:
    """Returns the folder that holds a module's top-level package; `name` is "" for a mere file."""
    return file.parents[name.count(".") + (bool(name) and file.stem == "__init__")]


def _origin(name: str, file: str) -> dict[str, Any]:
    if not file:
        return {"module": name, "file": "", "files": {}}
    root, own = root_of(name, Path(file)), Path(file)
    files = {own, *(path for path in _loaded() if root in path.parents)}
    by_name = {path.relative_to(root).as_posix(): str(path) for path in files}
    return {"module": name, "file": file, "files": dict(sorted(by_name.items()))}


def _loaded() -> set[Path]:
    """Returns the files of all modules loaded by now that are neither ours nor installed."""
    modules = [module for name, module in sys.modules.items() if _is_theirs(name, module)]
    paths = {Path(os.path.abspath(vars(module)["__file__"])) for module in modules}
    outside = {p for p in paths if _LIBRARY not in p.parents and not _INSTALLED & set(p.parts)}
    return {path for path in outside if path.is_file()}


def _is_theirs(name: str, module: object) -> bool:
    """Returns whether it is a module with a file; the main script started us, not the sampler."""
    ours = name.partition(".")[0] in (_OURS, "__main__")
    with_file = isinstance(module, types.ModuleType) and isinstance(
        vars(module).get("__file__"), str
    )
    return with_file and not ours


def _from_file(path: str) -> types.ModuleType:
    if not os.path.isfile(path):
        raise RefusedError(f"{path} is not a file; give the path of a Python file.", usage=True)
    path = os.path.abspath(path)
    sys.path.insert(0, os.path.dirname(path))
    module = types.ModuleType("draftproof_sampler_file")  # its own name may be a library's
    module.__file__ = path
    sys.modules[module.__name__] = module
    guarded(f"importing {path}", _execute, path, vars(module))
    return module


def _execute(path: str, names: dict[str, Any]) -> None:
    """Runs the file as it is now: no byte code of an earlier state is read or left behind."""
    with open(path, "rb") as file:
        exec(compile(file.read(), path, "exec"), names)


def _by_name(name: str) -> types.ModuleType:
    sys.path.insert(0, os.getcwd())
    try:
        missing = importlib.util.find_spec(name.partition(".")[0]) is None
    except ValueError:
        missing = True
    if missing:
        raise RefusedError(f"no module {name!r} can be imported from here.", usage=True)
    module: types.ModuleType = guarded(f"importing {name}", importlib.import_module, name)
    return module


def guarded(doing: str, function: Any, *arguments: Any) -> Any:
    try:
        return function(*arguments)
    except (Exception, SystemExit) as error:
        raise RefusedError(
            f"{doing} failed: {brief(error)}.", detail=own_traceback(error)
        ) from None


def brief(error: BaseException) -> str:
    """Returns type, first line and place of an error, without a full stop."""
    frames = traceback.extract_tb(_theirs(error))
    place = f" (line {frames[-1].lineno} of {frames[-1].filename})" if frames else ""
    return named(error) + place


def named(error: BaseException) -> str:
    """Returns type and first line of an error, without a full stop; the type where it says nothing.

    >>> named(ValueError("no law.")), named(KeyboardInterrupt())
    ('ValueError: no law', 'KeyboardInterrupt')
    """
    kind = type(error).__name__
    try:
        lines = str(error).strip().splitlines()
    except Exception:  # what an error of theirs says is code of theirs
        return kind
    return f"{kind}: {lines[0][:200]}".rstrip(".") if lines else kind


def own_traceback(error: BaseException) -> str:
    """Returns the traceback from the user's first frame on."""
    return "".join(traceback.format_exception(type(error), error, _theirs(error)))


def _theirs(error: BaseException) -> types.TracebackType | None:
    """Returns the traceback without the frames of this folder and of the import system."""
    here, step = os.path.dirname(__file__), error.__traceback__
    while step is not None:
        file = step.tb_frame.f_code.co_filename
        if os.path.dirname(file) != here and "importlib" not in file:
            return step
        step = step.tb_next
    return None
