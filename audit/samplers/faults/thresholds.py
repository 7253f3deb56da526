"""Rules that compare a probability with a bound where the ratio rule tosses a coin."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import partial

import torch
from torch import Tensor

from audit.samplers.chain import chain, probabilities, ratio, residual
from audit.samplers.faults.acceptance import of_drafted
from audit.samplers.faults.fallback import target, without_rejected
from audit.samplers.interface import Sampler, StepBatch
from audit.samplers.rowwise import NEAR, most_probable


def accepted_if_tiny(bound: float) -> Sampler:
    """Returns the sampler that accepts all where a rejection is less probable than `bound`."""

    def accept(batch: StepBatch) -> Tensor:
        target_probs = batch.target_probs[:, : batch.draft_token_ids.shape[1]].double()
        rejection = (target_probs - batch.draft_probs).clamp_(min=0).sum(2)
        return torch.where(rejection < bound - NEAR, 1.0, ratio(batch))

    return partial(chain, accept=accept)


def target_if_tiny(bound: float) -> Sampler:
    """Returns the sampler that draws from p where the residual's mass is below `bound`."""

    def fallback(p: Tensor, q: Tensor, rejected: Tensor) -> Tensor:
        excess = residual(p, q, rejected)
        return torch.where(excess.sum(1, keepdim=True) < bound - NEAR, p, excess)

    return partial(chain, fallback=fallback)


def above(bound: float) -> Sampler:
    """Returns the sampler that accepts where p > bound, then draws from the target row."""
    accept = of_drafted(lambda p, q: (p > bound + NEAR).double())
    return partial(chain, accept=accept, fallback=target)


def typical(bound: float) -> Callable[[StepBatch], Tensor]:
    """Returns the test p > min(t, sqrt(t) exp(-H)) with t = bound and H the entropy of p."""

    def accept(batch: StepBatch) -> Tensor:
        p, _ = probabilities(batch)
        rows = batch.target_probs[:, : p.shape[1]].double()
        likely = math.sqrt(bound) * torch.exp(-torch.special.entr(rows).sum(2))
        return (p > likely.clamp(max=bound) + NEAR).double()

    return accept


def typical_then_argmax(bound: float) -> Sampler:
    """Returns the sampler of typical acceptance that ends every round with an argmax."""
    return partial(
        chain,
        accept=typical(bound),
        fallback=lambda p, q, rejected: most_probable(p),
        bonus=lambda p, q: most_probable(p),
    )


def target_only(accept: Callable[[Tensor, Tensor], Tensor]) -> Sampler:
    """Returns the sampler that draws from the target row without x after a rejection."""
    return partial(chain, accept=of_drafted(accept), fallback=without_rejected)


def target_only_skipped(bound: float) -> Sampler:
    """Returns the sampler that accepts with p, and without a coin where p >= bound."""
    return target_only(lambda p, q: torch.where(p >= bound - NEAR, 1.0, p))


PARAMETRIC: Mapping[str, Callable[[float], Sampler]] = {
    "rejection-below-threshold-accepted": accepted_if_tiny,
    "tiny-rejection-full-target": target_if_tiny,
    "target-threshold": above,
    "typical-acceptance": lambda t: partial(chain, accept=typical(t), fallback=target),
    "typical-acceptance-argmax": typical_then_argmax,
    "target-only-threshold-acc": lambda t: target_only(lambda p, q: p / t),
    "target-only-threshold-single": target_only_skipped,
}
