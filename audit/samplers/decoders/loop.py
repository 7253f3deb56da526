"""A speculative decode loop with a real cache, for any number of rows at once.

Rows accept different numbers of tokens, so the caches of a batch are ragged: everything that was
ever read stays in them, and an attention mask says what counts. Rolling back is hiding. A `State`
is a model with its cache; between rounds it must hold exactly the emitted prefix, and what it
holds instead is a parameter, so that the same loop shows what a wrong state does.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from audit.samplers.chain import chain, draw
from audit.samplers.interface import Sampler, StepBatch
from audit.samplers.rules import greedy as greedy_rule

# (gamma, n [batch]) -> drafted tokens that a state keeps [batch], whether it reads the last one.
Settle = Callable[[int, Tensor], tuple[Tensor, Tensor]]


def emitted(gamma: int, n: Tensor) -> tuple[Tensor, Tensor]:
    """Returns what was emitted: the n accepted tokens, and the last one."""
    return n, torch.ones_like(n, dtype=torch.bool)


@dataclass(frozen=True)
class Keeping:
    """What the states hold between rounds, and what the random numbers do.

    recorded: what the state holds from which q is recorded, None where it is the one that drafts.
    reseeded: the generator starts every round where it started the first one.
    """

    target: Settle = emitted
    draft: Settle = emitted
    recorded: Settle | None = None
    reseeded: bool = False


class State:
    """A model and all that it has read; `row` [batch, vocab] is its law of the next token."""

    def __init__(self, model: Any, prompt_ids: Tensor) -> None:
        self._model, self._cache = model, None
        self._counts = torch.zeros_like(prompt_ids[:, :0], dtype=torch.bool)
        self.read(prompt_ids)

    def read(self, tokens: Tensor, counts: Tensor | None = None) -> Tensor:
        """Returns the laws after every one of these tokens, [batch, tokens, vocab].

        counts: bool [batch], whether the tokens count in this row; all do by default.
        """
        new = torch.ones_like(tokens, dtype=torch.bool)
        new = new if counts is None else new & counts.unsqueeze(1)
        self._counts = torch.cat([self._counts, new], dim=1)
        positions = (self._counts.cumsum(1) - 1).clamp(min=0)[:, -tokens.shape[1] :]
        output = self._model(
            tokens,
            attention_mask=self._counts.long(),
            position_ids=positions,
            past_key_values=self._cache,
            use_cache=True,
        )
        self._cache = output.past_key_values
        laws: Tensor = output.logits.double().softmax(2)
        self.row: Tensor = laws[:, -1]
        return laws

    def settle(self, n: Tensor, last: Tensor, gamma: int, settle: Settle) -> None:
        """Ends a round of `gamma` read drafts, n [batch] of them accepted, then `last` [batch]."""
        kept, reads_last = settle(gamma, n)
        stays = torch.arange(gamma, device=n.device) < kept.unsqueeze(1)
        self._counts = torch.cat([self._counts[:, :-gamma], stays], dim=1)
        self.read(last.unsqueeze(1), reads_last)


def decode(
    target: Any,
    draft: Any,
    prompt_ids: Tensor,
    *,
    max_new_tokens: int,
    num_speculative_tokens: int,
    generator: torch.Generator,
    stop_token_id: int | None = None,
    greedy: bool = False,
    verify: Sampler = chain,
    keeping: Keeping | None = None,
) -> Tensor:
    """Returns the emitted tokens, int64 [batch, max_new_tokens], -1 after a stop token.

    verify: the rule that ends a round. keeping: what the states hold, what was emitted by default.
    """
    keeping, gamma = keeping or Keeping(), num_speculative_tokens
    verify = greedy_rule if greedy else verify
    p_state, q_state = State(target, prompt_ids), State(draft, prompt_ids)
    recorder = q_state if keeping.recorded is None else State(draft, prompt_ids)
    start, rounds = generator.get_state(), [prompt_ids[:, :0]]
    while (torch.cat(rounds, 1) >= 0).sum(1).min() < max_new_tokens:
        if keeping.reseeded:
            generator.set_state(start)
        drafted, q = propose(q_state, recorder, gamma, generator, greedy=greedy)
        p = torch.cat([p_state.row.unsqueeze(1), p_state.read(drafted)], dim=1)
        batch = StepBatch(drafted, q, p, torch.full_like(drafted[:, 0], gamma))
        tokens = torch.as_tensor(verify(batch, generator))
        rounds.append(tokens)
        n = (tokens >= 0).sum(1) - 1
        last = tokens.gather(1, n.unsqueeze(1)).squeeze(1)
        p_state.settle(n, last, gamma, keeping.target)
        q_state.settle(n, last, gamma, keeping.draft)
        if keeping.recorded is not None:
            recorder.settle(n, last, gamma, keeping.recorded)
    return _text(torch.cat(rounds, 1), max_new_tokens, stop_token_id)


def propose(
    state: State, recorder: State, gamma: int, generator: torch.Generator, *, greedy: bool
) -> tuple[Tensor, Tensor]:
    """Returns gamma drafted tokens [batch, gamma] and the recorded laws [batch, gamma, vocab]."""
    drafted, recorded = [], []
    for _ in range(gamma):
        coin = torch.rand(len(state.row), dtype=torch.float64, generator=generator)
        token = state.row.argmax(1) if greedy else draw(state.row, coin)
        drafted.append(token)
        recorded.append(recorder.row)
        for one in dict.fromkeys((state, recorder)):
            one.read(token.unsqueeze(1))
    return torch.stack(drafted, 1), torch.stack(recorded, 1)


def _text(tokens: Tensor, length: int, stop_token_id: int | None) -> Tensor:
    """Returns the tokens of all rounds without the gaps between them, up to the stop token."""
    in_order = (tokens < 0).long().argsort(dim=1, stable=True)
    text = tokens.gather(1, in_order)[:, :length]
    if stop_token_id is None:
        return text
    stops = text == stop_token_id
    return text.masked_fill(stops.cumsum(1) - stops.long() > 0, -1)
