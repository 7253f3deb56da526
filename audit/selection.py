"""Which cases a user means: ids, globs, groups, files and folders to a list of cases.

The id of a shipped case is the name of its file, so that choosing reads only what is chosen. A
shipped id wins over a file or folder of that name; a path is anything that ends in .toml, holds a
path separator, or is there.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from difflib import get_close_matches
from fnmatch import fnmatchcase
from pathlib import Path

from audit.case import Case
from audit.casefile.checks import shown
from audit.casefile.document import is_large
from audit.casefile.reading import load_document, read_cases
from audit.errors import UsageError
from audit.resources import cases_dir

GROUPS = ("small", "large", "all")


def select_cases(patterns: Sequence[str] = ()) -> list[Case]:
    """Returns the cases that the patterns name, in their order, each once; none means `small`.

    A pattern is the id of a shipped case, a glob over these ids, `small`, `large` or `all`, or
    the path of a .toml file or of a folder of them.

    Raises: UsageError where a pattern names nothing, CaseError where a file is broken.
    """
    return read_cases(case_paths(patterns))


def case_paths(patterns: Sequence[str] = ()) -> list[Path]:
    """Returns the files behind the patterns of `select_cases`, in their order, each once.

    Raises: UsageError where a pattern names nothing.
    """
    shipped = {path.stem: path for path in sorted(cases_dir().glob("*.toml"))}
    found = {pattern: _matching(pattern, shipped) for pattern in patterns or ["small"]}
    empty = [_nothing(pattern, list(shipped)) for pattern in found if not found[pattern]]
    if empty:
        raise UsageError("\n".join(empty))
    return list(dict.fromkeys(path for paths in found.values() for path in paths))


def word_for(case: Case) -> str:
    """Returns the word that selects this case again: the id of a shipped one, else its path."""
    shipped = not case.source or Path(case.source).parent == cases_dir()
    return case.id if shipped else case.source


def _matching(pattern: str, shipped: dict[str, Path]) -> list[Path]:
    if pattern == "all":
        return list(shipped.values())
    if pattern in GROUPS:
        large = pattern == "large"
        return [path for path in shipped.values() if is_large(load_document(path)) == large]
    if "\0" in pattern:
        return []
    named = [path for name, path in shipped.items() if fnmatchcase(name, pattern)]
    return named or _files(pattern)


def _files(pattern: str) -> list[Path]:
    path = Path(pattern)
    if pattern and os.path.isdir(path):  # unlike Path.is_dir, False for a name too long
        return sorted(path.glob("*.toml"))
    is_path = path.suffix == ".toml" or len(path.parts) > 1 or os.path.lexists(pattern)
    return [path] if is_path else []


def _nothing(pattern: str, ids: list[str]) -> str:
    if pattern and "\0" not in pattern and os.path.isdir(pattern):
        return f"{shown(pattern)} is a folder without .toml files; name a folder of case files."
    near = get_close_matches(pattern[:100], ids, n=3, cutoff=0.4)
    hint = f"the nearest ids are {', '.join(near)}" if near else "`draftproof cases list` has them"
    return f"{shown(pattern)} names no case; {hint}, and a path must end in .toml."
