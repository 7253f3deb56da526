"""The proof of a map: fresh calls, with all their random numbers, against what it foretells.

Of m rows whose drafts and numbers nobody chose, M are not foretold. Then the sampler and the map
differ on a share of all rows that is at most h, the Clopper-Pearson limit: whatever the search
missed, hidden entropy included, it lies within h. Counted over rows, h holds where the rows of a
call are independent; counted over calls, as broken if any row is not foretold, whatever ties them.
A row that lacks a number that the map asks for, or whose choice had other weights, counts as not
foretold.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import torch

from audit.harness.batches import Keys, Rows, draft
from audit.statistics.binomial import upper_limit
from audit.steering.answers import Answer, joined
from audit.steering.blocks import EXCEPTION, Codes
from audit.steering.freshness import UNFORETOLD, Freshness
from audit.steering.grids import Indices
from audit.steering.map import Leaf, Node
from audit.steering.probing import Prober
from audit.steering.tape import as_drawn

CHUNK = 8192  # rows that are foretold together; no call has more
KEPT = 64  # rows of a chunk that are kept where they were not foretold


@dataclass(frozen=True)
class Coupling:
    """Fresh rows, in how many calls, and how many of either were not foretold.

    Each bound is the most that the sampler and its map differ in total variation, and wrong at most
    delta often.
    """

    rows: int
    mismatches: int
    calls: int
    broken_calls: int
    delta: float

    @property
    def by_rows(self) -> float:
        """The bound where the rows of a call are independent, as the contract demands."""
        return upper_limit(self.mismatches, self.rows, self.delta)

    @property
    def by_calls(self) -> float:
        """The bound whatever ties the rows of a call."""
        return upper_limit(self.broken_calls, self.calls, self.delta)


def rows_needed(bound: float, delta: float) -> int:
    """Returns the fresh rows, or calls, that give this bound where all of them are foretold.

    >>> rows_needed(1e-5, 1e-3), rows_needed(1e-6, 1e-3)
    (690773, 6907752)
    """
    return math.ceil(math.log(delta) / math.log1p(-bound))


@dataclass
class Surprise:
    """Something that rows emitted which were not foretold: the first block, and how many."""

    block: int
    rows: int = 0
    calls: int = 0


@dataclass(frozen=True, eq=False)
class Missed:
    """Rows that were not foretold: their blocks int64 [rows], and what they emitted on what.

    surprises: by what they emitted, all such rows, of calls in which no row should raise.
    """

    blocks: Indices
    answer: Answer
    surprises: Mapping[int, Surprise] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.blocks)

    def without_exceptions(self) -> Missed:
        """Returns the rows whose call did not raise."""
        rows = np.flatnonzero(self.answer.codes != EXCEPTION)
        return Missed(self.blocks[rows], self.answer[rows])


def couple(
    prober: Prober, maps: Mapping[int, Node], *, rows: int, calls: int, delta: float, purpose: str
) -> tuple[Coupling, Missed]:
    """Returns the coupling over `rows` fresh rows, and some of those that were not foretold.

    calls: the fewest that the rows are to be spread over, if there are as many rows.

    Raises: UnsteerableError where the random numbers of the rows are not fresh.
    """
    keys = Keys.of(prober.blocks.deck, seed=prober.seed, purpose=purpose)
    before, wrong, broken = prober.calls, 0, 0
    size = min(prober.size, CHUNK, max(1, rows // calls))
    chunk = CHUNK // size * size
    kept: list[Missed] = []
    surprises: dict[int, Surprise] = {}
    freshness = Freshness(prober.layout)
    for start in range(0, rows, chunk):
        prober.states.clear()
        blocks, answer = _fresh(prober, keys, range(start, min(start + chunk, rows)), size)
        codes = foretold(maps, blocks, answer)
        freshness.check(answer)
        freshness.unrepeated(prober.states)
        freshness.count(blocks, codes)
        missed = np.flatnonzero(codes != answer.codes)
        wrong += len(missed)
        broken += len(np.unique(missed // size))
        raising = np.flatnonzero(codes == EXCEPTION) // size  # of one row, all others raise too
        own = missed[~np.isin(missed // size, raising)]
        _count(surprises, blocks[own], answer.codes[own], own // size)
        kept.append(Missed(blocks[missed[:KEPT]], answer[missed[:KEPT]]))
    freshness.weigh(maps)
    every = joined([part.answer for part in kept], len(prober.layout.by_column))
    missed_rows = Missed(np.concatenate([part.blocks for part in kept]), every, surprises)
    return Coupling(rows, wrong, prober.calls - before, broken, delta), missed_rows


def _count(surprises: dict[int, Surprise], blocks: Indices, codes: Codes, calls: Indices) -> None:
    """Adds rows that were not foretold, with the numbers of their calls, to the surprises."""
    for code in np.unique(codes).tolist():
        own = codes == code
        surprise = surprises.setdefault(code, Surprise(int(blocks[own][0])))
        surprise.rows += int(own.sum())
        surprise.calls += len(np.unique(calls[own]))


def _fresh(prober: Prober, keys: Keys, trials: range, size: int) -> tuple[Indices, Answer]:
    """Returns the blocks of fresh rows, and what they emit in calls of `size` rows."""
    trial = torch.arange(trials.start, trials.stop, device=prober.blocks.deck.device)
    drafted = draft(prober.blocks.deck, Rows(torch.zeros_like(trial), trial), keys)
    calls = [prober.call(part, as_drawn) for part in torch.split(drafted, size)]
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
