"""The probes: sets of values for all numbers that are not decided, the same for every row.

Probes 0..RANDOM - 1 are random by the laws of the numbers; those from RANDOM on are hints, numbers
of rows that a map did not foretell.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field

import numpy as np

from audit.steering.answers import ABSENT
from audit.steering.draws import Weights
from audit.steering.grids import Indices, Values
from audit.steering.layout import Layout

RANDOM = 1024


@dataclass(eq=False)
class Probes:
    """The probes of a layout; hints int64 [hints, columns], ABSENT where a row had no number."""

    layout: Layout
    seed: int
    hints: Indices = field(default_factory=lambda: np.zeros((0, 0), dtype=np.int64))
    _shares: dict[int, Values] = field(default_factory=dict)

    def hint(self, coins: Indices) -> None:
        """Takes the numbers of rows int64 [rows, columns] as hints, besides those there are."""
        more = ((0, 0), (0, coins.shape[1] - self.hints.shape[1]))
        self.hints = np.concatenate([np.pad(self.hints, more, constant_values=ABSENT), coins])

    def numbers(self, random: int) -> Indices:
        """Returns the numbers of so many random probes and of all hints."""
        return np.concatenate([np.arange(random), RANDOM + np.arange(len(self.hints))])

    def hinted(self, column: int) -> list[int]:
        """Returns the indices that the hints have in a column."""
        if column >= self.hints.shape[1]:
            return []
        return [i for i in self.hints[:, column].tolist() if i != ABSENT]

    def indices(self, column: int, probes: Indices, weights: Weights | None) -> Indices:
        """Returns the indices of a column under these probes, int64 [rows].

        weights float64 [rows, n]: of a number that is one of n.
        """
        shares = self._of(column)[np.minimum(probes, RANDOM - 1)]
        grid = self.layout.by_column[column].grid
        found = grid.at(shares) if grid is not None else _chosen(shares, weights)
        if column >= self.hints.shape[1] or not (probes >= RANDOM).any():
            return found
        hint = self.hints[np.maximum(probes - RANDOM, 0), column]
        possible = (probes >= RANDOM) & (hint != ABSENT)
        if weights is not None:
            possible &= weights[np.arange(len(hint)), np.maximum(hint, 0)] > 0
        return np.where(possible, hint, found)

    def _of(self, column: int) -> Values:
        """Returns the random probes of a column as shares of its probability, float64 [RANDOM]."""
        if column not in self._shares:
            key = hashlib.sha256(f"{self.seed} {column}".encode()).digest()[:8]
            rng = np.random.default_rng(int.from_bytes(key, "big"))
            self._shares[column] = rng.random(RANDOM)
        return self._shares[column]


def _chosen(shares: Values, weights: Weights | None) -> Indices:
    """Returns which of n things the shares of the weights float64 [rows, n] point at."""
    assert weights is not None
    sums = weights.cumsum(axis=1)
    chosen = (shares[:, None] * sums[:, -1:] >= sums).sum(axis=1)
    return np.asarray(np.minimum(chosen, sums.shape[1] - 1))
