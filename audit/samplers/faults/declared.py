"""The ratio rule run against a law between target and draft, which it declares as its own."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

import torch
from torch import Tensor

from audit.samplers.chain import chain
from audit.samplers.interface import Sampler, StepBatch
from audit.samplers.rowwise import NEAR

Between = Callable[[Tensor, Tensor], Tensor]


def towards(batch: StepBatch, generator: torch.Generator, *, between: Between) -> Tensor:
    """Returns the tokens of the ratio rule with pi(p, q) for p, [batch, gamma, vocab].

    The bonus token stands at no draft row; it comes from its target row.
    """
    p, q = batch.target_probs.double(), batch.draft_probs.double()
    drafted = torch.arange(q.shape[1], device=q.device) < batch.num_draft_tokens.unsqueeze(1)
    declared = torch.where(drafted.unsqueeze(2), between(p[:, :-1], q), p[:, :-1])
    declared = torch.cat([declared, p[:, -1:]], 1)
    return chain(batch._replace(target_probs=declared, draft_probs=q), generator)


def mixture(weight: float) -> Between:
    """Returns pi = (1 - D) q + D p."""
    return lambda p, q: weight * p + (1 - weight) * q


def own_tokens(margin: float) -> Between:
    """Returns pi = q on T, + q(not T) p, where T holds the tokens with q >= max p - margin."""

    def between(p: Tensor, q: Tensor) -> Tensor:
        least = p.amax(-1, keepdim=True) - margin - NEAR
        own = torch.where(q >= least, q, 0.0)
        return own + (q - own).sum(-1, keepdim=True) * p

    return between


def mentored(most: float) -> Between:
    """Returns pi = max(c1 p, min(q, c2 p)) with c2 = most, and c1 such that it sums to 1.

    Raising the tokens with the smallest ratios of both terms to c1 p, c1 is the smallest that
    gives a sum of 1 for any number of them.
    """

    def between(p: Tensor, q: Tensor) -> Tensor:
        kept = torch.minimum(q, most * p)
        order = torch.where(p > 0, kept / p, torch.inf).argsort(-1)
        low, mass = (rows.gather(-1, order).cumsum(-1) for rows in (kept, p))
        missing = 1 - kept.sum(-1, keepdim=True)
        least = torch.where(mass > 0, (missing + low) / mass, torch.inf).amin(-1, keepdim=True)
        return torch.maximum(kept, least * p)

    return between


PARAMETRIC: Mapping[str, Callable[[float], Sampler]] = {
    "cascade-mixture": lambda weight: partial(towards, between=mixture(weight)),
    "cascade-own-tokens": lambda margin: partial(towards, between=own_tokens(margin)),
    "mentored": lambda most: partial(towards, between=mentored(most)),
}
