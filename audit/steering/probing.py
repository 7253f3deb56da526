"""Calls a sampler with random numbers of our choosing, many rows at a time.

A row of a request is a block, the numbers that are decided (an index a column, UNDECIDED for the
rest) and the number of a probe, which fixes the undecided ones.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
import torch

from audit.errors import DraftproofError
from audit.samplers.interface import LoadedSampler
from audit.samplers.worker.loading import named
from audit.steering.answers import UNDECIDED, Answer, Request, joined
from audit.steering.blocks import EXCEPTION, Blocks, called
from audit.steering.draws import Supplier, UnsteerableError, Weights
from audit.steering.grids import Indices
from audit.steering.layout import Batched, Layout, Mode, Single, Unit
from audit.steering.numpy_draws import Relay
from audit.steering.probes import Probes
from audit.steering.tape import Choose, Tape
from audit.steering.watching import learn, own_streams, watched

MANY = 37  # a prime, so that no dimension of a sampler's own is a multiple of it


@dataclass(eq=False)
class Prober:
    """A sampler before the blocks of a case; it must be called inside `watching`.

    batch_size: the most rows of a call. deadline: on the clock of time.monotonic, when no more is
    asked. calls and rows count what it was asked; states: those of generators before each
    draw, hashed, until somebody clears them; raised: the last exception of the sampler.
    """

    sampler: LoadedSampler
    blocks: Blocks
    seed: int
    batch_size: int
    deadline: float = math.inf
    mode: Mode = field(default_factory=Single)
    layout: Layout = field(default_factory=Layout)
    calls: int = 0
    rows: int = 0
    states: list[int] = field(default_factory=list)
    raised: BaseException | None = None
    probes: Probes = field(init=False)
    _relay: Relay = field(default_factory=Relay)
    _functions: set[Any] | None = None

    def __post_init__(self) -> None:
        self.probes = Probes(self.layout, self.seed)

    @contextmanager
    def watching(self) -> Iterator[None]:
        """While entered, the random numbers of numpy and `random` can be seen.

        The global generators are seeded, and put back at the end.
        """
        with own_streams(self.seed), self._relay.installed(self.sampler.call):
            self.watch(1, lambda draw: None)  # what is imported now may draw random numbers too
            yield

    @property
    def size(self) -> int:
        """The most rows of a call in its mode."""
        return 1 if isinstance(self.mode, Single) else self.batch_size

    def run(self, request: Request) -> Answer:
        """Returns what the rows of a request emit."""
        starts = range(0, len(request), self.size)
        parts = [self._part(request[at : at + self.size]) for at in starts]
        return joined(parts, len(self.layout.by_column))

    def _part(self, request: Request) -> Answer:
        """Returns what rows emit in one call; where it raises, in as many as tell which row did."""
        rows = len(request)
        padded = _prime_from(max(rows, MANY)) if isinstance(self.mode, Batched) else rows
        filled = request[np.minimum(np.arange(padded), rows - 1)]
        drafted = self.blocks.tokens[torch.from_numpy(filled.blocks)]
        answer = self.call(drafted, self._steered(filled))[:rows]
        if rows == 1 or (answer.codes != EXCEPTION).any():
            return answer
        halves = [self._part(request[: rows // 2]), self._part(request[rows // 2 :])]
        return joined(halves, len(self.layout.by_column))

    def call(self, drafted: torch.Tensor, choose: Choose) -> Answer:
        """Returns what one call emits for drafts int64 [batch, gamma], with a generator of its own.

        Every row of a call that raises has the code EXCEPTION.

        Raises: SamplerError where the sampler breaks its contract, UnsteerableError after the
        deadline.
        """
        self._count(len(drafted))
        tape = Tape(self.layout, self.mode, len(drafted), choose)
        batch = self.blocks.batch(drafted)
        try:
            with watched(tape, self._relay, self._functions):
                codes = called(self.sampler, batch, self._generator())
        except DraftproofError:
            raise
        except (Exception, SystemExit) as error:
            if tape.failure is not None:
                raise tape.failure from error
            self.raised = error
            codes = np.full(len(drafted), EXCEPTION)
        self.states += tape.states
        return tape.answer(codes)

    def watch(self, rows: int, supplier: Supplier) -> None:
        """Makes one call of `rows` rows, the blocks in turn, before another supplier.

        Raises: UnsteerableError where it raises, and after the deadline.
        """
        self._count(rows)
        drafted = self.blocks.tokens[torch.arange(rows) % len(self.blocks.tokens)]
        try:
            with watched(supplier, self._relay):
                called(self.sampler, self.blocks.batch(drafted), self._generator())
        except DraftproofError:
            raise
        except (Exception, SystemExit) as error:
            raise UnsteerableError(f"it raised {named(error)}") from error

    def learn(self, sizes: Iterable[int]) -> None:
        """Watches from now on only the functions behind the random numbers of such calls."""
        self._functions = set().union(*(learn(partial(self.watch, rows)) for rows in sizes))

    def _count(self, rows: int) -> None:
        if time.monotonic() > self.deadline:
            raise UnsteerableError("reading it takes longer than the time that a case is given")
        self.calls += 1
        self.rows += rows

    def _generator(self) -> torch.Generator:
        generator = torch.Generator(device=self.blocks.deck.device)
        return generator.manual_seed((self.seed * 1_000_003 + self.calls) % 2**62)

    def _steered(self, request: Request) -> Choose:
        """Returns the numbers that a request asks for: those decided, else those of its probes."""

        def choose(unit: Unit, rows: slice, weights: Weights | None) -> Indices:
            probes, known = request.probes[rows], request.decided[rows]
            columns = []
            for i, column in enumerate(unit.columns):
                own = None if weights is None else weights[:, i]
                found = self.probes.indices(column, probes, own)
                if column < known.shape[1]:
                    decided = known[:, column]
                    found = np.where(decided == UNDECIDED, found, decided)
                columns.append(found)
            return np.stack(columns, axis=1)

        return choose


def _prime_from(number: int) -> int:
    while any(number % d == 0 for d in range(2, int(number**0.5) + 1)):
        number += 1
    return number
