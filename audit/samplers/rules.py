"""The verification rules as torch functions, and `SAMPLERS`: every rule and fault by its id.

`sampler_of` makes those that have a constant at any value of it.

Each sees a StepBatch and a generator only, never a case or a law; the exact laws of the same
ids stand in `audit.exact`. A row whose draw is undefined (a residual without mass is really
needed) comes back empty, all -1. Rows keep the sums they were handed: nothing is renormalised.

References: Leviathan et al. (2023) and Chen et al. (2023) for `ratio`; Sun et al. (2025,
Algorithm 2) for `block`; Daliri, Musco, Suresh (2024) for `gumbel-coupled`; the others are the
rules of drafts whose law nobody records.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

import torch
from torch import Tensor
from torch.nn.functional import pad

from audit.exact.catalogue import rule
from audit.samplers import trees
from audit.samplers.block import block
from audit.samplers.chain import chain, draws, leading, toss
from audit.samplers.faults import FAULTS, PARAMETRIC
from audit.samplers.faults.acceptance import target_prob
from audit.samplers.faults.fallback import without_rejected
from audit.samplers.interface import Sampler, StepBatch
from audit.samplers.race import exponential, first_through, noise_that_drew


def match(batch: StepBatch, own: Tensor) -> Tensor:
    """Returns the sampler's own tokens up to the first that is not the drafted one."""
    n = leading(own[:, :-1] == batch.draft_token_ids, batch)
    position = torch.arange(own.shape[1], device=own.device)
    return torch.where(position <= n.unsqueeze(1), own, -1)


def greedy(batch: StepBatch, generator: torch.Generator) -> Tensor:
    """Returns the target's most probable tokens while the draft agrees; ties to the lowest id."""
    return match(batch, batch.target_probs.argmax(2))


def sampler_match(batch: StepBatch, generator: torch.Generator) -> Tensor:
    """Returns draws from the target rows while the draft agrees with them."""
    positions = batch.target_probs.shape[1]
    coins = toss(batch, positions, generator)
    return match(batch, draws(batch.target_probs, coins))


def gumbel_coupled(batch: StepBatch, generator: torch.Generator) -> Tensor:
    """Returns draws from the target rows by the noise that drew the draft, while both agree."""
    positions, vocab_size = batch.target_probs.shape[1:]
    coins = toss(batch, positions * (1 + vocab_size), generator)
    noise = exponential(coins).view(-1, positions, 1 + vocab_size)
    won, fresh = noise[..., :1], noise[..., 1:]
    drafted = pad(batch.draft_token_ids, (0, 1), value=-1)
    own = []
    for i in range(positions):
        q = batch.draft_probs[:, min(i, positions - 2)].double() * (drafted[:, i : i + 1] >= 0)
        again = noise_that_drew(drafted[:, i : i + 1], q, won[:, i], fresh[:, i])
        own.append(first_through(batch.target_probs[:, i].double(), again))
    return match(batch, torch.stack(own, 1))


RULES: Mapping[str, Sampler] = {
    "ratio": chain,
    "greedy": greedy,
    "sampler-match": sampler_match,
    "point-mass": partial(chain, accept=target_prob, fallback=without_rejected),
    "block": block,
    "gumbel-coupled": gumbel_coupled,
    **trees.RULES,
}

SAMPLERS: Mapping[str, Sampler] = {**RULES, **FAULTS}


def sampler_of(wanted: str) -> Sampler:
    """Returns the torch function of a catalogue entry, `id` or `id@value`.

    Raises:
        UsageError: no entry has this id, or it cannot have this constant.
    """
    entry = rule(wanted)
    id_ = entry.id.partition("@")[0]
    constant = entry.parameter
    return SAMPLERS[id_] if constant is None else PARAMETRIC[id_](float(constant.value))
