"""The steps of one verification round: toss coins, count acceptances, choose a row, draw, emit.

p is a target probability or row, q a draft one, all float64 once read; n is the number of
accepted tokens, so that row n is the one that the last token comes from. A call tosses all its
coins at once, row by row of the batch: cutting a chunk into other calls changes no row.
Each step reads only what it needs of the `[batch, gamma, vocab]` tensors.

References: Leviathan, Kalman and Matias (2023), Algorithm 1; Chen et al. (2023).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from audit.samplers.interface import Batch, StepBatch


def toss(batch: Batch, width: int, generator: torch.Generator) -> Tensor:
    """Returns coins in [0, 1), float64 [batch, width], made on the generator's device."""
    rows = len(batch.draft_token_ids)
    coins = torch.rand(
        rows, width, dtype=torch.float64, generator=generator, device=generator.device
    )
    return coins.to(batch.target_probs.device)


def probabilities(batch: StepBatch) -> tuple[Tensor, Tensor]:
    """Returns p and q of every drafted token, float64 [batch, gamma]; rubbish on padding."""
    drafted = batch.draft_token_ids.clamp(min=0).unsqueeze(2)
    p = batch.target_probs[:, : drafted.shape[1]].gather(2, drafted)
    q = batch.draft_probs.gather(2, drafted)
    return p.squeeze(2).double(), q.squeeze(2).double()


def open_position(batch: StepBatch, n: Tensor) -> Tensor:
    """Returns the draft position after n accepted tokens, [batch]; the last one at the end."""
    return torch.minimum(n, (batch.num_draft_tokens - 1).clamp(min=0))


def row(rows: Tensor, index: Tensor) -> Tensor:
    """Returns row index[b] of every b, float64 [batch, vocab], from [batch, rows, vocab]."""
    return rows[torch.arange(len(index), device=index.device), index].double()


def leading(accepted: Tensor, batch: StepBatch) -> Tensor:
    """Returns how many drafted tokens stand before the first rejection, int64 [batch]."""
    position = torch.arange(accepted.shape[1], device=accepted.device)
    real = position < batch.num_draft_tokens.unsqueeze(1)
    return (accepted & real).long().cumprod(1).sum(1)


def draw(weights: Tensor, coin: Tensor) -> Tensor:
    """Returns one token a row by inverse CDF, int64 [batch]; -1 where all weights are zero.

    weights float64 [batch, vocab], not negative, of any sum; coin float64 [batch] in [0, 1).
    The first id whose cumulative weight exceeds coin * sum has a weight above zero, and it
    exists: coin <= 1 - 2^-53, so that the rounded product stays below the sum.

    >>> draw(torch.tensor([[0.0, 0.25, 0.75]]).double(), torch.tensor([0.25]).double())
    tensor([2])
    """
    cumulative = weights.cumsum(1)
    total = cumulative[:, -1]
    token = torch.searchsorted(cumulative, (coin * total).unsqueeze(1), right=True)
    if weights.is_cuda:  # a parallel scan may round equal neighbours apart
        sound = weights.gather(1, token.clamp(max=weights.shape[1] - 1)) > 0
        token = torch.where(sound, token, weights.argmax(1, keepdim=True))
    return torch.where(total > 0, token.squeeze(1), -1)


def emit(drafted: Tensor, n: Tensor, token: Tensor) -> Tensor:
    """Returns n drafted tokens, then `token`, then -1; a row of -1 where the draw is undefined."""
    drafted = torch.nn.functional.pad(drafted, (0, 1), value=-1)
    position = torch.arange(drafted.shape[1], device=drafted.device)
    n, token = n.unsqueeze(1), token.unsqueeze(1)
    tokens = torch.where(position < n, drafted, torch.where(position == n, token, -1))
    return torch.where(token >= 0, tokens, -1)


def draws(rows: Tensor, coins: Tensor) -> Tensor:
    """Returns one token a position, int64 [batch, positions], from [batch, positions, vocab]."""
    each = [draw(rows[:, i].double(), coins[:, i]) for i in range(coins.shape[1])]
    return torch.stack(each, 1)


def ratio(batch: StepBatch) -> Tensor:
    """Returns p / q of every drafted token; 0 / 0 is NaN, which no coin is below: rejected."""
    return torch.div(*probabilities(batch))


def accepted_in_turn(coins: Tensor, accept: Tensor, batch: StepBatch) -> Tensor:
    """Returns how many leading tokens pass, [batch], each with its own coin."""
    return leading(coins < accept, batch)


def next_rows(batch: StepBatch, n: Tensor) -> tuple[Tensor, Tensor]:
    """Returns the target and the draft row after n accepted tokens, [batch, vocab] each."""
    return row(batch.target_probs, n), row(batch.draft_probs, open_position(batch, n))


def residual(p: Tensor, q: Tensor, rejected: Tensor) -> Tensor:
    """Returns max(p - q, 0), [batch, vocab], not normalised; the rejected token is [batch, 1]."""
    return (p - q).clamp_(min=0)


def target_row(p: Tensor, q: Tensor) -> Tensor:
    """Returns the target row: the bonus token's law."""
    return p


def draw_with_last(weights: Tensor, coins: Tensor, n: Tensor) -> Tensor:
    """Returns a draw by the last coin, which no test has seen."""
    return draw(weights, coins[:, -1])


def all_accepted(n: Tensor, rejected: Tensor) -> Tensor:
    """Returns n: the accepted tokens are those that are kept."""
    return n


def chain(
    batch: StepBatch,
    generator: torch.Generator,
    **steps: Callable[..., Any],
) -> Tensor:
    """Returns the tokens of token-by-token verification, int64 [batch, gamma + 1].

    `steps` are those of `verified`, which tells what they do.
    """
    coins = toss(batch, batch.draft_token_ids.shape[1] + 1, generator)
    return verified(batch, coins, **steps)


def verified(
    batch: StepBatch,
    coins: Tensor,
    *,
    accept: Callable[[StepBatch], Tensor] = ratio,
    count: Callable[[Tensor, Tensor, StepBatch], Tensor] = accepted_in_turn,
    rows: Callable[[StepBatch, Tensor], tuple[Tensor, Tensor]] = next_rows,
    fallback: Callable[[Tensor, Tensor, Tensor], Tensor] = residual,
    bonus: Callable[[Tensor, Tensor], Tensor] = target_row,
    select: Callable[[Tensor, Tensor, Tensor], Tensor] = draw_with_last,
    kept: Callable[[Tensor, Tensor], Tensor] = all_accepted,
) -> Tensor:
    """Returns the tokens of token-by-token verification with these coins [batch, gamma + 1].

    As it stands: accept while coin < p / q, then draw from the residual of the first rejected
    row, or the bonus token from the last target row. Every other chain rule, right or wrong,
    replaces one step: the acceptance probability, the number accepted, the rows of the last draw,
    its weights after a rejection or for the bonus token, the draw itself, the number of drafted
    tokens that stay in front of it.
    """
    n = count(coins[:, :-1], accept(batch), batch)
    rejected = n < batch.num_draft_tokens
    p, q = rows(batch, n)
    drafted = batch.draft_token_ids.clamp(min=0).gather(1, open_position(batch, n).unsqueeze(1))
    recovered = fallback(p, q, drafted)
    weights = torch.where(rejected.unsqueeze(1), recovered, bonus(p, q))
    return emit(batch.draft_token_ids, kept(n, rejected), select(weights, coins, n))
