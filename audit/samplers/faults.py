"""The faults as torch functions: the chain of `audit.samplers.chain` with one step done wrong.

Ids and what they mean are the catalogue's; the exact laws of the same ids stand in
`audit.exact`. Rows are float64 [batch, vocab], `rejected` is the rejected token, [batch, 1].
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

import torch
from torch import Tensor

from audit.samplers.chain import chain, draw, emit, probabilities, ratio, row, toss
from audit.samplers.interface import Sampler, StepBatch


def without_rejected(p: Tensor, q: Tensor, rejected: Tensor) -> Tensor:
    """Returns the target row with the rejected token taken out."""
    return p.scatter(1, rejected, 0.0)


def one_row_early(n: Tensor, length: Tensor) -> Tensor:
    """Returns the row of every token, but for the bonus token the row before it."""
    return torch.where(n == length, n - 1, n).clamp(min=0)


def one_row_late(n: Tensor, length: Tensor) -> Tensor:
    """Returns the row of the bonus token, but for a recovered token the row after it."""
    return torch.where(n < length, n + 1, n)


def one_coin(coins: Tensor) -> Tensor:
    """Returns the first coin for every test of a row."""
    return coins[:, :1].expand_as(coins)


def overflowing(weights: Tensor, coin: Tensor) -> Tensor:
    """Returns the inverse-CDF token of weights that nobody normalised: overflow takes the last."""
    token = torch.searchsorted(weights.cumsum(1), coin.unsqueeze(1).contiguous(), right=True)
    return token.squeeze(1).clamp(max=weights.shape[1] - 1)


def bonus_missing(batch: StepBatch, generator: torch.Generator) -> Tensor:
    """Returns the correct tokens without the bonus token: lossless, only shorter."""
    end = batch.num_draft_tokens.clamp(min=1)  # a row without drafts keeps its one token
    return chain(batch, generator).scatter(1, end.unsqueeze(1), -1)


def continues_after_rejection(batch: StepBatch, generator: torch.Generator) -> Tensor:
    """Returns gamma + 1 tokens: later drafts stay although an earlier one was replaced."""
    drafted, length = batch.draft_token_ids, batch.num_draft_tokens
    gamma = drafted.shape[1]
    coins = toss(batch, 2 * gamma + 1, generator)
    accepted = coins[:, :gamma] < ratio(*probabilities(batch))
    replaced = [recovered_at(batch, i, coins[:, gamma + i]) for i in range(gamma)]
    patched = torch.where(accepted, drafted, torch.stack(replaced, 1))
    return emit(patched, length, draw(row(batch.target_probs, length), coins[:, -1]))


def recovered_at(batch: StepBatch, i: int, coin: Tensor) -> Tensor:
    """Returns a draw from the residual of draft position i, int64 [batch]."""
    p, q = batch.target_probs[:, i].double(), batch.draft_probs[:, i].double()
    return draw((p - q).clamp_(min=0), coin)


FAULTS: Mapping[str, Sampler] = {
    "full-target-fallback": partial(chain, fallback=lambda p, q, rejected: p),
    "absolute-residual": partial(chain, fallback=lambda p, q, rejected: (p - q).abs_()),
    "draft-fallback": partial(chain, fallback=lambda p, q, rejected: q),
    "always-accept": partial(chain, accept=lambda p, q: torch.ones_like(p)),
    "swapped-ratio": partial(chain, accept=lambda p, q: q / p),
    "target-without-rejected": partial(chain, fallback=without_rejected),
    "bonus-from-draft": partial(chain, bonus=lambda p, q: q),
    "bonus-one-row-early": partial(chain, index=one_row_early),
    "bonus-missing": bonus_missing,
    "continues-after-rejection": continues_after_rejection,
    "target-row-late": partial(chain, index=one_row_late),
    "shared-coin": partial(chain, coins_of=one_coin),
    "lenience-half": partial(chain, accept=lambda p, q: 2 * p / q),
    "unnormalised-residual": partial(chain, select=overflowing),
}
