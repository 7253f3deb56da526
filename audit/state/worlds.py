"""The worlds in which a decode loop runs, made from cases or from transformers' architectures.

A table world has the rows of a case, and with them the law of every state fault. A tiny world has
real architectures with real key-value caches; its law comes from one forward of all sequences
without a cache, and no law of a fault is known.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import torch
from torch import Tensor

from audit.case import Case, Prefix, Rows
from audit.errors import UsageError
from audit.exact.state_faults import CHANGING
from audit.exact.state_laws import sequence_law, state_law, table_of
from audit.samplers.adapters.packages import TRANSFORMERS
from audit.samplers.decoders.interface import REAL, LoadedDecoder, ModelForm
from audit.samplers.models.callables import CachedFunction, PositionTable, as_function
from audit.samplers.models.table import TableModel
from audit.state.world import Array, Laws, World, enumerated

_MODELS = "audit.samplers.models.transformers_models"  # imports transformers
PROMPT: Prefix = (1,)  # the shipped cases show most state faults after it
LARGEST_LAW = 4096  # cells
TINY_VOCABULARY = 8
_ROUNDING = 2.0**-20  # of one row of a table, in float32


def length_for(gamma: int) -> int:
    """Returns the tokens to follow: at least 3, and more than one round can emit."""
    return max(3, gamma + 2)


def table_world(
    case: Case, decoder: LoadedDecoder, *, length: int | None = None, prompt: Prefix = PROMPT
) -> World:
    """Returns the world of a case.

    Raises:
        UsageError: the case drafts trees, or its law has too many cells.
        CaseError: a row that can be reached is missing.
    """
    if case.tree is not None:
        raise UsageError(f'case "{case.id}" drafts a tree; decode loops are audited on chains.')
    if decoder.facts.models in REAL:
        raise UsageError(f"{decoder.name} takes real models; name an --architecture, no case.")
    length = length or length_for(case.num_speculative_tokens)
    _refuse_large(case.vocab_size, length, of=f'case "{case.id}"')
    _refuse_foreign(prompt, case.vocab_size, of=f'case "{case.id}"')
    shape = {"length": length, "prompt": prompt}
    faults = () if decoder.facts.lookup else CHANGING

    def table(law: Mapping[Prefix, Any]) -> Array:
        return table_of(law, vocab_size=case.vocab_size, length=length)

    size, form = case.vocab_size, decoder.facts.models
    target, draft = (TableModel(rows, size) for rows in (case.target, case.draft))
    return World(
        id=case.id,
        vocab_size=size,
        gamma=case.num_speculative_tokens,
        length=length,
        prompt=prompt,
        models=(_made(form, case.target, size), _made(form, case.draft, size)),
        logits=_logits_of(target),
        scratch=(_laws_of(target), _laws_of(draft)),
        law=table(sequence_law(case, **shape)),
        faults={
            name: table(state_law(case, name, shortened=decoder.facts.shortens, **shape))
            for name in faults
        },
        tolerance=length * _ROUNDING,
    )


def tiny_world(
    architecture: str,
    *,
    form: ModelForm = "transformers",
    gamma: int = 1,
    length: int | None = None,
    prompt: Prefix = PROMPT,
    vocab_size: int = TINY_VOCABULARY,
    seed: int = 0,
    dtype: torch.dtype = torch.float32,
) -> World:
    """Returns the world of two random models of one of transformers' architectures.

    form: "tokenized" for models with tokenizers and vocabularies of their own.

    Raises: UsageError where the law has too many cells.
    """
    length = length or length_for(gamma)
    _refuse_large(vocab_size, length, of=f"a world of {architecture}")
    _refuse_foreign(prompt, vocab_size, of=f"a world of {architecture}")
    target, draft = _tiny_models(architecture, form, vocab_size, seed=seed, dtype=dtype)
    laws = _laws_of(target)
    return World(
        id=f"tiny-{architecture}",
        vocab_size=vocab_size,
        gamma=gamma,
        length=length,
        prompt=prompt,
        models=(target, draft),
        logits=_logits_of(target),
        scratch=(laws, None if form == "tokenized" else _laws_of(draft)),
        law=enumerated(laws, prompt, vocab_size=vocab_size, length=length),
        faults={},
        tolerance=length * 8 * torch.finfo(dtype).eps,
        plain=partial(TRANSFORMERS.load(_MODELS).laws_by_token, target),
        dtype=dtype,
    )


def _tiny_models(
    architecture: str, form: ModelForm, vocab_size: int, *, seed: int, dtype: torch.dtype
) -> tuple[Any, Any]:
    tiny_model = TRANSFORMERS.load(_MODELS).tiny_model
    if form != "tokenized":
        target, draft = (tiny_model(architecture, vocab_size, seed=2 * seed + i) for i in range(2))
        return target.to(dtype), draft.to(dtype)
    texts = TRANSFORMERS.load("audit.samplers.models.tokenizers")

    def made(tokens: list[str], number: int) -> Any:
        model = tiny_model(architecture, len(tokens), seed=2 * seed + number)
        return model.to(dtype)

    target, draft = (
        texts.tokenized(partial(made, tokens, number), tokens)
        for number, tokens in enumerate(texts.vocabularies(vocab_size))
    )
    return target, draft


def _refuse_large(vocab_size: int, length: int, *, of: str) -> None:
    if vocab_size**length > LARGEST_LAW:
        raise UsageError(
            f"{of} has {vocab_size}^{length} sequences of {length} tokens, more than the limit of "
            f"{LARGEST_LAW}: choose a smaller vocabulary, fewer speculative tokens or --tokens."
        )


def _refuse_foreign(prompt: Prefix, vocab_size: int, *, of: str) -> None:
    if max(prompt, default=0) >= vocab_size:
        raise UsageError(
            f"{of} has the token ids 0 to {vocab_size - 1}, but the prompt holds {max(prompt)}: "
            "give another --prompt."
        )


def _made(form: ModelForm, rows: Rows, vocab_size: int) -> Any:
    """Returns a table model in the form that a decoder takes."""
    if form == "transformers":
        return TRANSFORMERS.load(_MODELS).TransformersTable(rows, vocab_size)
    model = TableModel(rows, vocab_size)
    if form == "module":
        return model
    if form == "positions":
        return PositionTable(model)
    return as_function(model) if form == "function" else CachedFunction(model)


def _logits_of(model: Any) -> Laws:
    def logits(ids: Tensor) -> Tensor:
        with torch.no_grad():
            return torch.as_tensor(model(ids).logits.double())

    return logits


def _laws_of(model: Any) -> Laws:
    logits = _logits_of(model)
    return lambda ids: logits(ids).softmax(2)
