"""What a sampler is asked and what it answers, many rows at a time."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from audit.steering.blocks import Codes
from audit.steering.draws import Weights
from audit.steering.grids import Indices

UNDECIDED = int(np.iinfo(np.int64).min)
ABSENT = UNDECIDED + 1  # a number that a row never asked for


@dataclass(frozen=True, eq=False)
class Request:
    """Rows to call: blocks int64 [rows], decided int64 [rows, columns], probes int64 [rows]."""

    blocks: Indices
    decided: Indices
    probes: Indices

    def __len__(self) -> int:
        return len(self.blocks)

    def __getitem__(self, rows: slice | Indices) -> Request:
        return Request(self.blocks[rows], self.decided[rows], self.probes[rows])


@dataclass(frozen=True, eq=False)
class Answer:
    """What rows emitted, codes int64 [rows], on which numbers, coins int64 [rows, columns].

    weights[column] float64 [rows, n]: of a number that is one of n (0 where it was not drawn).
    """

    codes: Codes
    coins: Indices
    weights: dict[int, Weights]

    def __getitem__(self, rows: slice | Indices) -> Answer:
        weights = {column: w[rows] for column, w in self.weights.items()}
        return Answer(self.codes[rows], self.coins[rows], weights)


def joined(parts: Iterable[Answer], columns: int) -> Answer:
    """Returns the rows of several answers as one."""
    listed = list(parts)
    rows = sum(len(part.codes) for part in listed)
    coins = np.full((rows, columns), ABSENT)
    weights: dict[int, Weights] = {}
    at = 0
    for part in listed:
        until = at + len(part.codes)
        coins[at:until, : part.coins.shape[1]] = part.coins
        for column, w in part.weights.items():
            if column not in weights:
                weights[column] = np.zeros((rows, w.shape[1]))
            weights[column][at:until] = w
        at = until
    return Answer(np.concatenate([part.codes for part in listed]), coins, weights)
