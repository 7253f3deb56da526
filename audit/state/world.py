"""A world in which a decode loop runs: two models, and the exact law of what it should emit."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from audit.case import Prefix
from audit.samplers.decoders.rules import Rules, prefixes

Array = npt.NDArray[np.float64]
Laws = Callable[[Tensor], Tensor]


@dataclass(frozen=True, eq=False)
class World:
    """One world; laws are float64 [vocab_size ** length], by the codes of emitted sequences.

    models: target and draft in the form that the decoder takes. logits: the target as a function
    `ids [batch, length] -> logits [batch, length, vocab]` without a state. scratch: target and
    draft as such functions of their laws before all sampling rules, None for a draft of another
    vocabulary. rules: the sampling rules in force, of which `law` is the law. faults: the law of
    each state fault, empty where none is known. tolerance: total variation due to arithmetic.
    plain: the target read one token a call, with its cache and no draft, where that may differ.
    dtype: that of the models.
    """

    id: str
    vocab_size: int
    gamma: int
    length: int
    prompt: Prefix
    models: tuple[Any, Any]
    logits: Laws
    scratch: tuple[Laws, Laws | None]
    law: Array
    faults: Mapping[str, Array]
    tolerance: float
    plain: Laws | None = None
    dtype: torch.dtype = torch.float32
    rules: Rules = field(default_factory=Rules)

    def after(self, ids: Tensor) -> Tensor:
        """Returns the target's laws after every token, [batch, length, vocab], after its rules."""
        return self.rules.after(self.logits(ids), prefixes(ids))

    def distance(self, fault: str) -> float:
        """Returns the total variation between the law of a state fault and the target's."""
        return float(np.abs(self.faults[fault] - self.law).sum()) / 2

    def memory(self) -> float:
        """Returns the total variation between the law and one whose tokens are independent."""
        law = self.law.reshape([self.vocab_size] * self.length)
        product = np.ones(1)
        for place in range(self.length):
            others = tuple(axis for axis in range(self.length) if axis != place)
            product = np.multiply.outer(product, law.sum(axis=others)).reshape(-1)
        return float(np.abs(product - self.law).sum()) / 2

    def prompts(self, rows: int) -> Tensor:
        """Returns the prompt in every row, int64 [rows, length]."""
        return torch.tensor([self.prompt]).repeat(rows, 1)

    def codes(self, tokens: Tensor) -> npt.NDArray[np.int64]:
        """Returns the codes of sequences, int64 [rows], from tokens [rows, length]."""
        powers = self.vocab_size ** np.arange(self.length - 1, -1, -1)
        return np.asarray(tokens[:, : self.length].numpy() @ powers, dtype=np.int64)

    def stopped_law(self, stop: int) -> Array:
        """Returns the law of sequences in which everything after token `stop` is `stop` too."""
        size = self.vocab_size
        tokens = np.arange(len(self.law))[:, None] // size ** np.arange(self.length)[::-1] % size
        after = np.cumsum(tokens == stop, axis=1) > 0
        filled = np.where(after, stop, tokens) @ (size ** np.arange(self.length)[::-1])
        law = np.bincount(filled, weights=self.law, minlength=len(self.law))
        return np.asarray(law, dtype=np.float64)


def with_rules(world: World, rules: Rules) -> World | None:
    """Returns the world under sampling rules, None where they leave some text without a next token.

    The laws of the state faults are not known under rules.
    """
    if rules == world.rules:
        return world
    texts = _texts(world.prompt, vocab_size=world.vocab_size, length=world.length)
    for laws in world.scratch:
        if laws is not None and rules.after(laws(texts).log(), prefixes(texts)).isnan().any():
            return None
    ruled = replace(world, rules=rules, faults={})
    law = enumerated(ruled.after, world.prompt, vocab_size=world.vocab_size, length=world.length)
    return replace(ruled, law=law)


def enumerated(laws: Laws, prompt: Prefix, *, vocab_size: int, length: int) -> Array:
    """Returns the law of all sequences of `length` tokens after the prompt, by their codes."""
    texts = _texts(prompt, vocab_size=vocab_size, length=length)
    rows = laws(texts[:, :-1])[:, len(prompt) - 1 :]
    each = rows.gather(2, texts[:, len(prompt) :].unsqueeze(2)).squeeze(2)
    return np.asarray(each.prod(1).numpy(), dtype=np.float64)


def _texts(prompt: Prefix, *, vocab_size: int, length: int) -> Tensor:
    """Returns the prompt and every sequence after it, int64 [vocab_size ** length, ...]."""
    codes = torch.arange(vocab_size**length)
    powers = vocab_size ** torch.arange(length - 1, -1, -1)
    tokens = codes[:, None] // powers % vocab_size
    return torch.cat([torch.tensor([prompt]).repeat(len(codes), 1), tokens], 1)
