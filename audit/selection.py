"""Which cases a user means: ids, globs, groups, files and folders to a list of cases.

The id of a shipped case is the name of its file, so that choosing reads only what is chosen. A
shipped id wins over a file or folder of that name; a path is anything that ends in .toml, holds a
path separator, or is there.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Mapping, Sequence
from difflib import get_close_matches
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from audit.case import Case
from audit.casefile.checks import shown
from audit.casefile.document import is_large
from audit.casefile.reading import load_document, read_cases
from audit.errors import UsageError
from audit.resources import cases_dir
from audit.tree import Drafting

GROUPS = ("small", "large", "trees", "all")
Drafts = Collection[Drafting | None]


def select_cases(patterns: Sequence[str] = (), *, drafts: Drafts | None = None) -> list[Case]:
    """Returns the cases that the patterns name, in their order, each once; none means `small`.

    A pattern is the id of a shipped case, a glob over these ids, one of GROUPS, or the path of a
    .toml file or of a folder of them. `small` and `large` draft chains. drafts: which drafts a
    sampler takes (`Case.drafting`): of a group, only the cases that fit are meant, if any does,
    and none means `trees` where it takes no chains.

    Raises: UsageError where a pattern names nothing, CaseError where a file is broken.
    """
    return read_cases(case_paths(patterns, drafts=drafts))


def case_paths(patterns: Sequence[str] = (), *, drafts: Drafts | None = None) -> list[Path]:
    """Returns the files behind the patterns of `select_cases`, in their order, each once.

    Raises: UsageError where a pattern names nothing.
    """
    shipped = dict(sorted((path.stem, path) for path in cases_dir().glob("*.toml")))
    default = "small" if drafts is None or None in drafts else "trees"
    found = {pattern: _matching(pattern, shipped, drafts) for pattern in patterns or [default]}
    empty = [_nothing(pattern, list(shipped)) for pattern in found if not found[pattern]]
    if empty:
        raise UsageError("\n".join(empty))
    return list(dict.fromkeys(path for paths in found.values() for path in paths))


def word_for(case: Case) -> str:
    """Returns the word that selects this case again: the id of a shipped one, else its path."""
    shipped = not case.source or Path(case.source).parent == cases_dir()
    return case.id if shipped else case.source


def _matching(pattern: str, shipped: dict[str, Path], drafts: Drafts | None) -> list[Path]:
    if pattern in GROUPS:
        return _group(pattern, shipped.values(), drafts)
    if "\0" in pattern:
        return []
    named = [path for name, path in shipped.items() if fnmatchcase(name, pattern)]
    return named or _files(pattern)


def _group(name: str, paths: Iterable[Path], drafts: Drafts | None) -> list[Path]:
    """Returns the files of a group, those that fit `drafts` alone if there are any."""
    documents = {path: load_document(path) for path in paths}
    members = {path: d for path, d in documents.items() if name in ("all", _group_of(d))}
    fitting = [path for path, d in members.items() if drafts is None or _drafting(d) in drafts]
    return fitting or list(members)


def _group_of(document: Mapping[str, Any]) -> str:
    if "tree" in document:
        return "trees"
    return "large" if is_large(document) else "small"


def _drafting(document: Mapping[str, Any]) -> Drafting | None:
    drafting: Drafting | None = document.get("tree", {}).get("drafting")
    return drafting


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
