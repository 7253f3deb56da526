"""What rows of a call, and calls in turn, have in common: the tables of the independence tests."""

from __future__ import annotations

from typing import NamedTuple

import torch

from audit.counts import Table
from audit.harness.counting import Observed

CATEGORIES = 16  # of outcomes


class Together(NamedTuple):
    """The tables of the independence tests for calls of one size.

    calls int64 [calls, K]; rows int64 [tables, K, K], pairs of rows of a call; turns int64
    [tables, K, K], pairs of rows of two calls.
    """

    calls: Table
    rows: Table
    turns: Table


class Togetherness:
    """The small tables of the independence tests for one case, filled call by call.

    case_row float [vocab]: the target's first row. last: the place of the case's last token.

    A category is (quarter of the target's mass that the first completed token falls in, half of
    it that the second falls in, half that the last falls in): completed tokens only, since lengths
    may lawfully vary; the last is the bonus token where all drafts are accepted. Rows are
    paired with the next one (from an even row, from an odd row), with the next but one, and with
    their fellow in the other half of the call; calls with the next one (even, odd).
    """

    def __init__(self, case_row: torch.Tensor, last: int) -> None:
        self._last = last
        mass = case_row.to(torch.float64)
        self._share = mass.cumsum(0) - mass / 2
        self._calls: list[torch.Tensor] = []
        square = CATEGORIES**2
        self._rows = torch.zeros(4, square, dtype=torch.int64, device=case_row.device)
        self._turns = torch.zeros(2, square, dtype=torch.int64, device=case_row.device)
        self._before: torch.Tensor | None = None

    def add(self, seen: Observed) -> None:
        """Notes the rows of one call, all of one case."""
        quarter = (self._share[seen.completed[:, 0]] * 4).long().clamp(0, 3)
        halves = (self._share[seen.completed[:, [1, self._last]]] >= 0.5).long()
        category = quarter * 4 + halves[:, 0] * 2 + halves[:, 1]
        if self._before is not None:
            both = min(len(category), len(self._before))
            self._pair(self._turns[len(self._calls) % 2], self._before[:both], category[:both])
        self._before = category
        self._calls.append(_noted(torch.zeros_like(self._rows[0, :CATEGORIES]), category))
        self._pair_rows(category)

    def _pair_rows(self, category: torch.Tensor) -> None:
        middle, four = len(category) // 2, len(category) // 4 * 4
        fours = category[:four].reshape(-1, 4)
        pairs = [
            (category[0::2], category[1::2]),
            (category[1::2], category[2::2]),
            (fours[:, :2].flatten(), fours[:, 2:].flatten()),
            (category[:middle], category[middle : 2 * middle]),
        ]
        for table, (a, b) in zip(self._rows, pairs, strict=True):
            both = min(len(a), len(b))
            self._pair(table, a[:both], b[:both])

    @staticmethod
    def _pair(table: torch.Tensor, a: torch.Tensor, b: torch.Tensor) -> None:
        _noted(table, a * CATEGORIES + b)

    def tables(self) -> Together:
        """Returns what was noted."""
        calls = torch.stack(self._calls) if self._calls else self._rows.new_zeros(0, CATEGORIES)
        square = (-1, CATEGORIES, CATEGORIES)
        pairs = self._rows.cpu().numpy().reshape(square), self._turns.cpu().numpy().reshape(square)
        return Together(calls.cpu().numpy(), *pairs)


def _noted(table: torch.Tensor, codes: torch.Tensor) -> torch.Tensor:
    return table.scatter_add_(0, codes, torch.ones_like(codes))
