"""The steps of block verification: run the products up, test prefixes, choose one, draw, emit.

P_0 = 1, P_i = min(1, P_(i-1) p / q) of token i; S_i is the mass of max(P_i p - q, 0) over the rows
after i tokens. A prefix passes while its coin is below h_i: P_i at a row's last drafted token, else
S_i / (S_i + 1 - P_i).

Reference: Sun et al. (2025), Algorithm 2.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor

from audit.samplers.chain import draw, emit, next_rows, ratio, toss
from audit.samplers.interface import StepBatch


class Drawn(NamedTuple):
    """What the last draw of a rejected block can see, after n kept tokens of every row.

    p, q float64 [batch, vocab]: the rows there. scale, longer float64 [batch, 1]: P of the kept
    prefix and of the one that is a token longer.
    """

    p: Tensor
    q: Tensor
    scale: Tensor
    longer: Tensor


def clamped(scale: Tensor, ratio: Tensor) -> Tensor:
    """Returns P after one more token of this ratio."""
    return (scale * ratio).clamp(max=1)


def excess(scale: Tensor, p: Tensor, q: Tensor) -> Tensor:
    """Returns max(P p - q, 0), [batch, vocab], from P [batch, 1]."""
    return (scale * p).sub_(q).clamp_(min=0)


def height_of(scale: Tensor, p: Tensor, q: Tensor) -> Tensor:
    """Returns S / (S + 1 - P), [batch]; 0 / 0 counts as 1, for without a residual none may end."""
    mass = excess(scale.unsqueeze(1), p.double(), q).sum(1)
    short = (1 - scale).clamp(min=0)
    return torch.where(mass + short > 0, mass / (mass + short), 1.0)


def height_after(batch: StepBatch, i: int, scale: Tensor) -> Tensor:
    """Returns h_i, [batch], of the first i tokens of blocks that are longer."""
    return height_of(scale, batch.target_probs[:, i], batch.draft_probs[:, i])


def last_passing(passed: Tensor, batch: StepBatch) -> Tensor:
    """Returns the length of the longest prefix that passed, [batch], from [batch, gamma]."""
    length = torch.arange(1, passed.shape[1] + 1, device=passed.device)
    real = length <= batch.num_draft_tokens.unsqueeze(1)
    return torch.where(passed & real, length, 0).amax(1)


def each_its_own(coins: Tensor) -> Tensor:
    """Returns the coins: every prefix is tested with its own."""
    return coins


def block_excess(drawn: Drawn) -> Tensor:
    """Returns max(P p - q, 0), not normalised."""
    return excess(drawn.scale, drawn.p, drawn.q)


def block(
    batch: StepBatch,
    generator: torch.Generator,
    *,
    grow: Callable[[Tensor, Tensor], Tensor] = clamped,
    height: Callable[[StepBatch, int, Tensor], Tensor] = height_after,
    tests: Callable[[Tensor], Tensor] = each_its_own,
    count: Callable[[Tensor, StepBatch], Tensor] = last_passing,
    fallback: Callable[[Drawn], Tensor] = block_excess,
) -> Tensor:
    """Returns the tokens of block verification, int64 [batch, gamma + 1].

    Every wrong rule replaces one step: P from the P before and a ratio, h of a prefix that is not
    the whole block, the coins of the tests, the number kept, the weights after a rejection.
    """
    coins = toss(batch, batch.draft_token_ids.shape[1] + 1, generator)
    scales = products(ratio(batch), grow)
    passed = tests(coins[:, :-1]) < heights(batch, scales, height)
    n = count(passed, batch)
    rejected = (n < batch.num_draft_tokens).unsqueeze(1)
    p, q = next_rows(batch, n)
    at = n.unsqueeze(1)
    drawn = Drawn(
        p, q, scales.gather(1, at), scales.gather(1, (at + 1).clamp(max=coins.shape[1] - 1))
    )
    weights = torch.where(rejected, fallback(drawn), p)
    return emit(batch.draft_token_ids, n, draw(weights, coins[:, -1]))


def products(ratios: Tensor, grow: Callable[[Tensor, Tensor], Tensor]) -> Tensor:
    """Returns P_0..P_gamma, float64 [batch, gamma + 1]; rubbish beyond a row's drafted tokens."""
    scales = [torch.ones_like(ratios[:, 0])]
    for i in range(ratios.shape[1]):
        scales.append(grow(scales[-1], ratios[:, i]))
    return torch.stack(scales, 1)


def heights(
    batch: StepBatch, scales: Tensor, height: Callable[[StepBatch, int, Tensor], Tensor]
) -> Tensor:
    """Returns h_1..h_gamma, float64 [batch, gamma]."""
    gamma = scales.shape[1] - 1
    between = [height(batch, i, scales[:, i]) for i in range(1, gamma)]
    ends = batch.num_draft_tokens.unsqueeze(1) == torch.arange(1, gamma + 1, device=scales.device)
    return torch.where(ends, scales[:, 1:], torch.stack([*between, scales[:, gamma]], 1))
