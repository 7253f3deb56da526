"""Wrong block verification: one step of `audit.samplers.block` replaced."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from torch import Tensor

from audit.samplers.block import Drawn, block, excess, height_of
from audit.samplers.chain import leading
from audit.samplers.interface import Sampler, StepBatch


def scale_alone(batch: StepBatch, i: int, scale: Tensor) -> Tensor:
    """Returns P."""
    return scale


def mass_alone(batch: StepBatch, i: int, scale: Tensor) -> Tensor:
    """Returns S."""
    p, q = batch.target_probs[:, i].double(), batch.draft_probs[:, i]
    return excess(scale.unsqueeze(1), p, q).sum(1)


def height_by_last_row(batch: StepBatch, i: int, scale: Tensor) -> Tensor:
    """Returns h with S of the rows before the prefix's last token."""
    return height_of(scale, batch.target_probs[:, i - 1], batch.draft_probs[:, i - 1])


def unclamped(scale: Tensor, ratio: Tensor) -> Tensor:
    """Returns the plain product of the ratios."""
    return scale * ratio


def ratio_alone(scale: Tensor, ratio: Tensor) -> Tensor:
    """Returns the ratio, cut to 1, whatever came before."""
    return ratio.clamp(max=1)


def token_residual(drawn: Drawn) -> Tensor:
    """Returns max(p - q, 0), not normalised."""
    return (drawn.p - drawn.q).clamp_(min=0)


def excess_of_longer(drawn: Drawn) -> Tensor:
    """Returns max(P p - q, 0) with P of the prefix that is one token longer."""
    return excess(drawn.longer, drawn.p, drawn.q)


def target_row(drawn: Drawn) -> Tensor:
    """Returns the whole target row."""
    return drawn.p


def first_coin(coins: Tensor) -> Tensor:
    """Returns the first coin for every test."""
    return coins[:, :1]


FAULTS: Mapping[str, Sampler] = {
    "block-token-residual": partial(block, fallback=token_residual),
    "block-product-as-height": partial(block, height=scale_alone),
    "block-first-failure-ends": partial(block, count=leading),
    "block-product-unclamped": partial(block, grow=unclamped),
    "block-mass-as-height": partial(block, height=mass_alone),
    "block-residual-of-longer-prefix": partial(block, fallback=excess_of_longer),
    "block-token-ratio-last-wins": partial(
        block, grow=ratio_alone, height=scale_alone, fallback=token_residual
    ),
    "block-height-row-early": partial(block, height=height_by_last_row),
    "block-full-target-fallback": partial(block, fallback=target_row),
    "block-one-coin": partial(block, tests=first_coin),
}
