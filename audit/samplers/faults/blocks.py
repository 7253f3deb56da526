"""Wrong rows and wrong tokens of a block: each position alone would be right."""

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
    next_rows,
    open_position,
    ratio,
    row,
    toss,
    verified,
)
from audit.samplers.faults.fallback import target
from audit.samplers.interface import Sampler, StepBatch


def accepted_anywhere(coins: Tensor, accept: Tensor, batch: StepBatch) -> Tensor:
    """Returns how many tokens pass, wherever they stand."""
    position = torch.arange(coins.shape[1], device=coins.device)
    real = position < batch.num_draft_tokens.unsqueeze(1)
    return ((coins < accept) & real).sum(1)


def first_test_decides(coins: Tensor, accept: Tensor, batch: StepBatch) -> Tensor:
    """Returns the number of drafted tokens where the first one passes, else 0."""
    first = leading(coins < accept, batch) > 0
    return torch.where(first, batch.num_draft_tokens, 0)


def bonus_row_early(batch: StepBatch, n: Tensor) -> tuple[Tensor, Tensor]:
    """Returns the rows of every token, but for the bonus token the target row before its own."""
    early = torch.where(n == batch.num_draft_tokens, n - 1, n).clamp(min=0)
    return row(batch.target_probs, early), next_rows(batch, n)[1]


def target_row_late(batch: StepBatch, n: Tensor) -> tuple[Tensor, Tensor]:
    """Returns the rows of the bonus token, but for a recovered token the target row after it."""
    late = torch.where(n < batch.num_draft_tokens, n + 1, n)
    return row(batch.target_probs, late), next_rows(batch, n)[1]


def draft_row_first(batch: StepBatch, n: Tensor) -> tuple[Tensor, Tensor]:
    """Returns the right target row and the first draft row."""
    return row(batch.target_probs, n), batch.draft_probs[:, 0].double()


def draft_row_late(batch: StepBatch, n: Tensor) -> tuple[Tensor, Tensor]:
    """Returns the right target row and the draft row one further on, the last one at the end."""
    return row(batch.target_probs, n), row(batch.draft_probs, open_position(batch, n + 1))


def ratio_one_row_late(batch: StepBatch) -> Tensor:
    """Returns p / q with p the target row after the drafted token."""
    return ratio(batch._replace(target_probs=batch.target_probs[:, 1:]))


def target_frozen(batch: StepBatch, generator: torch.Generator) -> Tensor:
    """Returns the tokens of the ratio rule with the first target row at every position."""
    first = batch.target_probs[:, :1].expand_as(batch.target_probs)
    return chain(batch._replace(target_probs=first), generator)


def record_frozen(batch: StepBatch, generator: torch.Generator) -> Tensor:
    """Returns the tokens of the ratio rule with the first draft row at every position."""
    first = batch.draft_probs[:, :1].expand_as(batch.draft_probs)
    return chain(batch._replace(draft_probs=first), generator)


def without_last(tokens: Tensor, batch: StepBatch, *, short: bool) -> Tensor:
    """Returns the rows without their last token, those that reject (`short`) or those that do not.

    A row that rejects emits no more tokens than it has drafts.
    """
    emitted = (tokens >= 0).sum(1)
    ends = (emitted <= batch.num_draft_tokens) == short
    last = torch.where(ends, emitted - 1, -1).unsqueeze(1)
    return tokens.masked_fill(torch.arange(tokens.shape[1], device=tokens.device) == last, -1)


def bonus_missing(batch: StepBatch, generator: torch.Generator) -> Tensor:
    """Returns the correct tokens without the bonus token: lossless, only shorter."""
    tokens = chain(batch, generator)
    drafted = (batch.num_draft_tokens > 0).unsqueeze(1)  # without drafts the one token stays
    return torch.where(drafted, without_last(tokens, batch, short=False), tokens)


def correction_missing(batch: StepBatch, generator: torch.Generator) -> Tensor:
    """Returns the correct tokens without the recovered one, possibly none."""
    return without_last(chain(batch, generator), batch, short=True)


def bonus_after_rejection(batch: StepBatch, generator: torch.Generator) -> Tensor:
    """Returns the correct tokens and, after a recovered one, a draw from the bonus row."""
    coins = toss(batch, batch.draft_token_ids.shape[1] + 2, generator)
    tokens = verified(batch, coins[:, :-1])
    emitted = (tokens >= 0).sum(1, keepdim=True)
    more = draw(row(batch.target_probs, batch.num_draft_tokens), coins[:, -1]).unsqueeze(1)
    position = torch.arange(tokens.shape[1], device=tokens.device)
    added = (position == emitted) & (emitted <= batch.num_draft_tokens.unsqueeze(1)) & (emitted > 0)
    return torch.where(added, more, tokens)


def continues_after_rejection(batch: StepBatch, generator: torch.Generator) -> Tensor:
    """Returns gamma + 1 tokens: later drafts stay although an earlier one was replaced."""
    drafted, length = batch.draft_token_ids, batch.num_draft_tokens
    gamma = drafted.shape[1]
    coins = toss(batch, 2 * gamma + 1, generator)
    accepted = coins[:, :gamma] < ratio(batch)
    excess = (batch.target_probs[:, :gamma].double() - batch.draft_probs).clamp_(min=0)
    patched = torch.where(accepted, drafted, draws(excess, coins[:, gamma:-1]))
    return emit(patched, length, draw(row(batch.target_probs, length), coins[:, -1]))


FAULTS: Mapping[str, Sampler] = {
    "continues-after-rejection": continues_after_rejection,
    "accepts-counted-anywhere": partial(chain, count=accepted_anywhere),
    "bonus-after-rejection": bonus_after_rejection,
    "bonus-from-draft": partial(chain, bonus=lambda p, q: q),
    "bonus-one-row-early": partial(chain, rows=bonus_row_early),
    "bonus-missing": bonus_missing,
    "target-row-late": partial(chain, rows=target_row_late),
    "next-target-row-fallback": partial(chain, rows=target_row_late, fallback=target),
    "first-draft-row-in-residual": partial(chain, rows=draft_row_first),
    "draft-row-late-in-residual": partial(chain, rows=draft_row_late),
    "target-context-frozen": target_frozen,
    "draft-record-frozen": record_frozen,
    "test-row-late": partial(chain, accept=ratio_one_row_late),
    "rejected-token-kept": partial(chain, kept=lambda n, rejected: n + rejected),
    "last-accepted-dropped": partial(chain, kept=lambda n, rejected: (n - 1).clamp(min=0)),
    "correction-missing": correction_missing,
    "cumulative-ratio": partial(chain, accept=lambda batch: ratio(batch).cumprod(1)),
    "first-test-decides": partial(chain, count=first_test_decides),
}
