"""Wrong acceptance tests."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

import torch
from torch import Tensor

from audit.samplers.chain import chain, probabilities, ratio
from audit.samplers.faults.fallback import target
from audit.samplers.interface import Sampler, StepBatch
from audit.samplers.rowwise import NEAR, most_probable, processed


def of_drafted(accept: Callable[[Tensor, Tensor], Tensor]) -> Callable[[StepBatch], Tensor]:
    """Returns the acceptance probability that needs p and q of the drafted tokens only."""
    return lambda batch: accept(*probabilities(batch))


target_prob = of_drafted(lambda p, q: p)
always = of_drafted(lambda p, q: torch.ones_like(p))
never = of_drafted(lambda p, q: torch.zeros_like(p))


def is_argmax(batch: StepBatch) -> Tensor:
    """Returns 1 where the drafted token is the target's most probable one, else 0."""
    gamma = batch.draft_token_ids.shape[1]
    return (batch.target_probs[:, :gamma].argmax(2) == batch.draft_token_ids).double()


def target_over_largest(batch: StepBatch) -> Tensor:
    """Returns p(x) / max p."""
    p, _ = probabilities(batch)
    return p / batch.target_probs[:, : p.shape[1]].amax(2).double()


def smoothed_ratio(epsilon: float) -> Sampler:
    """Returns the sampler that accepts with (p + epsilon) / (q + epsilon)."""
    return partial(chain, accept=of_drafted(lambda p, q: (p + epsilon) / (q + epsilon)))


def at_other_id(offset: float) -> Sampler:
    """Returns the sampler that accepts with p / q of the id `offset` after the drafted one."""

    def accept(batch: StepBatch) -> Tensor:
        other = (batch.draft_token_ids + int(offset)) % batch.target_probs.shape[2]
        p, q = probabilities(batch._replace(draft_token_ids=other))
        return torch.where(q > 0, p / q, (p > 0).double())

    return partial(chain, accept=accept)


def on_a_grid(points: float) -> Sampler:
    """Returns the sampler whose coin is one of 0, 1/N, ..., 1 - 1/N and must be at most p / q."""
    size = int(points)
    return partial(chain, accept=lambda batch: ((size * ratio(batch) + NEAR).floor() + 1) / size)


def greedily(batch: StepBatch, generator: torch.Generator) -> Tensor:
    """Returns the tokens of the ratio rule against the target's most probable tokens."""
    return chain(processed(batch, target=most_probable), generator)


FAULTS: Mapping[str, Sampler] = {
    "swapped-ratio": partial(chain, accept=of_drafted(lambda p, q: q / p)),
    "always-accept": partial(chain, accept=always),
    "never-accept": partial(chain, accept=never),
    "never-accept-full-target": partial(chain, accept=never, fallback=target),
    "draft-prob-taken-as-one": partial(chain, accept=target_prob),
    "deterministic-accept": partial(chain, accept=of_drafted(lambda p, q: (p >= q).double())),
    "squared-ratio": partial(chain, accept=of_drafted(lambda p, q: (p / q) ** 2)),
    "target-over-largest": partial(chain, accept=target_over_largest),
    "argmax-accept": partial(chain, accept=is_argmax),
    "argmax-accept-full-target": partial(chain, accept=is_argmax, fallback=target),
    "temperature-ignored": greedily,
}

PARAMETRIC: Mapping[str, Callable[[float], Sampler]] = {
    "epsilon-in-ratio": smoothed_ratio,
    "vocabulary-shift": at_other_id,
    "coarse-coin": on_a_grid,
}
