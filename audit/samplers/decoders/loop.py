"""A speculative decode loop with a real cache, for any number of rows at once.

Rows accept different numbers of tokens, so the caches of a batch are ragged: everything that was
ever read stays in them, and an attention mask says what counts. Rolling back is hiding. A `State`
is a model with its cache; between rounds it must hold exactly the emitted prefix, and what it
holds instead is a parameter, so that the same loop shows what a wrong state does.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from audit.samplers.chain import chain, draw
from audit.samplers.decoders.rules import Rules
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
    """A model and all that it has read; `row` [batch, vocab] holds its logits of the next token."""

    def __init__(self, model: Any, prompt_ids: Tensor) -> None:
        self._model, self._cache = model, None
        self._counts = torch.zeros_like(prompt_ids[:, :0], dtype=torch.bool)
        self.read(prompt_ids)

    def read(self, tokens: Tensor, counts: Tensor | None = None) -> Tensor:
        """Returns the logits after every one of these tokens, float64 [batch, tokens, vocab].

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
        logits: Tensor = output.logits.double()
        self.row: Tensor = logits[:, -1]
        return logits

    def settle(self, n: Tensor, last: Tensor, gamma: int, settle: Settle) -> None:
        """Ends a round of `gamma` read drafts, n [batch] of them accepted, then `last` [batch]."""
        kept, reads_last = settle(gamma, n)
        stays = torch.arange(gamma, device=n.device) < kept.unsqueeze(1)
        self._counts = torch.cat([self._counts[:, :-gamma], stays], dim=1)
        self.read(last.unsqueeze(1), reads_last)


@dataclass(frozen=True)
class Loop:
    """A decode loop. verify: the rule that ends a round. keeping: what the states hold."""

    verify: Sampler = chain
    keeping: Keeping = field(default_factory=Keeping)

    def __call__(
        self,
        target: Any,
        draft: Any,
        prompt_ids: Tensor,
        *,
        max_new_tokens: int,
        num_speculative_tokens: int,
        generator: torch.Generator,
        stop_token_id: int | None = None,
        greedy: bool = False,
        rules: Rules | None = None,
        logprobs: Tensor | None = None,
    ) -> Tensor:
        """Returns the emitted tokens, int64 [batch, max_new_tokens], -1 after a stop token."""
        keeping, gamma, rules = self.keeping, num_speculative_tokens, rules or Rules()
        p_state, q_state = State(target, prompt_ids), State(draft, prompt_ids)
        recorder = q_state if keeping.recorded is None else State(draft, prompt_ids)
        start, text, prompt = generator.get_state(), prompt_ids, prompt_ids.shape[1]
        laws: list[Tensor] = []
        while (text[:, prompt:] >= 0).sum(1).min() < max_new_tokens:
            if keeping.reseeded:
                generator.set_state(start)
            drafting = Drafting(rules, text, greedy)
            drafted, q = drafting.propose(q_state, recorder, gamma, generator)
            logits = torch.cat([p_state.row.unsqueeze(1), p_state.read(drafted)], dim=1)
            p = self.laws(rules, logits, text, drafted)
            batch = StepBatch(drafted, q, p, torch.full_like(drafted[:, 0], gamma))
            tokens = torch.as_tensor((greedy_rule if greedy else self.verify)(batch, generator))
            text, laws = torch.cat([text, tokens], 1), [*laws, p]
            n = (tokens >= 0).sum(1) - 1
            last = tokens.gather(1, n.unsqueeze(1)).squeeze(1)
            p_state.settle(n, last, gamma, keeping.target)
            q_state.settle(n, last, gamma, keeping.draft)
            if keeping.recorded is not None:
                recorder.settle(n, last, gamma, keeping.recorded)
        ends = _Ends(text[:, prompt:], max_new_tokens, stop_token_id)
        if logprobs is not None:
            logprobs.copy_(ends.cut(_reported(laws, text[:, prompt:]), 1.0))
        return ends.cut(text[:, prompt:], -1)

    def laws(self, rules: Rules, logits: Tensor, text: Tensor, drafted: Tensor) -> Tensor:
        """Returns the target's laws [batch, gamma + 1, vocab], each after its own text."""
        each = [
            rules.after(logits[:, i], torch.cat([text, drafted[:, :i]], 1))
            for i in range(logits.shape[1])
        ]
        return torch.stack(each, 1)


@dataclass(frozen=True)
class Drafting:
    """How a draft is made after `text` [batch, length], -1 where a row has no token."""

    rules: Rules
    text: Tensor
    greedy: bool

    def propose(
        self, state: State, recorder: State, gamma: int, generator: torch.Generator
    ) -> tuple[Tensor, Tensor]:
        """Returns gamma tokens [batch, gamma] and the recorded laws [batch, gamma, vocab]."""
        text, recorded = self.text, []
        for _ in range(gamma):
            coin = torch.rand(len(text), dtype=torch.float64, generator=generator)
            law = self.rules.after(state.row, text)
            token = law.argmax(1) if self.greedy else draw(law, coin)
            recorded.append(self.rules.after(recorder.row, text))
            text = torch.cat([text, token.unsqueeze(1)], 1)
            for one in dict.fromkeys((state, recorder)):
                one.read(token.unsqueeze(1))
        return text[:, -gamma:], torch.stack(recorded, 1)


class _Ends:
    """Where the rows of all rounds end: without the gaps between them, after the stop token."""

    def __init__(self, tokens: Tensor, length: int, stop_token_id: int | None) -> None:
        self._order = (tokens < 0).long().argsort(dim=1, stable=True)[:, :length]
        stops = tokens.gather(1, self._order) == (-2 if stop_token_id is None else stop_token_id)
        self._ended = stops.cumsum(1) - stops.long() > 0

    def cut(self, values: Tensor, filled: float) -> Tensor:
        """Returns one value an emitted token, [batch, length], `filled` behind the end."""
        return values.gather(1, self._order).masked_fill(self._ended, filled)


def _reported(laws: list[Tensor], tokens: Tensor) -> Tensor:
    """Returns the log-probability of every token of all rounds, [batch, tokens]."""
    each = torch.cat(laws, 1).gather(2, tokens.clamp(min=0).unsqueeze(2))
    return each.squeeze(2).log()


decode = Loop()
