"""One chunk: draft, call the sampler, check the contract, complete, count.

The harness owns drafts, completions and counts; the sampler only sees a batch and a
generator. Totals depend on the seed and the chunk; they depend on the batch size only through
the sampler's own use of its generator.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import torch

from audit.counts import Counts
from audit.errors import SamplerError
from audit.harness.batches import Keys, Rows, batch_of, draft, interleaved, shuffled
from audit.harness.counting import Observed, Tally, completed, counts_of
from audit.harness.deck import Deck
from audit.harness.randomness import generator_for
from audit.harness.schedule import (
    SMALL_CALLS,
    Chunk,
    call_rows,
    only_small_call_rows,
    small_call_rows,
)
from audit.harness.togetherness import Together, Togetherness
from audit.harness.views import View
from audit.samplers.batch import checksum_of
from audit.samplers.calling import emitted
from audit.samplers.contract import explain, faulty_rows
from audit.samplers.interface import Batch, LoadedSampler


@dataclass(frozen=True, eq=False)
class Collected:
    """What one chunk showed of one case.

    first_rows counts the first row of each call only. together: the tables of the independence
    tests, for each size of calls that was made.
    """

    counts: Counts
    first_rows: Counts
    together: tuple[Together, ...]


class Played(NamedTuple):
    """One call: drafts int64 [batch, drafted], what was handed over, the tokens, unchecked."""

    drafts: torch.Tensor
    batch: Batch
    tokens: torch.Tensor


@dataclass(frozen=True, eq=False)
class Bench:
    """A sampler before a deck: everything a chunk needs but its number.

    views[i] are the views of deck.cases[i]. batch_size: the most rows of a call. small: mixed
    chunks begin with calls of SMALL_CALLS rows. only_small: there are no other calls.
    """

    sampler: LoadedSampler
    deck: Deck
    views: tuple[tuple[View, ...], ...]
    seed: int
    batch_size: int
    small: bool = False
    only_small: bool = False

    def calls(self, chunk: Chunk) -> list[range]:
        """Returns the rows of each call of a chunk."""
        rows = chunk.trials * len(self.deck.cases)
        if self.only_small:
            return only_small_call_rows(rows, batch_size=self.batch_size)
        if self.small and chunk.mixed:
            return small_call_rows(rows, batch_size=self.batch_size)
        return call_rows(rows, batch_size=self.batch_size)

    def collect(self, chunk: Chunk) -> list[Collected]:
        """Returns what `chunk` shows of each case. Raises SamplerError on a broken contract."""
        before = self.untouched
        run = _ChunkRun(self, chunk, read_every_call=self.deck.device.type == "cpu")
        collected = run.made()
        if bool(run.faulty):  # a GPU is asked once a chunk; made again, the sentence can be found
            _ChunkRun(self, chunk, read_every_call=True).made()
            raise SamplerError(f"{self.sampler.name} broke its contract, but not when asked again.")
        if not torch.equal(self._checksum(), before):
            raise SamplerError(f"{self.sampler.name} wrote into its input; it must copy it.")
        return collected

    def play(self, rows: Rows, keys: Keys, generator: torch.Generator) -> Played:
        """Returns one call on these rows; keys: of their drafts. Raises SamplerError."""
        drafts = draft(self.deck, rows, keys)
        batch = self.batch(rows, drafts)
        return Played(drafts, batch, emitted(self.sampler, batch, generator))

    def batch(self, rows: Rows, drafts: torch.Tensor) -> Batch:
        """Returns what the sampler reads for these rows and drafts int64 [batch, drafted]."""
        copies = self._copies if self.sampler.facts.contiguous else None
        return batch_of(self.deck, rows, drafts.clone(), copies=copies)

    @cached_property
    def _copies(self) -> tuple[torch.Tensor, torch.Tensor] | None:
        """The rows of a uniform deck repeated for the largest call, made once."""
        deck, nodes = self.deck, self.deck.tree.nodes
        if not deck.uniform:
            return None
        target = deck.target_rows.expand(self.batch_size, nodes + 1, -1).contiguous()
        return target, deck.draft_rows.expand(self.batch_size, nodes, -1).contiguous()

    @cached_property
    def untouched(self) -> torch.Tensor:
        """The checksum of all that calls share, from before the first of them."""
        return self._checksum()

    def _checksum(self) -> torch.Tensor:
        kept = self._copies if self.sampler.facts.contiguous else None
        return checksum_of(self.deck.target_rows, self.deck.draft_rows, *(kept or ()))


class _ChunkRun:
    """The state of one chunk while its calls are made.

    faulty: whether any row of any call was malformed, bool [] on the device.
    """

    def __init__(self, bench: Bench, chunk: Chunk, *, read_every_call: bool) -> None:
        deck = bench.deck
        self._bench, self._chunk, self._read = bench, chunk, read_every_call
        self._draft_keys = Keys.of(deck, seed=bench.seed, purpose="draft")
        self._completion_keys = Keys.of(deck, seed=bench.seed, purpose="completion")
        hashes = [case.hash for case in deck.cases]
        self._generator = generator_for(
            bench.seed, *hashes, chunk.look, chunk.part, device=deck.device
        )
        self._tallies = [[Tally(v, device=deck.device) for v in vs] for vs in bench.views]
        self._order_keys = Keys.of(deck, seed=bench.seed, purpose="order")
        self._together: list[dict[int, Togetherness]] = [{} for _ in deck.cases]
        self.faulty = torch.zeros((), dtype=torch.bool, device=deck.device)

    def made(self) -> list[Collected]:
        """Makes every call and returns what the chunk showed, case by case."""
        for numbers in self._bench.calls(self._chunk):
            self._call(self._rows(numbers))
        return [
            Collected(*counts_of(tallies), tuple(one.tables() for one in together.values()))
            for tallies, together in zip(self._tallies, self._together, strict=True)
        ]

    def _rows(self, numbers: range) -> Rows:
        deck, first, bounds = self._bench.deck, self._chunk.first, (numbers.start, numbers.stop)
        if len(deck.cases) == 1:
            return interleaved(deck, *bounds, first_trial=first)
        return shuffled(deck, *bounds, first_trial=first, keys=self._order_keys)

    def _call(self, rows: Rows) -> None:
        bench = self._bench
        drafts, batch, tokens = bench.play(rows, self._draft_keys, self._generator)
        self.faulty |= faulty_rows(batch, tokens).any()
        if self._read and bool(self.faulty):
            said = explain(batch, tokens)
            raise SamplerError(f"{bench.sampler.name} broke its contract: {said}")
        self._count(rows, drafts, tokens)

    def _count(self, rows: Rows, drafts: torch.Tensor, tokens: torch.Tensor) -> None:
        whole = completed(self._bench.deck, rows, tokens, self._completion_keys)
        seen = Observed(drafts, (tokens >= 0).sum(dim=1).clamp(min=1), whole)
        for case, own in enumerate(rows.own):
            part = Observed(seen.drafts[own], seen.lengths[own], seen.completed[own])
            if not len(part.lengths):
                continue
            for tally in self._tallies[case]:
                tally.add(part)
            self._beside(case, len(tokens)).add(part)

    def _beside(self, case: int, size: int) -> Togetherness:
        """Returns what is noted of a case in calls of this size; all uncommon sizes are one."""
        told_apart = size if size in SMALL_CALLS else 0
        if told_apart not in self._together[case]:
            deck = self._bench.deck
            noted = Togetherness(deck.target_rows[case, 0], int(deck.gammas[case]))
            self._together[case][told_apart] = noted
        return self._together[case][told_apart]
