"""k-SEQ in torch.

Reference: Sun et al. (2023), SpecTr.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

import torch
from torch import Tensor

from audit.samplers.interface import Sampler
from audit.samplers.trees.walk import Siblings, first, walk


def k_seq(siblings: Siblings, *, rho: Callable[[int], float]) -> tuple[Tensor, Tensor]:
    """Returns n and the last weights, every sibling tested with p / (rho(k) q)."""
    p, q, tokens, coins = siblings
    k = tokens.shape[1]
    scaled = p / rho(k)
    passes = coins < scaled.gather(1, tokens) / q.gather(1, tokens)
    each = torch.minimum(q, scaled)
    b = each.sum(1, keepdim=True)
    share = torch.where(b > 0, (1 - (1 - b) ** k) / b, 0.0)
    return first(passes), (p - each * share).clamp_(min=0)


def by_siblings(share: float) -> Sampler:
    """Returns the rule with rho = share * k for k siblings."""
    return partial(walk, siblings=partial(k_seq, rho=lambda k: share * k))


def with_rho(rho: float) -> Sampler:
    """Returns the rule with one rho, whether it is valid or not."""
    return partial(walk, siblings=partial(k_seq, rho=lambda k: rho))


PARAMETRIC: Mapping[str, Callable[[float], Sampler]] = {
    "k-seq": by_siblings,
    "k-seq-rho-too-small": with_rho,
}
RULES: Mapping[str, Sampler] = {"k-seq": by_siblings(1)}
