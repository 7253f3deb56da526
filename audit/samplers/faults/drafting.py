"""Faults of samplers that draft for themselves: they ignore the tokens that they are handed.

The rows still lie along the handed draft. A law of these ids is therefore that of the function
where rows do not depend on the prefix, or where the handed draft is the one it would draw.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

import torch
from torch import Tensor

from audit.samplers.chain import draws, ratio, toss, verified
from audit.samplers.interface import Sampler, StepBatch
from audit.samplers.rowwise import top

COINS = 3  # a position, for drafting: first token, its test, second token

Drafting = Callable[[StepBatch, Tensor], tuple[Tensor, Tensor]]


def on_own_draft(batch: StepBatch, generator: torch.Generator, *, drafting: Drafting) -> Tensor:
    """Returns the tokens of the ratio rule on tokens that it drafts with its own coins.

    drafting: the tokens int64 [batch, gamma] and their acceptance probabilities, from the batch
    and COINS * gamma coins a row. A row with a token that cannot be drafted comes back empty.
    """
    gamma = batch.draft_token_ids.shape[1]
    coins = toss(batch, (COINS + 1) * gamma + 1, generator)
    own, accept = drafting(batch, coins[:, : COINS * gamma])
    position = torch.arange(gamma, device=own.device)
    nothing = ((own < 0) & (position < batch.num_draft_tokens.unsqueeze(1))).any(1, keepdim=True)
    drafted = batch._replace(draft_token_ids=own)
    tokens = verified(drafted, coins[:, COINS * gamma :], accept=lambda _: accept)
    return tokens.masked_fill(nothing, -1)


def argmax_draft(batch: StepBatch, coins: Tensor) -> tuple[Tensor, Tensor]:
    """Returns the most probable tokens of the draft rows."""
    return with_ratio(batch, batch.draft_probs.argmax(2))


def top_draft(batch: StepBatch, coins: Tensor, *, k: float) -> tuple[Tensor, Tensor]:
    """Returns draws from the k most probable tokens of each draft row."""
    return with_ratio(batch, drawn(top(k)(batch.draft_probs.double()), coins))


def frozen_draft(batch: StepBatch, coins: Tensor) -> tuple[Tensor, Tensor]:
    """Returns draws from the first draft row at every position."""
    return with_ratio(batch, drawn(batch.draft_probs[:, :1].expand_as(batch.draft_probs), coins))


def redrawn_draft(batch: StepBatch, coins: Tensor) -> tuple[Tensor, Tensor]:
    """Returns the tokens that redrawing from q until one passes ends with: draws from min(p, q)."""
    overlap = torch.minimum(batch.target_probs[:, :-1], batch.draft_probs)
    own = drawn(overlap, coins)
    return own, torch.ones_like(coins[:, : own.shape[1]])


def second_try_draft(batch: StepBatch, coins: Tensor) -> tuple[Tensor, Tensor]:
    """Returns draws from q, replaced by a second one where they fail the first test."""
    gamma = batch.draft_token_ids.shape[1]
    first, accept_first = with_ratio(batch, drawn(batch.draft_probs, coins))
    second, accept_second = with_ratio(batch, drawn(batch.draft_probs, coins[:, 2 * gamma :]))
    passed = coins[:, gamma : 2 * gamma] < accept_first
    return torch.where(passed, first, second), torch.where(passed, 1.0, accept_second)


def with_ratio(batch: StepBatch, own: Tensor) -> tuple[Tensor, Tensor]:
    """Returns the tokens and p / q of each."""
    return own, ratio(batch._replace(draft_token_ids=own))


def drawn(rows: Tensor, coins: Tensor) -> Tensor:
    """Returns one draw a position by the first coins."""
    return draws(rows, coins[:, : rows.shape[1]])


FAULTS: Mapping[str, Sampler] = {
    "argmax-draft": partial(on_own_draft, drafting=argmax_draft),
    "drafting-context-frozen": partial(on_own_draft, drafting=frozen_draft),
    "redrawn-until-accepted": partial(on_own_draft, drafting=redrawn_draft),
    "second-try": partial(on_own_draft, drafting=second_try_draft),
}

PARAMETRIC: Mapping[str, Callable[[float], Sampler]] = {
    "draft-top-2-not-recorded": lambda k: partial(on_own_draft, drafting=partial(top_draft, k=k)),
}
