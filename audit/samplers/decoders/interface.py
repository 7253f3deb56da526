"""The seam between draftproof and a decode loop: two models in, emitted tokens out.

A decoder is a callable as `Decoder` says. Its attribute `draftproof`, a dict with the fields of
`DecoderFacts`, says which form of models it takes and how many rows a call. More keyword arguments
are used where its signature has them:

- `stop_token_id` ends a row after that token;
- `greedy=True` decodes the most probable tokens;
- `rules`, a `Rules`, holds the sampling rules in force, of those that its facts list;
- `logprobs`, float64 [batch, max_new_tokens], holds 1 and is to be filled with the logarithm of
  the probability of every emitted token, after all rules; nothing behind the end of a row.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, get_args

import torch
from torch import Tensor

from audit.errors import UsageError
from audit.samplers.decoders.rules import RULES
from audit.samplers.facts import nearest

ModelForm = Literal[
    "module", "transformers", "weights", "tokenized", "function", "cached", "positions"
]
REAL: tuple[ModelForm, ...] = ("weights", "tokenized")  # no table stands in for such models
Offer = Literal["stop_token_id", "greedy", "rules", "logprobs"]
OFFERS: frozenset[str] = frozenset(get_args(Offer))


class Decoder(Protocol):
    """A whole decode loop."""

    def __call__(
        self,
        target: Any,
        draft: Any,
        prompt_ids: Tensor,
        *,
        max_new_tokens: int,
        num_speculative_tokens: int,
        generator: torch.Generator,
    ) -> Tensor:
        """Returns the emitted tokens of every prompt, int64 [batch, max_new_tokens].

        target and draft: models in the form that the decoder declares, never to be written to.
        prompt_ids int64 [batch, length], of equal length. Rows are independent, and all
        randomness comes from `generator`. A row is full, or ends with the stop token and -1.
        """
        ...


@dataclass(frozen=True)
class DecoderFacts:
    """What a decoder says about itself.

    models: the form it takes: a torch `module` with the forward signature of transformers' models,
    a `transformers` model with `generate`, one of these with `weights`, of a real architecture,
    two `tokenized` ones of these with a `tokenizer` each and different vocabularies, a `function`
    `(ids) -> logits` of whole texts, a `cached` one, `(ids, cache) -> (logits, cache)`, or one with
    its own state by `positions`, `(ids, positions) -> logits`, one row a call. max_batch: the most
    rows a call, None for any. shortens: it drafts fewer tokens where fewer can still be emitted.
    lookup: it drafts from the text and asks no draft model. rules: the sampling rules that it
    applies.
    """

    models: ModelForm = "module"
    max_batch: int | None = 1
    shortens: bool = False
    lookup: bool = False
    rules: tuple[str, ...] = ()


@dataclass(frozen=True)
class LoadedDecoder:
    """A decoder ready to be called. options: which of the further keyword arguments it takes."""

    name: str
    call: Decoder
    facts: DecoderFacts
    options: frozenset[str] = frozenset()
    identity: Mapping[str, str] = field(default_factory=dict)


_WANTED = {
    "models": f"one of {', '.join(get_args(ModelForm))}",
    "max_batch": "a whole number from 1 on, or None",
    "shortens": "True or False",
    "lookup": "True or False",
    "rules": f"a list of any of {', '.join(RULES)}",
}


def decoder_facts(given: object, *, name: str) -> DecoderFacts:
    """Returns the facts of the dict that a decoder carries.

    Raises: UsageError for an unknown key or a wrong value.
    """
    if not isinstance(given, Mapping):
        raise UsageError(f"{name}.draftproof is of type {type(given).__name__}; make it a dict.")
    for key, value in given.items():
        if key not in _WANTED:
            raise UsageError(f"{name}.draftproof has an unknown key {nearest(key, _WANTED)}")
        if not _fits(key, value):
            raise UsageError(f"{name}.draftproof[{key!r}] is {value!r}; it must be {_WANTED[key]}.")
    if given.get("models") == "positions" and given.get("max_batch", 1) != 1:
        raise UsageError(f"{name} takes models with one state; its max_batch must be 1.")
    return DecoderFacts(**{**given, "rules": tuple(given.get("rules", ()))})


def _fits(key: str, value: Any) -> bool:
    if key == "models":
        return value in get_args(ModelForm)
    if key == "max_batch":
        return value is None or (type(value) is int and value >= 1)
    if key == "rules":
        return isinstance(value, list | tuple) and all(one in RULES for one in value)
    return isinstance(value, bool)
