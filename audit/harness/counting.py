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


@dataclass(frozen=True, eq=False)
class Observed:
    """One call after completion.

    drafts int64 [batch, drafted]; lengths int64 [batch] (1..gamma + 1); completed int64 [batch,
    largest gamma + 1].
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
        case, base = self.view.case, self.view.case.vocab_size
        _, lengths, cells = self.view.shape
        blocks = seen.completed[:, : self.view.tokens or lengths]
        if self._labels is not None:
            blocks = self._labels[blocks]
        code = _radix(blocks, base) + (seen.lengths - 1) * cells
        if self.view.drafts:
            code = code + _radix(seen.drafts[:, : case.drafted], base) * (lengths * cells)
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
