"""The seam between draftproof and a decode loop: two models in, emitted tokens out.

A decoder is a callable as `Decoder` says. Its attribute `draftproof`, a dict with the fields of
`DecoderFacts`, says which form of models it takes and how many rows a call. Two more keyword
arguments are used where its signature has them: `stop_token_id` ends a row after that token, and
`greedy=True` decodes the most probable tokens.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, get_args

import torch
from torch import Tensor

from audit.errors import UsageError
from audit.samplers.facts import nearest

ModelForm = Literal["module", "transformers", "function", "cached"]
Option = Literal["stop_token_id", "greedy"]


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
    a `transformers` model with `generate`, a `function` `(ids) -> logits` of whole texts, or a
    `cached` one, `(ids, cache) -> (logits, cache)`. max_batch: the most rows a call, None for any.
    shortens: it drafts fewer tokens where fewer can still be emitted.
    """

    models: ModelForm = "module"
    max_batch: int | None = 1
    shortens: bool = False


@dataclass(frozen=True)
class LoadedDecoder:
    """A decoder ready to be called. options: the keyword arguments that it takes besides."""

    name: str
    call: Decoder
    facts: DecoderFacts
    options: frozenset[str] = frozenset()
    identity: Mapping[str, str] = field(default_factory=dict)


def decoder_facts(given: object, *, name: str) -> DecoderFacts:
    """Returns the facts of the dict that a decoder carries.

    Raises: UsageError for an unknown key or a wrong value.
    """
    if not isinstance(given, Mapping):
        raise UsageError(f"{name}.draftproof is of type {type(given).__name__}; make it a dict.")
    for key, value in given.items():
        if key not in ("models", "max_batch"):
            unknown = nearest(key, ["models", "max_batch"])
            raise UsageError(f"{name}.draftproof has an unknown key {unknown}")
        if key == "models" and value not in get_args(ModelForm):
            raise UsageError(
                f"{name}.draftproof takes models as {nearest(value, get_args(ModelForm))}"
            )
        if key == "max_batch" and value is not None and (type(value) is not int or value < 1):
            raise UsageError(
                f"{name}.draftproof['max_batch'] is {value!r}; it must be a whole number from 1 "
                "on, or None."
            )
    return DecoderFacts(**given)
