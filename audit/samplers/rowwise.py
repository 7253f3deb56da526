"""What processing does to rows of probabilities, float64 [..., vocab].

Equal probabilities go to the lower id. NEAR is what rounding to float32 may do to a probability:
within it, a value counts as the bound that it was meant to meet.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from audit.samplers.interface import StepBatch

NEAR = 1e-6
Processing = Callable[[Tensor], Tensor]


def most_probable(rows: Tensor) -> Tensor:
    """Returns the rows that hold 1 at their largest entry."""
    return torch.zeros_like(rows).scatter_(-1, rows.argmax(-1, keepdim=True), 1.0)


def cut_to_two(rows: Tensor) -> Tensor:
    """Returns the rows with all but their two most probable tokens set to 0, not normalised."""
    beyond = rows.sort(dim=-1, descending=True, stable=True).indices[..., 2:]
    return rows.scatter(-1, beyond, 0.0)


def normalised(rows: Tensor) -> Tensor:
    """Returns each row over its sum; a row of sum 0 stays 0."""
    sums = rows.sum(-1, keepdim=True)
    return torch.where(sums > 0, rows / sums, 0.0)


def top_two(rows: Tensor) -> Tensor:
    """Returns the laws of the two most probable tokens."""
    return normalised(cut_to_two(rows))


def squared(rows: Tensor) -> Tensor:
    """Returns the rows at half their temperature."""
    return normalised(rows * rows)


def without_last_id(rows: Tensor) -> Tensor:
    """Returns the laws of all tokens but the one with the last id."""
    return normalised(torch.nn.functional.pad(rows[..., :-1], (0, 1)))


def in_eighths(rows: Tensor) -> Tensor:
    """Returns every probability rounded to the nearest 1/8, ties to even, not normalised."""
    return (rows * 8).round() / 8


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
