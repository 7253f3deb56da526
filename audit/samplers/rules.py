"""The verification rules as torch functions, and `SAMPLERS`: every rule and fault by its id.

Each sees a StepBatch and a generator only, never a case or a law; the exact laws of the same
ids stand in `audit.exact`. A row whose draw is undefined (a residual without mass is really
needed) comes back empty, all -1. Rows keep the sums they were handed: nothing is renormalised.

References: Leviathan et al. (2023) and Chen et al. (2023) for `ratio`; Sun et al. (2025,
Algorithm 2) for `block`; the others are the rules of drafts whose law nobody records.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

import torch
from torch import Tensor

from audit.samplers.chain import (
    chain,
    draw,
    draws,
    emit,
    leading,
    open_position,
    probabilities,
    row,
    toss,
)
from audit.samplers.faults import FAULTS
from audit.samplers.faults.acceptance import target_prob
from audit.samplers.faults.fallback import without_rejected
from audit.samplers.interface import Sampler, StepBatch


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


def block(batch: StepBatch, generator: torch.Generator) -> Tensor:
    """Returns the tokens of block verification, which accepts the longest prefix that may stay."""
    coins = toss(batch, batch.draft_token_ids.shape[1] + 1, generator)
    n, scale = longest_kept(batch, coins)
    p = row(batch.target_probs, n)
    q = row(batch.draft_probs, open_position(batch, n))
    rejected = (n < batch.num_draft_tokens).unsqueeze(1)
    weights = torch.where(rejected, (scale.unsqueeze(1) * p).sub_(q).clamp_(min=0), p)
    return emit(batch.draft_token_ids, n, draw(weights, coins[:, -1]))


def longest_kept(batch: StepBatch, coins: Tensor) -> tuple[Tensor, Tensor]:
    """Returns tau int64 [batch] and P_tau float64 [batch]: the last prefix kept and its scale.

    P_i = min(1, P_(i-1) p_i / q_i) and the prefix of i tokens is kept while coin_i < h_i.
    """
    ratios = torch.div(*probabilities(batch))
    scale = kept_scale = torch.ones_like(ratios[:, 0])
    kept = torch.zeros_like(batch.num_draft_tokens)
    for i in range(1, ratios.shape[1] + 1):
        scale = (scale * ratios[:, i - 1]).clamp(max=1)
        keeps = coins[:, i - 1] < keep_probability(batch, i, scale)
        keeps &= i <= batch.num_draft_tokens
        kept = torch.where(keeps, i, kept)
        kept_scale = torch.where(keeps, scale, kept_scale)
    return kept, kept_scale


def keep_probability(batch: StepBatch, i: int, scale: Tensor) -> Tensor:
    """Returns h_i float64 [batch]: P_i at a row's last drafted token, else S_i / (S_i + 1 - P_i).

    S_i is the mass of max(P_i p - q, 0) over the next rows; 0 / 0 counts as 1, for a row
    without a residual must not be the last.
    """
    if i == batch.draft_probs.shape[1]:
        return scale
    scaled = scale.unsqueeze(1) * batch.target_probs[:, i].double()
    mass = scaled.sub_(batch.draft_probs[:, i]).clamp_(min=0).sum(1)
    h = torch.where(mass + 1 - scale > 0, mass / (mass + 1 - scale), 1.0)
    return torch.where(batch.num_draft_tokens == i, scale, h)


RULES: Mapping[str, Sampler] = {
    "ratio": chain,
    "greedy": greedy,
    "sampler-match": sampler_match,
    "point-mass": partial(chain, accept=target_prob, fallback=without_rejected),
    "block": block,
}

SAMPLERS: Mapping[str, Sampler] = {**RULES, **FAULTS}
