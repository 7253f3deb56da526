"""Acceptance tests that give up the target's law for more acceptance, and say so."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

import torch
from torch import Tensor

from audit.samplers.chain import chain
from audit.samplers.faults.acceptance import of_drafted
from audit.samplers.faults.fallback import target
from audit.samplers.interface import Sampler, StepBatch


def lenient(lenience: float) -> Callable[[StepBatch], Tensor]:
    """Returns the acceptance probability p / (l q)."""
    return of_drafted(lambda p, q: p / (lenience * q))


def lenient_throughout(lenience: float) -> Sampler:
    """Returns the sampler that accepts with p / (l q) and falls back to max(p - l q, 0)."""
    return partial(
        chain,
        accept=lenient(lenience),
        fallback=lambda p, q, rejected: (p - lenience * q).clamp_(min=0),
    )


def fixed_rate(rate: float) -> Callable[[StepBatch], Tensor]:
    """Returns the acceptance probability `rate`, whatever the token."""
    return of_drafted(lambda p, q: torch.full_like(p, rate))


PARAMETRIC: Mapping[str, Callable[[float], Sampler]] = {
    "lenience": lambda lenience: partial(chain, accept=lenient(lenience)),
    "lenience-in-residual": lenient_throughout,
    "synthetic-acceptance": lambda rate: partial(chain, accept=fixed_rate(rate)),
    "synthetic-acceptance-full-target": lambda rate: partial(
        chain, accept=fixed_rate(rate), fallback=target
    ),
}
