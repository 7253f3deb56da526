"""All rounds of a trace file, whatever its form, and a problem in place of each bad record."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import IO

from audit.errors import UsageError
from audit.tracefile import columns, lines, npz, safetensors
from audit.tracefile.problems import BadRecord, Problem
from audit.tracefile.rounds import FIELDS, Round, round_of

STDIN = "-"
_COLUMNS = (*FIELDS, *(f"{whose}_{name}" for whose in ("target", "draft") for name in columns.TOP))
_ARRAYS = {".npz": npz.columns, ".safetensors": safetensors.columns}
Record = dict[str, object] | BadRecord


def check_files(paths: tuple[str, ...]) -> None:
    """Raises UsageError where a file is missing, cannot be read, or is given twice."""
    seen: dict[object, str] = {}
    for path in paths:
        key: object = path
        if path != STDIN:
            try:
                with open(path, "rb"):
                    status = Path(path).stat()
            except (OSError, ValueError) as error:
                reason = getattr(error, "strerror", None) or str(error)
                raise UsageError(f"{path} cannot be read: {reason.lower()}.") from error
            key = (status.st_dev, status.st_ino)
        if key in seen:
            raise UsageError(
                f"{path} is the same file as {seen[key]}; the same rounds twice are no new "
                "evidence, so give it once."
            )
        seen[key] = path


def rounds_in(path: str) -> Iterator[Round | Problem]:
    """Yields the rounds of a file in its order, and a Problem for every record left out.

    "-" stands for JSON lines from standard input.
    """
    name = path.encode("utf-8", "backslashreplace").decode("utf-8")
    with ExitStack() as stack:
        try:
            half, found = _records(path, stack)
            for number, fields in found:
                yield _judged(name, number, fields, half=half)
        except BadRecord as error:
            yield Problem.of(name, 0, error)


def _records(path: str, stack: ExitStack) -> tuple[bool, Iterator[tuple[int, Record]]]:
    """Returns whether laws are in half precision, and the records; the stack closes the file."""
    columns_of = _ARRAYS.get(Path(path).suffix.lower())
    if columns_of is None:
        stream: IO[bytes] = sys.stdin.buffer if path == STDIN else lines.opened(path, stack)
        return False, lines.records(stream)
    arrays = columns_of(path, _COLUMNS, stack)
    if not arrays:
        raise BadRecord("file", path, f"holds none of {', '.join(FIELDS[:4])}, ...")
    return any(array.half for array in arrays.values()), columns.records(arrays)


def _judged(path: str, number: int, fields: Record, *, half: bool) -> Round | Problem:
    if isinstance(fields, BadRecord):
        return Problem.of(path, number, fields)
    try:
        return round_of(fields, half=half, where=f"{path}:{number}")
    except BadRecord as error:
        return Problem.of(path, number, error)
