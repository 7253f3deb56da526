"""The sampling rules of a decode loop, applied from scratch to the text that a token follows.

In their order: repetition penalty on the logits, grammar, temperature, top-k, top-p, min-p. The
first two look at the text, so that a loop which verifies several tokens at once has to apply them
to each of its rows with the text of that row. Text is int64 [..., length]; -1 stands for no token.

References: Keskar et al. (2019) for the repetition penalty; Holtzman et al. (2020) for top-p;
Nguyen et al. (2024) for min-p.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace

import torch
from torch import Tensor

from audit.errors import UsageError

GRAMMARS = ("", "no-repeat")
Option = int | float | str


@dataclass(frozen=True)
class Rules:
    """Sampling rules; the defaults change nothing.

    repetition_penalty: logits of tokens that the text holds, the prompt's too, are divided by it
    where positive and multiplied where negative. grammar: "no-repeat" forbids the last token.
    temperature: divides the logits. top_k: that many most probable tokens stay, 0 for all. top_p:
    tokens stay that have less than this mass strictly above them. min_p: tokens stay that are at
    least this share of the most probable one.

    >>> rules = Rules(grammar="no-repeat")
    >>> rules.after(torch.zeros(3), torch.tensor([2, 1])).tolist()
    [0.5, 0.0, 0.5]
    """

    repetition_penalty: float = 1.0
    grammar: str = ""
    temperature: float = 1.0
    top_k: int = 0
    top_p: float = 1.0
    min_p: float = 0.0

    def after(self, logits: Tensor, text: Tensor) -> Tensor:
        """Returns the laws [..., vocab], float64, of tokens after text [..., length].

        Where the rules leave no token, the law is not a number.
        """
        scores = self._penalised(logits.double(), text)
        scores = scores.masked_fill(~self.allowed(text, scores.shape[-1]), -torch.inf)
        scores = scores / self.temperature
        if 0 < self.top_k < scores.shape[-1]:
            cut = scores.topk(self.top_k).values[..., -1:]
            scores = scores.masked_fill(scores < cut, -torch.inf)
        laws = scores.softmax(-1)
        if self.top_p < 1:
            laws = _renormalised(laws, _above(laws) < self.top_p)
        if self.min_p > 0:
            laws = _renormalised(laws, laws >= self.min_p * laws.amax(-1, keepdim=True))
        return laws

    def allowed(self, text: Tensor, vocab_size: int) -> Tensor:
        """Returns which tokens the grammar lets follow each text, bool [..., vocab]."""
        if not self.grammar:
            return torch.ones(*text.shape[:-1], vocab_size, dtype=torch.bool)
        places = torch.arange(text.shape[-1]).masked_fill(text < 0, -1).amax(-1, keepdim=True)
        last = text.gather(-1, places.clamp(min=0))
        return torch.arange(vocab_size) != last

    def _penalised(self, scores: Tensor, text: Tensor) -> Tensor:
        if self.repetition_penalty == 1:
            return scores
        seen = torch.zeros(*text.shape[:-1], scores.shape[-1] + 1, dtype=torch.bool)
        seen = seen.scatter(-1, text.masked_fill(text < 0, scores.shape[-1]), value=True)
        penalty = self.repetition_penalty
        weaker = torch.where(scores > 0, scores / penalty, scores * penalty)
        return torch.where(seen[..., :-1], weaker, scores)

    def without_history(self) -> Rules:
        """Returns those that do not look at the text."""
        return replace(self, repetition_penalty=1.0, grammar="")


RULES = tuple(field.name for field in fields(Rules))
HISTORY = ("repetition_penalty", "grammar")  # the rules that look at the text


def prefixes(text: Tensor) -> Tensor:
    """Returns the text up to every place, int64 [batch, length, length], from [batch, length].

    >>> prefixes(torch.tensor([[4, 5]])).tolist()
    [[[4, -1], [4, 5]]]
    """
    length = text.shape[1]
    later = torch.ones(length, length, dtype=torch.bool).triu(1)
    return text.unsqueeze(1).expand(-1, length, -1).masked_fill(later, -1)


def rules_of(options: Mapping[str, Option]) -> Rules:
    """Returns the rules of options by the names of their fields.

    >>> rules_of({"top_k": 2}).top_k
    2

    Raises: UsageError for a value that a rule cannot have.
    """
    for name, value in options.items():
        wanted = _wanted(name, value)
        if wanted:
            raise UsageError(f"--option {name}={value} must be {wanted}.")
    return Rules(**options)  # type: ignore[arg-type]


def _wanted(name: str, value: Option) -> str:
    """Returns what the value of a rule must be, "" where it is that."""
    if name == "grammar":
        return "" if value in GRAMMARS else " or ".join(GRAMMARS[1:])
    if isinstance(value, str):
        return "a number"
    if name == "top_k":
        return "" if isinstance(value, int) and value >= 0 else "a whole number from 0 on"
    if name in ("temperature", "repetition_penalty"):
        return "" if 0 < value < float("inf") else "a finite number above 0"
    return "" if 0 <= value <= 1 else "a number from 0 to 1"


def _above(laws: Tensor) -> Tensor:
    """Returns the mass of the strictly more probable tokens, [..., vocab]."""
    more = laws.unsqueeze(-2) > laws.unsqueeze(-1)
    return (more * laws.unsqueeze(-2)).sum(-1)


def _renormalised(laws: Tensor, stays: Tensor) -> Tensor:
    kept = laws * stays
    return kept / kept.sum(-1, keepdim=True)
