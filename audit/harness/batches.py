"""The rows of one call: which case and trial each row is, its drafts, and its tensors.

Drafts are drawn independently, from the shared cumulative tables of a deck. Rows of one call may
come from several cases (mixed) or from one (shared); a shared case whose rows do not depend on
the prefix is handed over as views of its two rows.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch

from audit.harness.deck import Deck
from audit.harness.randomness import key_of, uniforms
from audit.samplers.interface import StepBatch


@dataclass(frozen=True, eq=False)
class Rows:
    """The rows of a call: `case` int64 [batch] indexes the deck, `trial` int64 [batch] counts."""

    case: torch.Tensor
    trial: torch.Tensor


def interleaved(deck: Deck, first: int, stop: int, *, first_trial: int) -> Rows:
    """Returns rows first..stop-1 of a chunk: its cases take turns, row after row."""
    number = torch.arange(first, stop, device=deck.device)
    cases = len(deck.cases)
    return Rows(number % cases, first_trial + number // cases)


@dataclass(frozen=True, eq=False)
class Keys:
    """The random keys of one purpose in a deck, int64 [cases, gamma + 1]: one a case and draw."""

    by_case: torch.Tensor

    @classmethod
    def of(cls, deck: Deck, *, seed: int, purpose: str) -> Keys:
        """Returns keys that depend on the seed, the purpose, the case's content and the draw."""
        draws = range(deck.gamma + 1)
        keys = [[key_of(seed, purpose, case.hash, draw) for draw in draws] for case in deck.cases]
        return cls(torch.tensor(keys, device=deck.device))

    def uniforms(self, rows: Rows) -> torch.Tensor:
        """Returns float64 [batch, gamma + 1] in [0, 1): the draws of every row's trial."""
        keys = self.by_case if len(self.by_case) == 1 else self.by_case[rows.case]
        return uniforms(keys, rows.trial[:, None])


def drawn(
    cumulative: torch.Tensor, deck: Deck, rows: Rows, index: torch.Tensor, u: torch.Tensor
) -> torch.Tensor:
    """Returns int64 [batch]: tokens by inverse CDF of float64 u at table index [batch]."""
    if deck.uniform:
        return torch.searchsorted(cumulative[0, 0], u.contiguous(), right=True)
    return (u[:, None] >= cumulative[rows.case, index]).sum(dim=1)


def draft(deck: Deck, rows: Rows, keys: Keys) -> torch.Tensor:
    """Returns int64 [batch, gamma]: independent drafts; -1 beyond a row's own gamma."""
    code = torch.zeros_like(rows.case)
    u = keys.uniforms(rows)
    tokens: list[torch.Tensor] = []
    for position in range(deck.gamma):
        index = deck.prefix_index(position, code)
        token = drawn(deck.draft_cumulative, deck, rows, index, u[:, position])
        tokens.append(token)
        code = appended(deck, rows, code, token, position)
    drafted = torch.stack(tokens, dim=1)
    if not deck.ragged:
        return drafted
    beyond = torch.arange(deck.gamma, device=deck.device) >= deck.gammas[rows.case][:, None]
    return drafted.masked_fill(beyond, -1)


def appended(
    deck: Deck, rows: Rows, code: torch.Tensor, token: torch.Tensor, position: int
) -> torch.Tensor:
    """Returns the prefix codes with `token` appended, [batch]; unchanged beyond a row's gamma."""
    longer = code * deck.vocab_size + token
    return torch.where(position < deck.gammas[rows.case], longer, code) if deck.ragged else longer


def step_batch(
    deck: Deck,
    rows: Rows,
    tokens: torch.Tensor,
    *,
    copies: tuple[torch.Tensor, torch.Tensor] | None,
) -> StepBatch:
    """Returns what the sampler reads: views where all rows of the call have the same laws.

    copies: the target and draft rows of a uniform deck already repeated for at least as many
    rows; they are handed over in place of views, as contiguous tensors.
    """
    if not deck.uniform:
        target, drafts = _gathered(deck, rows, tokens)
    elif copies is not None:
        target, drafts = (rows_of[: len(tokens)] for rows_of in copies)
    else:
        target = deck.target_rows.expand(len(tokens), deck.gamma + 1, -1)
        drafts = deck.draft_rows.expand(len(tokens), deck.gamma, -1)
    return StepBatch(tokens, drafts, target, deck.gammas[rows.case])


def _gathered(deck: Deck, rows: Rows, tokens: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Returns target rows [batch, gamma + 1, vocab] and draft rows [batch, gamma, vocab]."""
    index = _prefix_indices(deck, tokens)
    target = deck.target_rows[rows.case[:, None], index]
    drafts = deck.draft_rows[rows.case[:, None], index[:, :-1]]
    if deck.ragged:
        past = torch.arange(deck.gamma + 1, device=deck.device) > deck.gammas[rows.case][:, None]
        target = target.masked_fill(past[:, :, None], 0.0)
        drafts = drafts.masked_fill(past[:, 1:, None], 0.0)
    return target, drafts


def _prefix_indices(deck: Deck, tokens: torch.Tensor) -> torch.Tensor:
    """Returns int64 [batch, gamma + 1]: the table index of the first 0..gamma drafted tokens."""
    code = torch.zeros_like(tokens[:, 0])
    indices = [deck.prefix_index(0, code)]
    for position in range(deck.gamma):
        code = code * deck.vocab_size + tokens[:, position].clamp(min=0)
        indices.append(deck.prefix_index(position + 1, code))
    return torch.stack(indices, dim=1)
