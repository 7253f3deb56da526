"""Draws by exponential races, and the noise of a race that is known by its winner.

With noise E_i, independent and of rate 1, argmin E_i / w_i is a draw with weights w.
"""

from __future__ import annotations

import torch
from torch import Tensor

from audit.samplers.rowwise import normalised


def exponential(coins: Tensor) -> Tensor:
    """Returns exponential noise of rate 1 from coins in [0, 1)."""
    return -torch.log1p(-coins)


def noise_that_drew(winner: Tensor, q: Tensor, won: Tensor, fresh: Tensor) -> Tensor:
    """Returns noise [batch, vocab] by which the race of the rows q was won by `winner`.

    winner int64 [batch, 1], -1 for any; q float64 [batch, vocab]; won [batch, 1] and fresh [batch,
    vocab] exponential. The race is won at a time of rate 1; the noise of every other token runs on
    from there.
    """
    ids = torch.arange(q.shape[1], device=q.device)
    return normalised(q) * won + torch.where(ids == winner, 0.0, fresh)


def first_through(weights: Tensor, noise: Tensor) -> Tensor:
    """Returns argmin noise / weights, int64 [batch]; -1 where all weights are zero."""
    times = torch.where(weights > 0, noise / weights, torch.inf)
    return torch.where((weights > 0).any(1), times.argmin(1), -1)
