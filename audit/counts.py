"""What was observed: integer counts, and nothing that interprets them.

A trial is one round: a draft block of gamma tokens, an emitted block of 1 to gamma + 1 tokens,
and its completion to gamma + 1 tokens by target draws. A code reads its tokens as digits in base
V, first token first; `-1` pads what was not emitted.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Outcome = tuple[int, ...]
Table = npt.NDArray[np.int64]


def tokens_of(code: int, *, base: int, length: int) -> Outcome:
    """Returns the tokens behind a code.

    >>> tokens_of(5, base=3, length=2)
    (1, 2)
    """
    digits: list[int] = []
    for _ in range(length):
        code, digit = divmod(code, base)
        digits.append(digit)
    return tuple(reversed(digits))


@dataclass(frozen=True, eq=False)
class Counts:
    """The counts of one case, one table a view; addable.

    A view looks at the vocabulary through bins (`bases[i]` bins; V where every token is its own).
    tables[i] is int64 [drafts, gamma + 1, bases[i] ** (gamma + 1)]: draft block code (one cell
    where drafts are not observed), emitted length - 1, completed block code (bases[i] cells where
    only the first token is observed).
    """

    tables: tuple[Table, ...]
    bases: tuple[int, ...]

    def __add__(self, other: Counts) -> Counts:
        if self.bases != other.bases:
            raise ValueError(f"counts over bins {self.bases} and {other.bases} cannot be added")
        pairs = zip(self.tables, other.tables, strict=True)
        return Counts(tuple(a + b for a, b in pairs), self.bases)

    @property
    def trials(self) -> int:
        """The number of rounds counted."""
        return int(self.tables[0].sum())

    def completed(self, view: int = 0) -> Table:
        """Returns int64 [cells]: rounds by completed block."""
        return np.asarray(self.tables[view].sum(axis=(0, 1)), dtype=np.int64)

    def lengths(self) -> Table:
        """Returns int64 [gamma + 1]: rounds by emitted length, 1 to gamma + 1."""
        return np.asarray(self.tables[0].sum(axis=(0, 2)), dtype=np.int64)

    def emitted(self, length: int, view: int = 0) -> Table:
        """Returns int64 [drafts, bases[view] ** length]: rounds that emitted `length` tokens."""
        table = self.tables[view][:, length - 1]
        prefixes = table.reshape(len(table), self.bases[view] ** length, -1)
        return np.asarray(prefixes.sum(axis=2), dtype=np.int64)

    def outcomes(self, view: int = 0) -> Mapping[Outcome, int]:
        """Returns the emitted blocks that occurred and how often."""
        found: dict[Outcome, int] = {}
        for length in range(1, self.tables[view].shape[1] + 1):
            by_code = self.emitted(length, view).sum(axis=0)
            for code in np.flatnonzero(by_code).tolist():
                block = tokens_of(code, base=self.bases[view], length=length)
                found[block] = int(by_code[code])
        return found
