"""Asks a sampler to verify batches, and turns what comes of it into findings.

A rule is broken by a call that fails or breaks `audit.samplers.contract`. A sampler that has ended
is asked nothing more.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import partial

import torch
from torch import Tensor

from audit.errors import SamplerError
from audit.samplers.calling import emitted
from audit.samplers.checking.report import Finding, Result
from audit.samplers.checking.worlds import World, shapes_for
from audit.samplers.client import WorkerSampler
from audit.samplers.contract import check_output
from audit.samplers.interface import Batch, LoadedSampler
from audit.tree import Drafting

SIZES = (1, 2, 3, 8, 64)
ENDED = "its process has ended"

Named = Iterable[tuple[str, Batch]]


@dataclass(eq=False)
class Checker:
    """A sampler, and how it is asked; drafting: how its drafts are drawn, None for chains.

    answered: whether any call has kept the contract so far.
    """

    sampler: LoadedSampler
    drafting: Drafting | None
    device: torch.device
    seed: int
    answered: bool = False

    @property
    def sizes(self) -> tuple[int, ...]:
        """The numbers of rows that the sampler takes in one call."""
        facts = self.sampler.facts
        if not facts.independent_rows:
            return (1,)
        return tuple(size for size in SIZES if size <= (facts.max_batch or size))

    @property
    def world(self) -> World:
        """The batches of an ordinary call: up to 8 rows, a row of every kind."""
        rows, shape = min(8, max(self.sizes)), shapes_for(self.drafting)[1]
        return World(shape, self.drafting is None, self.device, rows=rows, vocab=4)

    @property
    def ended(self) -> bool:
        """Whether the sampler's own process is gone."""
        return bool(getattr(self.sampler.call, "ended", False))

    def made(self, world: World) -> Batch:
        """Returns a batch of a world, always the same."""
        return world.batch(torch.Generator().manual_seed(self.seed))

    def call(self, batch: Batch, number: int = 0) -> Tensor:
        """Returns the rows of one call that keeps the contract. Raises SamplerError.

        number: which generator is handed over.
        """
        generator = torch.Generator(self.device).manual_seed(self.seed + number)
        return self._checked(batch, emitted(self.sampler, batch, generator))

    def _checked(self, batch: Batch, tokens: Tensor) -> Tensor:
        tokens = check_output(batch, tokens)
        self.answered = True
        return tokens

    def calls(self, batch: Batch, number: int, *, times: int) -> Tensor:
        """Returns the rows of several calls with one generator, which nobody seeds in between.

        Raises SamplerError.
        """
        generator = torch.Generator(self.device).manual_seed(self.seed + number)
        again = getattr(self.sampler.call, "again", self.sampler.call)
        later = replace(self.sampler, call=again)
        made = [emitted(one, batch, generator) for one in (self.sampler, *[later] * (times - 1))]
        return torch.cat([self._checked(batch, tokens) for tokens in made])

    def globals_moved(self, batch: Batch) -> list[str]:
        """Returns whose global generators one call moves on, as far as a worker sees it.

        Raises SamplerError.
        """
        call = self.sampler.call
        if not isinstance(call, WorkerSampler):
            return []
        return call.moved(batch, torch.Generator(self.device).manual_seed(self.seed))

    def kept(self, rule: str, batches: Named) -> Finding:
        """Returns whether all batches are verified within the contract; else the first that is not.

        Each batch has a name, which may be "".
        """
        for name, batch in batches:
            finding = self.judged(rule, partial(self._verified, batch), where=name)
            if finding.result != "kept":
                return finding
        return Finding(rule, "kept")

    def _verified(self, batch: Batch) -> tuple[Result, str]:
        self.call(batch)
        return "kept", ""

    def judged(
        self, rule: str, ask: Callable[[], tuple[Result, str]], *, where: str = ""
    ) -> Finding:
        """Returns what `ask` says of a rule; it is broken where a call fails."""
        if self.ended:
            return Finding(rule, "skipped", ENDED)
        try:
            result, said = ask()
        except SamplerError as error:
            result, said = "broken", self.sentence(error)
        return Finding(rule, result, f"{where}: {said}" if where and said else said)

    def sentence(self, error: SamplerError) -> str:
        """Returns an error without the name of the sampler and without a full stop."""
        said = str(error).removeprefix(f"{self.sampler.name} ").removeprefix("the sampler ")
        return said.removeprefix("broke its contract: ").rstrip(".")
