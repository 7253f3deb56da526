"""Random numbers that are used twice or drawn too seldom.

What drew the handed draft is not known here, but what it must have been is: given that x was
drawn, the uniform lies evenly in x's interval of the running sum of q, and the exponential noise
of the others ran on from the moment at which x won.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

import torch
from torch import Tensor

from audit.samplers.chain import (
    chain,
    draw,
    leading,
    open_position,
    probabilities,
    ratio,
    row,
    toss,
    verified,
)
from audit.samplers.faults.acceptance import target_prob
from audit.samplers.faults.fallback import target
from audit.samplers.interface import Sampler, StepBatch
from audit.samplers.race import exponential, first_through, noise_that_drew


def one_coin(coins: Tensor, accept: Tensor, batch: StepBatch) -> Tensor:
    """Returns how many leading tokens pass when the first coin serves every test of a row."""
    return leading(coins[:, :1] < accept, batch)


def draw_with_tested(weights: Tensor, coins: Tensor, n: Tensor) -> Tensor:
    """Returns a draw by the coin of the failed test; where none failed, by a fresh one."""
    return draw(weights, coins.gather(1, n.unsqueeze(1)).squeeze(1))


def drafting_coin(batch: StepBatch) -> Tensor:
    """Returns what a fresh coin must be below for the coin that drew x to be below p / q.

    The latter is start + coin * q, with start the running sum of q before x.
    """
    drafted = batch.draft_token_ids.clamp(min=0).unsqueeze(2)
    _, q = probabilities(batch)
    start = batch.draft_probs.double().cumsum(2).gather(2, drafted).squeeze(2) - q
    return (ratio(batch).clamp(max=1) - start) / q


def drafting_noise_reused(batch: StepBatch, generator: torch.Generator) -> Tensor:
    """Returns the tokens of the ratio rule, recovered by the exponential noise that drew x."""
    tests = batch.draft_token_ids.shape[1] + 1
    coins = toss(batch, tests + 1 + batch.target_probs.shape[2], generator)
    won, fresh = exponential(coins[:, tests:]).tensor_split([1], 1)

    def race(weights: Tensor, tested: Tensor, n: Tensor) -> Tensor:
        position = open_position(batch, n)
        drafted = batch.draft_token_ids.gather(1, position.unsqueeze(1))
        noise = noise_that_drew(drafted, row(batch.draft_probs, position), won, fresh)
        again = first_through(weights, noise)
        return torch.where(n < batch.num_draft_tokens, again, draw(weights, tested[:, -1]))

    return verified(batch, coins[:, :tests], select=race)


FAULTS: Mapping[str, Sampler] = {
    "match-with-fresh-draw": partial(chain, accept=target_prob, fallback=target),
    "coin-reused-in-fallback": partial(chain, select=draw_with_tested),
    "drafting-coin-reused": partial(chain, accept=drafting_coin),
    "drafting-noise-reused": drafting_noise_reused,
    "shared-coin": partial(chain, count=one_coin),
}
