"""From emitted rows to counts: completion by target draws, a code, one scatter a view.

Counts stay on the device until a chunk ends; nothing here waits for the device.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch

from audit.counts import Counts
from audit.harness.batches import Keys, Rows, appended, drawn
from audit.harness.deck import Deck
from audit.harness.views import View

CATEGORIES = 8  # outcome categories of the independence tests


@dataclass(frozen=True, eq=False)
class Observed:
    """One call after completion.

    lengths int64 [batch] (1..gamma + 1); completed int64 [batch, largest gamma + 1].
    """

    drafts: torch.Tensor
    lengths: torch.Tensor
    completed: torch.Tensor


def completed(deck: Deck, rows: Rows, tokens: torch.Tensor, keys: Keys) -> torch.Tensor:
    """Returns int64 [batch, gamma + 1]: emitted tokens, then target draws given what precedes."""
    code = torch.zeros_like(rows.case)
    u = keys.uniforms(rows)
    filled: list[torch.Tensor] = []
    for position in range(deck.gamma + 1):
        index = deck.prefix_index(position, code)
        fresh = drawn(deck.target_cumulative, deck, rows, index, u[:, position])
        emitted = tokens[:, position]
        token = torch.where(emitted >= 0, emitted, fresh).clamp(max=deck.vocab_size - 1)
        filled.append(token)
        code = appended(deck, rows, code, token, position)
    return torch.stack(filled, dim=1)


class Tally:
    """Count tables of one case and view on the device, and those of the first row of each call."""

    def __init__(self, view: View, *, device: torch.device) -> None:
        self.view = view
        cells = int(np.prod(view.shape))
        self._labels = None if view.labels is None else torch.from_numpy(view.labels).to(device)
        self._all = torch.zeros(cells, dtype=torch.int64, device=device)
        self._first = torch.zeros(cells, dtype=torch.int64, device=device)

    def add(self, seen: Observed) -> None:
        """Counts the rows of one call, all of this tally's case."""
        codes = self._codes(seen)
        self._all.scatter_add_(0, codes, torch.ones_like(codes))
        self._first.scatter_add_(0, codes[:1], torch.ones_like(codes[:1]))

    def _codes(self, seen: Observed) -> torch.Tensor:
        gamma, base = self.view.case.num_speculative_tokens, self.view.case.vocab_size
        _, lengths, cells = self.view.shape
        blocks = seen.completed[:, : gamma + 1]
        if self._labels is not None:
            blocks = self._labels[blocks]
        code = _radix(blocks, base) + (seen.lengths - 1) * cells
        if self.view.drafts:
            code = code + _radix(seen.drafts[:, :gamma], base) * (lengths * cells)
        return code

    def tables(self) -> tuple[np.ndarray, np.ndarray]:
        """Returns the counts of all rows and of the first rows, int64 in the view's shape."""
        shape = self.view.shape
        return self._all.cpu().numpy().reshape(shape), self._first.cpu().numpy().reshape(shape)


def _radix(tokens: torch.Tensor, base: int) -> torch.Tensor:
    code = torch.zeros_like(tokens[:, 0])
    for position in range(tokens.shape[1]):
        code = code * base + tokens[:, position]
    return code


def counts_of(tallies: Sequence[Tally]) -> tuple[Counts, Counts]:
    """Returns the counts of all rows and of the first row of each call, one table a view."""
    tables = [tally.tables() for tally in tallies]
    bases = tuple(tally.view.case.vocab_size for tally in tallies)
    everything = Counts(tuple(table for table, _ in tables), bases)
    return everything, Counts(tuple(first for _, first in tables), bases)


class Togetherness:
    """The small tables of the independence tests for one case, filled call by call.

    A category is (quarter of the target's mass that the first completed token falls in, half of
    it that the second falls in): completed tokens only, since lengths may lawfully vary. Rows are
    paired with the next one (from an even row, from an odd row), with the next but one, and with
    their fellow in the other half of the call; calls with the next one (even, odd).
    """

    def __init__(self, case_row: torch.Tensor) -> None:
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
        half = (self._share[seen.completed[:, 1]] >= 0.5).long()
        category = quarter * 2 + half
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

    def tables(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Returns counts by call [calls, K], by row pair [4, K, K] and by call pair [2, K, K]."""
        calls = torch.stack(self._calls) if self._calls else self._rows.new_zeros(0, CATEGORIES)
        square = (-1, CATEGORIES, CATEGORIES)
        pairs = self._rows.cpu().numpy().reshape(square), self._turns.cpu().numpy().reshape(square)
        return calls.cpu().numpy(), *pairs


def _noted(table: torch.Tensor, codes: torch.Tensor) -> torch.Tensor:
    return table.scatter_add_(0, codes, torch.ones_like(codes))
