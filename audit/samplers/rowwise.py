"""What processing does to rows of probabilities, float64 [..., vocab].

Equal probabilities go to the lower id. Processings that have a constant are made from it. NEAR is
what rounding to float32 may do to a probability: within it, a value counts as the bound that it was
meant to meet.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn.functional import pad

from audit.samplers.interface import StepBatch

NEAR = 1e-6
Processing = Callable[[Tensor], Tensor]


def most_probable(rows: Tensor) -> Tensor:
    """Returns the rows that hold 1 at their largest entry."""
    return torch.zeros_like(rows).scatter_(-1, rows.argmax(-1, keepdim=True), 1.0)


def cut_to(rows: Tensor, k: float) -> Tensor:
    """Returns the rows with all but their k most probable tokens set to 0, not normalised."""
    beyond = rows.sort(dim=-1, descending=True, stable=True).indices[..., int(k) :]
    return rows.scatter(-1, beyond, 0.0)


def normalised(rows: Tensor) -> Tensor:
    """Returns each row over its sum; a row of sum 0 stays 0."""
    sums = rows.sum(-1, keepdim=True)
    return torch.where(sums > 0, rows / sums, 0.0)


def top(k: float) -> Processing:
    """Returns the processing that leaves the laws of the k most probable tokens."""
    return lambda rows: normalised(cut_to(rows, k))


def tempered(temperature: float) -> Processing:
    """Returns the processing that sets the temperature: p ** (1 / T), normalised."""
    return lambda rows: normalised(rows ** (1 / temperature))


def without_last_ids(count: float) -> Processing:
    """Returns the processing that leaves the laws of all tokens but the `count` last ids."""

    def cut(rows: Tensor) -> Tensor:
        kept = rows[..., : max(rows.shape[-1] - int(count), 0)]
        return normalised(pad(kept, (0, rows.shape[-1] - kept.shape[-1])))

    return cut


def rounded_to(step: float) -> Processing:
    """Returns the processing that rounds to multiples of `step`, ties to even, not normalised.

    What lies within NEAR of a tie is one.
    """

    def rounded(rows: Tensor) -> Tensor:
        halves = rows * (2 / step)
        tied = (halves - halves.round()).abs() < NEAR
        return torch.where(tied, halves.round(), halves).div_(2).round_() * step

    return rounded


def as_they_are(rows: Tensor) -> Tensor:
    """Returns the rows."""
    return rows


def processed(
    batch: StepBatch, *, target: Processing = as_they_are, draft: Processing = as_they_are
) -> StepBatch:
    """Returns the batch with its rows processed in float64."""
    return batch._replace(
        target_probs=target(batch.target_probs.double()),
        draft_probs=draft(batch.draft_probs.double()),
    )
