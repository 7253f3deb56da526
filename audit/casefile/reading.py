"""Case files: TOML on disk to Case, with every problem of every file in one error.

The keys stand in `schema`, the files that ship in `cases/`.
"""

from __future__ import annotations

import os
import stat
import tomllib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from audit.case import Case
from audit.casefile.checks import shown
from audit.casefile.document import parse_case
from audit.errors import CaseError, unparsed

MAX_BYTES = 10_000_000
MAX_DOTS = 1000  # of a key: the parser's time grows with their square


def read_case(path: Path | str) -> Case:
    """Returns the case in a TOML file.

    Raises: CaseError with every problem of the file.
    """
    return parse_case(load_document(path), file=shown_path(path))


def read_cases(paths: Iterable[Path | str]) -> list[Case]:
    """Returns the cases of the files in their order; a file named twice counts once.

    Raises: CaseError with every problem of all files together, ids used twice among them.
    """
    cases: list[Case] = []
    problems: list[str] = []
    files_by_id: dict[str, str] = {}
    for path in {os.path.realpath(path): path for path in paths}.values():
        try:
            document = load_document(path)
            problems += _used_id(document, shown_path(path), files_by_id)
            cases.append(parse_case(document, file=shown_path(path)))
        except CaseError as error:
            problems += error.problems
    if problems:
        raise CaseError(*problems)
    return cases


def load_document(path: Path | str) -> dict[str, Any]:
    """Returns the tables of a TOML file, unchecked.

    Raises: CaseError where it is not a text file of at most 10 MB with TOML in it.
    """
    file = shown_path(path)
    text = _text(_content(Path(path), file), file)
    _check_keys(text, file)
    try:
        document = tomllib.loads(text)
    except (ValueError, RecursionError) as error:  # also integers and nesting beyond all limits
        raise CaseError(
            f"{file} is not valid TOML: {unparsed(error)}; correct that place."
        ) from None
    if not document:
        raise CaseError(f"{file} is empty; write the id, why, sizes and rows of a case.")
    return document


def _check_keys(text: str, file: str) -> None:
    for number, line in enumerate(text.splitlines(), start=1):
        key, equals, _ = line.partition("=")
        if equals and key.count(".") > MAX_DOTS:
            raise CaseError(
                f"{file} has a key of {key.count('.'):,} dots in line {number}, above the bound of "
                f"{MAX_DOTS:,}; correct that line."
            )


def shown_path(path: Path | str) -> str:
    """Returns the path as messages show it, on one line whatever characters it holds."""
    text = str(path)
    return text if text.isprintable() else ascii(text)


def _content(path: Path, file: str) -> bytes:
    try:
        status = path.stat()
        if not stat.S_ISREG(status.st_mode):
            raise CaseError(f"{file} is not a regular file; name a .toml file.")
        if status.st_size > MAX_BYTES:
            raise CaseError(
                f"{file} has {status.st_size:,} bytes, above the bound of {MAX_BYTES:,}; "
                "use [generated] for a large vocabulary."
            )
        return path.read_bytes()
    except OSError as error:
        raise CaseError(f"{file} cannot be read: {error.strerror}; check the path.") from None


def _text(content: bytes, file: str) -> str:
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise CaseError(
            f"{file} is not a text file: byte {error.start} is no UTF-8; name a .toml file."
        ) from None
    if "\0" in text:
        raise CaseError(
            f"{file} is not a text file: character {text.index(chr(0))} is 0; name a .toml file."
        )
    return text


def _used_id(document: dict[str, Any], file: str, files_by_id: dict[str, str]) -> list[str]:
    """Returns the problem of an id that an earlier file has, and notes the id otherwise."""
    name = document.get("id")
    if not isinstance(name, str):
        return []
    earlier = files_by_id.setdefault(name, file)
    if earlier == file:
        return []
    return [f"{file}: id is {shown(name)}, but {earlier} has that id; rename one of them."]
