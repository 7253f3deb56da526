"""One chunk: draft, call the sampler, check the contract, complete, count.

The harness owns drafts, completions and counts; the sampler only sees a StepBatch and a
generator. Totals depend on the seed and the chunk; they depend on the batch size only through
the sampler's own use of its generator.
"""

from __future__ import annotations

import traceback
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch

from audit.counts import Counts
from audit.errors import DraftproofError, SamplerError
from audit.harness.batches import Keys, Rows, draft, interleaved, step_batch
from audit.harness.counting import Observed, Tally, Togetherness, completed, counts_of
from audit.harness.deck import Deck
from audit.harness.randomness import generator_for
from audit.harness.schedule import Chunk, call_rows
from audit.harness.views import View
from audit.samplers.contract import Watch, explain, faulty_rows, tokens_of
from audit.samplers.interface import LoadedSampler, StepBatch

Table = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Collected:
    """What one chunk showed of one case.

    first_rows counts the first row of each call only. calls int64 [calls, K], row_pairs and
    call_pairs int64 [K, K] are the tables of the independence tests.
    """

    counts: Counts
    first_rows: Counts
    calls: Table
    row_pairs: Table
    call_pairs: Table


@dataclass(frozen=True, eq=False)
class Bench:
    """A sampler before a deck: everything a chunk needs but its number.

    views[i] are the views of deck.cases[i].
    """

    sampler: LoadedSampler
    deck: Deck
    views: tuple[tuple[View, ...], ...]
    seed: int
    batch_size: int

    def collect(self, chunk: Chunk) -> list[Collected]:
        """Returns what `chunk` shows of each case. Raises SamplerError on a broken contract."""
        run = _ChunkRun(self, chunk)
        rows = chunk.trials * len(self.deck.cases)
        for numbers in call_rows(rows, batch_size=self.batch_size):
            run.call(numbers)
        return run.collected()


class _ChunkRun:
    """The state of one chunk while its calls are made."""

    def __init__(self, bench: Bench, chunk: Chunk) -> None:
        deck = bench.deck
        self._bench, self._chunk = bench, chunk
        self._draft_keys = Keys.of(deck, seed=bench.seed, purpose="draft")
        self._completion_keys = Keys.of(deck, seed=bench.seed, purpose="completion")
        hashes = [case.hash for case in deck.cases]
        self._generator = generator_for(
            bench.seed, *hashes, chunk.look, chunk.part, device=deck.device
        )
        self._tallies = [[Tally(v, device=deck.device) for v in vs] for vs in bench.views]
        self._together = [Togetherness(rows[0]) for rows in deck.target_rows]

    def call(self, numbers: range) -> None:
        """Makes one call with these rows of the chunk and counts what it emits."""
        bench = self._bench
        rows = interleaved(bench.deck, numbers.start, numbers.stop, first_trial=self._chunk.first)
        drafts = draft(bench.deck, rows, self._draft_keys)
        batch = step_batch(bench.deck, rows, drafts, contiguous=bench.sampler.facts.contiguous)
        tokens = checked_call(bench.sampler, batch, self._generator)
        self._count(numbers, rows, drafts, tokens)

    def _count(
        self, numbers: range, rows: Rows, drafts: torch.Tensor, tokens: torch.Tensor
    ) -> None:
        whole = completed(self._bench.deck, rows, tokens, self._completion_keys)
        seen = Observed(drafts, (tokens >= 0).sum(dim=1), whole)
        cases = len(self._bench.deck.cases)
        for case in range(cases):
            own = slice((case - numbers.start) % cases, None, cases)
            part = Observed(seen.drafts[own], seen.lengths[own], seen.completed[own])
            for tally in self._tallies[case]:
                tally.add(part)
            self._together[case].add(part)

    def collected(self) -> list[Collected]:
        """Returns what the chunk showed, case by case."""
        return [
            Collected(*counts_of(tallies), *together.tables())
            for tallies, together in zip(self._tallies, self._together, strict=True)
        ]


def checked_call(
    sampler: LoadedSampler, batch: StepBatch, generator: torch.Generator
) -> torch.Tensor:
    """Returns the emitted tokens, int64 [batch, gamma + 1], of one call that kept the contract.

    Raises:
        SamplerError: the sampler raised, changed its inputs or returned a malformed row.
    """
    watch = Watch(batch)
    try:
        output = sampler.call(batch, generator)
    except DraftproofError:
        raise
    except Exception as error:
        said = str(error).strip().partition("\n")[0].rstrip(".")
        sentence = f"{sampler.name} raised {type(error).__name__}: {said}."
        raise SamplerError(sentence, detail=traceback.format_exc()) from error
    tokens = tokens_of(batch, output)
    watch.check()
    wrong = explain(batch, tokens) if bool(faulty_rows(batch, tokens).any()) else ""
    if wrong:
        raise SamplerError(f"{sampler.name} broke its contract: {wrong}")
    return tokens


def is_frozen(bench: Bench, *, rows: int = 64) -> bool:
    """Returns whether the sampler repeats itself although its generator differs.

    One row is handed over `rows` times, twice, with different generators: a sampler whose rows
    differ within a call but not between the two calls restarts its own random numbers.
    """
    deck, sampler = bench.deck, bench.sampler
    zeros = torch.zeros(rows, dtype=torch.int64, device=deck.device)
    same = Rows(zeros, zeros)
    drafts = draft(deck, same, Keys.of(deck, seed=bench.seed, purpose="probe"))
    batch = step_batch(deck, same, drafts, contiguous=sampler.facts.contiguous)
    first, second = (
        checked_call(sampler, batch, generator_for(bench.seed, "probe", i, device=deck.device))
        for i in range(2)
    )
    varied = bool((first != first[:1]).any())
    return varied and bool((first == second).all())
