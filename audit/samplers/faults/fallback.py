"""Wrong fallbacks: what is drawn from after a rejection."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

import torch
from torch import Tensor

from audit.samplers.chain import chain, residual
from audit.samplers.interface import Sampler
from audit.samplers.rowwise import NEAR, cut_to, most_probable


def target(p: Tensor, q: Tensor, rejected: Tensor) -> Tensor:
    """Returns the whole target row."""
    return p


def without_rejected(p: Tensor, q: Tensor, rejected: Tensor) -> Tensor:
    """Returns the target row with the rejected token taken out."""
    return p.scatter(1, rejected, 0.0)


def residual_argmax(p: Tensor, q: Tensor, rejected: Tensor) -> Tensor:
    """Returns the row that holds 1 at the largest p - q, equal up to rounding the lowest id."""
    return most_probable(((p - q) / NEAR).round())


def floored_residual(epsilon: float) -> Sampler:
    """Returns the sampler that draws from max(p - q, epsilon) after a rejection."""
    return partial(chain, fallback=lambda p, q, rejected: (p - q).clamp_(min=epsilon))


def residual_of_top(k: float) -> Sampler:
    """Returns the sampler that cuts p to its k most probable tokens in the residual."""
    return partial(chain, fallback=lambda p, q, rejected: residual(cut_to(p, k), q, rejected))


def overflowing(weights: Tensor, coins: Tensor, n: Tensor, *, into: int) -> Tensor:
    """Returns the inverse-CDF token of weights that nobody normalised: overflow takes `into`."""
    coin = coins[:, -1:].contiguous()
    token = torch.searchsorted(weights.cumsum(1), coin, right=True).squeeze(1)
    size = weights.shape[1]
    return torch.where(token < size, token, into % size)


FAULTS: Mapping[str, Sampler] = {
    "full-target-fallback": partial(chain, fallback=target),
    "unnormalised-residual": partial(chain, select=partial(overflowing, into=-1)),
    "unnormalised-residual-first-id": partial(chain, select=partial(overflowing, into=0)),
    "reversed-residual": partial(chain, fallback=lambda p, q, rejected: (q - p).clamp_(min=0)),
    "absolute-residual": partial(chain, fallback=lambda p, q, rejected: (p - q).abs_()),
    "draft-fallback": partial(chain, fallback=lambda p, q, rejected: q),
    "target-without-rejected": partial(chain, fallback=without_rejected),
    "argmax-residual": partial(chain, fallback=residual_argmax),
    "argmax-target-fallback": partial(chain, fallback=lambda p, q, rejected: most_probable(p)),
    "uniform-residual": partial(chain, fallback=lambda p, q, rejected: (p > q).double()),
    "proposed-ids-only": partial(
        chain, fallback=lambda p, q, rejected: residual(p, q, rejected) * (q > 0)
    ),
    "uniform-fallback": partial(chain, fallback=lambda p, q, rejected: torch.ones_like(p)),
}

PARAMETRIC: Mapping[str, Callable[[float], Sampler]] = {
    "epsilon-residual": floored_residual,
    "residual-of-top-2": residual_of_top,
}
