"""The lines that a program reads, protocol version 1.

A line is one JSON object. Numbers are decimal and round-trip: the shortest that give the same
float64. Rows of probabilities are sent once and then called by their number.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Any

import numpy as np
import numpy.typing as npt
from torch import Tensor

from audit.samplers.interface import StepBatch

VERSION = 1
SEEDS = 2**53  # a float64 holds every seed below it: JavaScript has no other numbers
_MOST_BYTES = 1 << 25  # of rows that a program is asked to remember, at 8 a probability

Lists = list[list[int]]


def line_of(message: Mapping[str, Any]) -> bytes:
    """Returns a message as a line, its keys in their order and without spaces."""
    return json.dumps(message, separators=(",", ":")).encode() + b"\n"


def hello_line() -> bytes:
    """Returns the first line that a program reads."""
    return line_of({"type": "hello", "version": VERSION})


class Requests:
    """Writes the requests to one program, and remembers the rows that it was sent."""

    def __init__(self) -> None:
        self._known: dict[bytes, int] = {}  # rows by their float64 values

    def line(self, batch: StepBatch, number: int, random: Mapping[str, Any]) -> bytes:
        """Returns the request to verify a batch; `random` holds its seed or its coins."""
        lengths = batch.num_draft_tokens.tolist()
        first = len(self._known)
        target, draft = self._named(batch, lengths)
        if first and sum(map(len, self._known)) > _MOST_BYTES:
            first = 0
            self._known.clear()
            target, draft = self._named(batch, lengths)
        return line_of(
            {
                "type": "verify",
                "number": number,
                "batch": len(lengths),
                "gamma": batch.draft_token_ids.shape[1],
                "vocab_size": batch.target_probs.shape[2],
                "dtype": str(batch.target_probs.dtype).removeprefix("torch."),
                "first_row": first,
                "rows": [np.frombuffer(row).tolist() for row in islice(self._known, first, None)],
                "draft_token_ids": cut(batch.draft_token_ids, lengths),
                "draft_rows": draft,
                "target_rows": target,
                **random,
            }
        )

    def _named(self, batch: StepBatch, lengths: Sequence[int]) -> tuple[Lists, Lists]:
        """Returns the numbers of the target and of the draft rows; new rows become known."""
        target = self._numbers(batch.target_probs, [n + 1 for n in lengths])
        return target, self._numbers(batch.draft_probs, lengths)

    def _numbers(self, probs: Tensor, lengths: Sequence[int]) -> Lists:
        """Returns the numbers of the first rows of each [rows, vocab]."""
        repeats = [slice(1) if stride == 0 else slice(None) for stride in probs.stride()[:2]]
        stored = probs[tuple(repeats)].double().cpu().contiguous().numpy()
        numbers, used = np.full(stored.shape[:2], -1), np.full(stored.shape[:2], True)
        if stored.shape == probs.shape:  # else a row may stand for others that are longer
            used = np.arange(stored.shape[1]) < np.array(lengths)[:, np.newaxis]
        rows: list[bytes] = stored[used].view(f"V{stored.shape[2] * 8}").ravel().tolist()
        for row in dict.fromkeys(rows):
            self._known.setdefault(row, len(self._known))
        numbers[used] = [self._known[row] for row in rows]
        return cut(np.broadcast_to(numbers, probs.shape[:2]), lengths)


def cut(rows: Tensor | npt.NDArray[Any], lengths: Sequence[int]) -> list[list[Any]]:
    """Returns the rows of a table as lists, each with as many of its values as `lengths` says.

    >>> cut(np.array([[4, 5], [6, -1]]), [2, 1])
    [[4, 5], [6]]
    """
    lists: list[list[Any]] = rows.tolist()
    if min(lengths) == rows.shape[1]:  # cutting costs as much as all the rest
        return lists
    return [row[:length] for row, length in zip(lists, lengths, strict=True)]
