"""The seam between draftproof and code that proposes as well as verifies.

A step sampler is any callable `(Models, torch.Generator) -> (draft_token_ids, draft_probs,
tokens)`, or any object with the two halves `propose(Models, Generator) -> (draft_token_ids,
draft_probs)` and `verify(StepBatch, Generator) -> tokens`, which is a sampler of
`audit.samplers.interface`. All its randomness comes from the generator. An attribute `draftproof`
says what it declares, as for every sampler.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

import torch
from torch import Tensor

from audit.samplers.interface import LoadedSampler, Sampler, StepBatch
from audit.samplers.worker.stepping import Halves, Models

__all__ = ["LoadedStep", "Models", "Proposer", "Step", "StepSampler", "halves"]


class Step(NamedTuple):
    """One round: what was drafted, the rows it is claimed to come from, what was emitted.

    draft_token_ids int64 [batch, gamma]; draft_probs of any floating type, [batch, gamma, vocab],
    None where nothing is claimed (a rule that ignores q); tokens int64 [batch, gamma + 1], -1 after
    the emitted ones.
    """

    draft_token_ids: Tensor
    draft_probs: Tensor | None
    tokens: Tensor


class StepSampler(Protocol):
    """The callable that is audited."""

    def __call__(
        self, models: Models, generator: torch.Generator
    ) -> tuple[Tensor, Tensor | None, Tensor]:
        """Returns one round for every row of the call."""
        ...


Proposer = Callable[[Models, torch.Generator], tuple[Tensor, Tensor | None]]


def halves(propose: Proposer, verify: Sampler) -> Halves:
    """Returns the step sampler of two halves."""
    return Halves(propose, verify, StepBatch)


@dataclass(frozen=True)
class LoadedStep(LoadedSampler):
    """A step sampler ready to be called by `step`; `call` is its verifying half, if it has one.

    apart: makes a round in which the verifying half judges the drafts of another proposal than the
    last; None for one function, which cannot be taken apart.
    """

    step: StepSampler = field(kw_only=True)
    apart: StepSampler | None = field(kw_only=True)
