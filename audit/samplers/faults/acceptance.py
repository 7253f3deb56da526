"""Wrong acceptance tests, and tests that give up the law for more acceptance."""

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
fixed_rate = of_drafted(lambda p, q: torch.full_like(p, 7 / 10))


def is_argmax(batch: StepBatch) -> Tensor:
    """Returns 1 where the drafted token is the target's most probable one, else 0."""
    gamma = batch.draft_token_ids.shape[1]
    return (batch.target_probs[:, :gamma].argmax(2) == batch.draft_token_ids).double()


def target_over_largest(batch: StepBatch) -> Tensor:
    """Returns p(x) / max p."""
    p, _ = probabilities(batch)
    return p / batch.target_probs[:, : p.shape[1]].amax(2).double()


def ratio_at_next_id(batch: StepBatch) -> Tensor:
    """Returns p / q of the id after the drafted one."""
    vocab_size = batch.target_probs.shape[2]
    following = (batch.draft_token_ids + 1) % vocab_size
    p, q = probabilities(batch._replace(draft_token_ids=following))
    return torch.where(q > 0, p / q, (p > 0).double())


def unless_tiny(batch: StepBatch) -> Tensor:
    """Returns 1 where the probability of a rejection is below 7/20, else p / q."""
    target_probs = batch.target_probs[:, : batch.draft_token_ids.shape[1]].double()
    rejection = (target_probs - batch.draft_probs).clamp_(min=0).sum(2)
    return torch.where(rejection < 7 / 20 - NEAR, 1.0, ratio(batch))


def on_a_grid(batch: StepBatch) -> Tensor:
    """Returns P(coin <= p / q) for a coin that is one of 0, 1/16, ..., 15/16."""
    return ((16 * ratio(batch) + NEAR).floor() + 1) / 16


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
    "lenience-half": partial(chain, accept=of_drafted(lambda p, q: 2 * p / q)),
    "lenience-half-in-residual": partial(
        chain,
        accept=of_drafted(lambda p, q: 2 * p / q),
        fallback=lambda p, q, rejected: (p - q / 2).clamp_(min=0),
    ),
    "epsilon-in-ratio": partial(chain, accept=of_drafted(lambda p, q: (p + 1 / 20) / (q + 1 / 20))),
    "target-over-largest": partial(chain, accept=target_over_largest),
    "argmax-accept": partial(chain, accept=is_argmax),
    "argmax-accept-full-target": partial(chain, accept=is_argmax, fallback=target),
    "temperature-ignored": greedily,
    "vocabulary-shift": partial(chain, accept=ratio_at_next_id),
    "rejection-below-threshold-accepted": partial(chain, accept=unless_tiny),
    "coarse-coin": partial(chain, accept=on_a_grid),
    "synthetic-acceptance": partial(chain, accept=fixed_rate),
    "synthetic-acceptance-full-target": partial(chain, accept=fixed_rate, fallback=target),
    "target-threshold": partial(
        chain, accept=of_drafted(lambda p, q: (p > 3 / 10 + NEAR).double()), fallback=target
    ),
}
