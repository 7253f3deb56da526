"""One chunk: draft, call the sampler, check the contract, complete, count.

The harness owns drafts, completions and counts; the sampler only sees a StepBatch and a
generator. Totals depend on the seed and the chunk; they depend on the batch size only through
the sampler's own use of its generator.
"""

from __future__ import annotations

import math
import traceback
from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

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
from audit.samplers.batch import checksum_of
from audit.samplers.contract import Watch, explain, explain_accepted, faulty_rows, tokens_of
from audit.samplers.interface import LoadedSampler, StepBatch

Table = npt.NDArray[np.int64]

_PROBES = 33  # calls, so that a generator restarted at every 2nd to 16th call repeats itself
_PROBE_ROWS = 64


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
        before = self.untouched
        run = _ChunkRun(self, chunk, read_every_call=self.deck.device.type == "cpu")
        collected = run.made()
        if bool(run.faulty):  # a GPU is asked once a chunk; made again, the sentence can be found
            _ChunkRun(self, chunk, read_every_call=True).made()
            raise SamplerError(f"{self.sampler.name} broke its contract, but not when asked again.")
        if not torch.equal(self._checksum(), before):
            raise SamplerError(f"{self.sampler.name} wrote into its input; it must copy it.")
        return collected

    def batch(self, rows: Rows, drafts: torch.Tensor) -> StepBatch:
        """Returns what the sampler reads for these rows and drafts int64 [batch, gamma]."""
        copies = self._copies if self.sampler.facts.contiguous else None
        return step_batch(self.deck, rows, drafts.clone(), copies=copies)

    @cached_property
    def _copies(self) -> tuple[torch.Tensor, torch.Tensor] | None:
        """The rows of a uniform deck repeated for the largest call, made once."""
        deck = self.deck
        if not deck.uniform:
            return None
        target = deck.target_rows.expand(self.batch_size, deck.gamma + 1, -1).contiguous()
        return target, deck.draft_rows.expand(self.batch_size, deck.gamma, -1).contiguous()

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
        self._together = [Togetherness(rows[0]) for rows in deck.target_rows]
        self.faulty = torch.zeros((), dtype=torch.bool, device=deck.device)

    def made(self) -> list[Collected]:
        """Makes every call and returns what the chunk showed, case by case."""
        rows = self._chunk.trials * len(self._bench.deck.cases)
        for numbers in call_rows(rows, batch_size=self._bench.batch_size):
            self._call(numbers)
        return [
            Collected(*counts_of(tallies), *together.tables())
            for tallies, together in zip(self._tallies, self._together, strict=True)
        ]

    def _call(self, numbers: range) -> None:
        bench = self._bench
        rows = interleaved(bench.deck, numbers.start, numbers.stop, first_trial=self._chunk.first)
        drafts = draft(bench.deck, rows, self._draft_keys)
        batch = bench.batch(rows, drafts)
        tokens = emitted(bench.sampler, batch, self._generator)
        self.faulty |= faulty_rows(batch, tokens).any()
        if self._read and bool(self.faulty):
            said = explain(batch, tokens)
            raise SamplerError(f"{bench.sampler.name} broke its contract: {said}")
        self._count(numbers, rows, drafts, tokens)

    def _count(
        self, numbers: range, rows: Rows, drafts: torch.Tensor, tokens: torch.Tensor
    ) -> None:
        whole = completed(self._bench.deck, rows, tokens, self._completion_keys)
        seen = Observed(drafts, (tokens >= 0).sum(dim=1).clamp(min=1), whole)
        cases = len(self._bench.deck.cases)
        for case in range(cases):
            own = slice((case - numbers.start) % cases, None, cases)
            part = Observed(seen.drafts[own], seen.lengths[own], seen.completed[own])
            for tally in self._tallies[case]:
                tally.add(part)
            self._together[case].add(part)


def emitted(sampler: LoadedSampler, batch: StepBatch, generator: torch.Generator) -> torch.Tensor:
    """Returns the emitted tokens of one call, int64 [batch, gamma + 1], their values unchecked.

    Raises:
        SamplerError: the sampler raised, changed its inputs or returned something else.
    """
    watch = Watch(batch)
    try:
        output = sampler.call(batch, generator)
    except DraftproofError:
        raise
    except (Exception, SystemExit) as error:
        said = str(error).strip().partition("\n")[0].rstrip(".")
        sentence = f"{sampler.name} raised {type(error).__name__}: {said}."
        raise SamplerError(sentence, detail=traceback.format_exc()) from error
    tokens = tokens_of(batch, output)
    watch.check()
    wrong = explain_accepted(batch, output)
    if wrong:
        raise SamplerError(f"{sampler.name} broke its contract: {wrong}")
    return tokens


def is_frozen(bench: Bench, *, level: float) -> bool:
    """Returns whether the sampler repeats itself although its generator differs.

    One row is handed over many times in one call, and that call is made again and again, at two
    sizes in turn. Rows of a call that differ, in the very same order in two calls, restart their
    random numbers. Given the outcomes of a call, independent rows repeat their order with a
    known chance; where that is above `level` for all pairs of calls, nothing is told.
    """
    _ = bench.untouched
    calls = [_probe(bench, number) for number in range(_PROBES)]
    pairs = list(combinations(calls, 2))
    return any(
        torch.equal(one, other) and _chance_of_order(one) * len(pairs) <= level
        for one, other in pairs
    )


def _probe(bench: Bench, number: int) -> torch.Tensor:
    deck = bench.deck
    rows = min(_PROBE_ROWS, bench.batch_size) - number % 2
    zeros = torch.zeros(max(rows, 1), dtype=torch.int64, device=deck.device)
    same = Rows(zeros, zeros)
    drafts = draft(deck, same, Keys.of(deck, seed=bench.seed, purpose="probe"))
    generator = generator_for(bench.seed, "probe", number, device=deck.device)
    return emitted(bench.sampler, step_batch(deck, same, drafts, copies=None), generator)


def _chance_of_order(tokens: torch.Tensor) -> float:
    """Returns the chance that independent rows with these outcomes come in this order."""
    counts = Counter(map(tuple, tokens.tolist())).values()
    orders = math.lgamma(len(tokens) + 1) - sum(math.lgamma(n + 1) for n in counts)
    return math.exp(-orders)
