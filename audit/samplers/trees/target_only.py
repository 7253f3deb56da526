"""Verifiers that never look at the draft row, in torch, and their faults.

Reference: Li et al. (2024), EAGLE-2, and SGLang's tree verification, for `target_only`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

import torch
from torch import Tensor

from audit.samplers.chain import draw
from audit.samplers.interface import Sampler
from audit.samplers.rowwise import NEAR
from audit.samplers.trees.walk import Siblings, first, walk


def target_only(
    siblings: Siblings, *, cumulated: float = 1.0, single: float = 1.0
) -> tuple[Tensor, Tensor]:
    """Returns n and the last weights of one coin along the cumulated p of the siblings.

    The coin is scaled to the threshold `cumulated` times the sum of the row, so that siblings
    that hold all of it are never passed by. A sibling of at least `single` is accepted anyway.
    """
    p = siblings.p.gather(1, siblings.tokens)
    coin = siblings.coins[:, :1] * siblings.p.sum(1, keepdim=True) * cumulated
    passes = (coin < p.cumsum(1)) | (p >= single - NEAR)
    return first(passes), siblings.without_tokens()


def sampler_match(siblings: Siblings) -> tuple[Tensor, Tensor]:
    """Returns n of the first sibling that holds a draw from p, and the draw itself."""
    own = draw(siblings.p, siblings.coins[:, 0]).unsqueeze(1)
    return first(siblings.tokens == own), torch.zeros_like(siblings.p).scatter_(1, own, 1.0)


def full_target(siblings: Siblings) -> tuple[Tensor, Tensor]:
    """Returns n of `target_only`, and the whole target row."""
    return target_only(siblings)[0], siblings.p


def _with(*, cumulated: float = 1.0, single: float = 1.0) -> Sampler:
    return partial(walk, siblings=partial(target_only, cumulated=cumulated, single=single))


RULES: Mapping[str, Sampler] = {
    "target-only": _with(),
    "tree-sampler-match": partial(walk, siblings=sampler_match),
}

PARAMETRIC: Mapping[str, Callable[[float], Sampler]] = {
    "tree-threshold-acc": lambda value: _with(cumulated=value),
    "tree-threshold-single": lambda value: _with(single=value),
}

FAULTS: Mapping[str, Sampler] = {
    "fixed-full-target-fallback": partial(walk, siblings=full_target),
    "repeated-sibling-counted-twice": _with(),
}
