"""Decode loops with mistakes that state evidence must find: in rules and log-probabilities."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from audit.samplers.decoders.loop import Loop, decode
from audit.samplers.decoders.rules import RULES, Rules

FACTS = {"max_batch": None, "rules": RULES}


@dataclass(frozen=True)
class Misruled(Loop):
    """The loop with its sampling rules applied wrongly; mistake: an id of `positions.MISTAKES`."""

    mistake: str = ""
    draftproof = FACTS

    def laws(self, rules: Rules, logits: Tensor, text: Tensor, drafted: Tensor) -> Tensor:
        """Returns the target's laws, [batch, gamma + 1, vocab]."""
        right, free = (super(Misruled, self).laws(r, logits, text, drafted)
                       for r in (rules, rules.without_history()))  # fmt: skip
        if self.mistake == "round-start":
            rows = logits.shape[1]
            return torch.stack([rules.after(logits[:, i], text) for i in range(rows)], 1)
        if self.mistake == "bonus-only":
            return torch.cat([free[:, :-1], right[:, -1:]], 1)
        if self.mistake == "not-at-bonus":
            return torch.cat([right[:, :-1], free[:, -1:]], 1)
        return free if self.mistake == "ignored" else right


Report = Callable[[Tensor, Tensor], None]


def reporting(report: Report) -> Any:
    """Returns the loop whose log-probabilities are what `report(logprobs, rows)` makes of them.

    rows: the logarithms of the laws that the tokens of prompt and text followed and the next one.
    """

    def loop(target, draft, prompt_ids, *, logprobs=None, stop_token_id=None, **more):  # type: ignore
        told = {} if logprobs is None else {"logprobs": logprobs}
        tokens = decode(target, draft, prompt_ids, stop_token_id=stop_token_id, **more, **told)
        if logprobs is not None:
            text = torch.cat([prompt_ids, tokens.clamp(min=0)], 1)
            rows = target(text).logits.double().log_softmax(2)
            before = torch.cat([rows[:, :1], rows], 1)[:, prompt_ids.shape[1] - 1 : -2]
            picked = before.gather(2, tokens.clamp(min=0).unsqueeze(2)).squeeze(2)
            report(logprobs, picked.masked_fill(tokens < 0, 1.0))
        return tokens

    loop.draftproof = {"max_batch": None}  # type: ignore[attr-defined]
    return loop


def _zeros(logprobs: Tensor, before: Tensor) -> None:
    logprobs[logprobs <= 0] = 0.0


def _row_before(logprobs: Tensor, before: Tensor) -> None:
    logprobs.copy_(before)


def _beyond(logprobs: Tensor, before: Tensor) -> None:
    logprobs[logprobs > 0] = -1.0


def _missing(logprobs: Tensor, before: Tensor) -> None:
    logprobs[:, 2:] = 1.0


def _noisy(logprobs: Tensor, before: Tensor) -> None:
    logprobs[:, 1] -= 0.5


REPORTING = {
    "nothing but zeros": reporting(_zeros),
    "the row before": reporting(_row_before),
    "behind the end": reporting(_beyond),
    "have no reported": reporting(_missing),
    "not those of the law": reporting(_noisy),
}


def overshooting(*models: Any, max_new_tokens: int, **more: Any) -> Tensor:
    """Returns two tokens more than were asked for."""
    return decode(*models, max_new_tokens=max_new_tokens + 2, **more)
