"""The proof of a map: fresh calls, with all their random numbers, against what it foretells.

Of m rows whose drafts and numbers nobody chose, M are not foretold. Then the sampler and the map
differ on a share of all rows that is at most h, the Clopper-Pearson limit: whatever the search
missed, hidden entropy included, it lies within h. A row that lacks a number that the map asks for,
or whose choice had other weights, counts as not foretold.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import torch

from audit.harness.batches import Keys, Rows, draft
from audit.statistics.binomial import upper_limit
from audit.steering.answers import Answer, joined
from audit.steering.blocks import EXCEPTION, Codes
from audit.steering.grids import Indices
from audit.steering.map import Leaf, Node
from audit.steering.probing import Prober
from audit.steering.tape import as_drawn

UNFORETOLD = -9
CHUNK = 4096  # rows that are foretold together, at least
KEPT = 64  # rows of a chunk that are kept where they were not foretold


@dataclass(frozen=True)
class Coupling:
    """rows and mismatches of the fresh calls, and the bound h, wrong at most delta often."""

    rows: int
    mismatches: int
    calls: int
    delta: float

    @property
    def bound(self) -> float:
        """The most that the sampler and its map differ in total variation."""
        return upper_limit(self.mismatches, self.rows, self.delta)


@dataclass(frozen=True, eq=False)
class Missed:
    """Rows that were not foretold: their blocks int64 [rows], and what they emitted on what."""

    blocks: Indices
    answer: Answer

    def __len__(self) -> int:
        return len(self.blocks)

    def without_exceptions(self) -> Missed:
        """Returns the rows whose call did not raise."""
        rows = np.flatnonzero(self.answer.codes != EXCEPTION)
        return Missed(self.blocks[rows], self.answer[rows])


def couple(
    prober: Prober, maps: Mapping[int, Node], *, rows: int, delta: float, purpose: str
) -> tuple[Coupling, Missed]:
    """Returns the coupling over `rows` fresh rows, and some of those that were not foretold."""
    keys = Keys.of(prober.blocks.deck, seed=prober.seed, purpose=purpose)
    before, wrong = prober.calls, 0
    kept: list[Missed] = []
    chunk = max(prober.size, CHUNK)
    for start in range(0, rows, chunk):
        blocks, answer = _fresh(prober, keys, range(start, min(start + chunk, rows)))
        missed = np.flatnonzero(foretold(maps, blocks, answer) != answer.codes)
        wrong += len(missed)
        kept.append(Missed(blocks[missed[:KEPT]], answer[missed[:KEPT]]))
    every = joined([part.answer for part in kept], len(prober.layout.by_column))
    missed_rows = Missed(np.concatenate([part.blocks for part in kept]), every)
    return Coupling(rows, wrong, prober.calls - before, delta), missed_rows


def _fresh(prober: Prober, keys: Keys, trials: range) -> tuple[Indices, Answer]:
    """Returns the blocks of fresh rows, and what they emit."""
    trial = torch.arange(trials.start, trials.stop, device=prober.blocks.deck.device)
    drafted = draft(prober.blocks.deck, Rows(torch.zeros_like(trial), trial), keys)
    calls = [prober.call(part, as_drawn) for part in torch.split(drafted, prober.size)]
    return prober.blocks.numbers(drafted), joined(calls, len(prober.layout.by_column))


def foretold(maps: Mapping[int, Node], blocks: Indices, answer: Answer) -> Codes:
    """Returns the code that the map of its block foretells for each row, or UNFORETOLD."""
    codes = np.full(len(blocks), UNFORETOLD)
    waiting = [(node, np.flatnonzero(blocks == block)) for block, node in maps.items()]
    while waiting:
        node, rows = waiting.pop()
        if not len(rows):
            continue
        if isinstance(node, Leaf):
            codes[rows] = node.code
            continue
        child = node.found(answer, rows)
        order = np.argsort(child, kind="stable")
        ends = np.searchsorted(child[order], np.arange(len(node.children) + 1))
        waiting += [
            (node.children[i], rows[order[ends[i] : ends[i + 1]]])
            for i in range(len(node.children))
        ]
    return codes
