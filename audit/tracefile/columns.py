"""Arrays of many rounds, read a block of rows at a time, and the records that they hold.

Row i of every array belongs to round i. Ids are padded with -1; rows of laws beyond a round's own
drafts are padding, whatever they hold. An array of no dimension speaks for every round.
"""

from __future__ import annotations

import math
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import IO

import numpy as np
import numpy.typing as npt

from audit.tracefile.problems import BadRecord, CutOff
from audit.tracefile.rounds import OPTIONS

BLOCK_BYTES = 2**22
MOST_BYTES = 2**28  # of one round in one array
TOP = {"top_ids": "ids", "top_logprobs": "logprobs", "top_probs": "probs", "top_rest": "rest"}
Values = npt.NDArray[np.generic]


@dataclass(frozen=True)
class Column:
    """One array of a file: its type on disk, its shape, and where its bytes come from.

    decode turns the values read into the ones meant, for types that numpy lacks.
    """

    name: str
    dtype: np.dtype[np.generic]
    shape: tuple[int, ...]
    stream: IO[bytes]
    half: bool = False
    decode: Callable[[Values], Values] | None = None

    @property
    def row_bytes(self) -> int:
        """The bytes of one round."""
        return self.dtype.itemsize * math.prod(self.shape[1:])

    def read(self, rows: int) -> Values:
        """Returns the next rows, fewer where the file ends."""
        size = self.row_bytes
        data = self._bytes(rows * size)
        whole = len(data) // size if size else rows
        values = np.frombuffer(data[: whole * size], dtype=self.dtype)
        values = values.reshape(whole, *self.shape[1:])
        return values if self.decode is None else self.decode(values)

    def _bytes(self, size: int) -> bytes:
        """Returns the next bytes, none where the archive is damaged."""
        try:
            return self.stream.read(size)
        except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError):
            return b""


def records(
    columns: Mapping[str, Column],
) -> Iterator[tuple[int, dict[str, object] | BadRecord]]:
    """Yields number and fields of every round, from 1, and what is missing at the end.

    Raises: BadRecord for arrays that do not hold the same number of rounds.
    """
    fixed = {name: _scalar(column) for name, column in columns.items() if not column.shape}
    columns = {name: column for name, column in columns.items() if column.shape}
    rounds, row_bytes = _checked(columns), sum(c.row_bytes for c in columns.values())
    step = max(1, BLOCK_BYTES // max(1, row_bytes))
    for start in range(0, rounds, step):
        wanted = min(step, rounds - start)
        blocks = {name: column.read(wanted) for name, column in columns.items()}
        whole = min(map(len, blocks.values()))
        for i in range(whole):
            yield start + i + 1, _fields({name: b[i] for name, b in blocks.items()} | fixed)
        if whole < wanted:
            yield start + whole + 1, CutOff("arrays", start + whole, f"rounds of {rounds}")
            return


def _checked(columns: Mapping[str, Column]) -> int:
    """Returns the number of rounds. Raises BadRecord for arrays that cannot be read together."""
    lengths = {name: column.shape[0] for name, column in columns.items()}
    if len(set(lengths.values())) != 1:
        raise BadRecord("arrays", lengths, "do not hold the same number of rounds")
    for name, column in columns.items():
        if len(column.shape) != _dimensions(name):
            raise BadRecord(name, column.shape, f"is not of {_dimensions(name)} dimensions")
        if column.row_bytes > MOST_BYTES:
            raise BadRecord(name, column.shape, f"takes more than {MOST_BYTES} bytes a round")
    return next(iter(lengths.values()))


def _dimensions(name: str) -> int:
    """Returns how many dimensions an array has, that of the rounds included."""
    if name in OPTIONS:
        return 1
    return 2 if name.endswith(("_ids", "_rest")) and "top_ids" not in name else 3


def _scalar(column: Column) -> object:
    values = column.read(1)
    return values.reshape(-1)[0] if values.size else None


def _fields(values: dict[str, object]) -> dict[str, object]:
    """Returns the fields of one round, without padding and with lists made into objects."""
    fields = {name: values[name] for name in OPTIONS if name in values}
    for name in ("draft_token_ids", "emitted_token_ids"):
        fields[name] = values.get(name)
    gamma = int((np.asarray(values.get("draft_token_ids", -1)) != -1).sum())
    for whose, count in (("target", gamma + 1), ("draft", gamma)):
        for form in ("probs", "logits"):
            rows = values.get(f"{whose}_{form}")
            if rows is not None:
                fields[f"{whose}_{form}"] = np.asarray(rows)[:count]
        if f"{whose}_top_ids" in values:
            fields[f"{whose}_top"] = _top(values, whose, count)
    return fields


def _top(values: Mapping[str, object], whose: str, count: int) -> list[dict[str, object]]:
    """Returns the listed rows of one round; -1 pads the ids of a row."""
    parts = {
        short: np.asarray(values[f"{whose}_{name}"])[:count]
        for name, short in TOP.items()
        if f"{whose}_{name}" in values
    }
    rows = [{short: part[i] for short, part in parts.items()} for i in range(len(parts["ids"]))]
    for row in rows:
        used = int((row["ids"] != -1).sum())
        row |= {short: row[short][:used] for short in row if short != "rest"}
    return rows
