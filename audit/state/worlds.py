"""The worlds in which a decode loop runs: two models, and the exact law of what it should emit.

A table world has the rows of a case, and with them the law of every state fault. A tiny world has
real architectures with real key-value caches; its law comes from one forward of all sequences
without a cache, and no law of a fault is known.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from audit.case import Case, Prefix, Rows
from audit.errors import UsageError
from audit.exact.state_faults import STATE_FAULTS
from audit.exact.state_laws import sequence_law, state_law, table_of
from audit.samplers.decoders.interface import LoadedDecoder, ModelForm
from audit.samplers.models.callables import CachedFunction, as_function
from audit.samplers.models.table import TableModel

Array = npt.NDArray[np.float64]
PROMPT: Prefix = (1,)  # the shipped cases show most state faults after it
LARGEST_LAW = 4096  # cells
TINY_VOCABULARY = 8
_ROUNDING = 2.0**-20  # of one row of a table, in float32


@dataclass(frozen=True, eq=False)
class World:
    """One world; laws are float64 [vocab_size ** length], by the codes of emitted sequences.

    models: target and draft in the form that the decoder takes. scratch: the same two as functions
    `ids [batch, length] -> laws [batch, length, vocab]` that have no state. faults: the law of each
    state fault, empty where none is known. tolerance: total variation due to arithmetic. plain:
    the target read one token a call, with its cache and no draft, where that may differ. dtype:
    that of the models.
    """

    id: str
    vocab_size: int
    gamma: int
    length: int
    prompt: Prefix
    models: tuple[Any, Any]
    scratch: tuple[Callable[[Tensor], Tensor], Callable[[Tensor], Tensor]]
    law: Array
    faults: Mapping[str, Array]
    tolerance: float
    plain: Callable[[Tensor], Tensor] | None = None
    dtype: torch.dtype = torch.float32

    def distance(self, fault: str) -> float:
        """Returns the total variation between the law of a state fault and the target's."""
        return float(np.abs(self.faults[fault] - self.law).sum()) / 2

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
    length = length or length_for(case.num_speculative_tokens)
    _refuse_large(case.vocab_size, length, of=f'case "{case.id}"')
    shape = {"length": length, "prompt": prompt}
    laws = {
        name: state_law(case, name, shortened=decoder.facts.shortens, **shape)
        for name, fault in STATE_FAULTS.items()
        if not fault.lossless
    }

    def table(law: Mapping[Prefix, Any]) -> Array:
        return table_of(law, vocab_size=case.vocab_size, length=length)

    size, form = case.vocab_size, decoder.facts.models
    return World(
        id=case.id,
        vocab_size=size,
        gamma=case.num_speculative_tokens,
        length=length,
        prompt=prompt,
        models=(_made(form, case.target, size), _made(form, case.draft, size)),
        scratch=(_laws_of(TableModel(case.target, size)), _laws_of(TableModel(case.draft, size))),
        law=table(sequence_law(case, **shape)),
        faults={name: table(law) for name, law in laws.items()},
        tolerance=length * _ROUNDING,
    )


def tiny_world(
    architecture: str,
    *,
    gamma: int = 1,
    vocab_size: int = TINY_VOCABULARY,
    seed: int = 0,
    dtype: torch.dtype = torch.float32,
) -> World:
    """Returns the world of two random models of one of transformers' architectures.

    Raises: UsageError where the law has too many cells.
    """
    from audit.samplers.models.transformers_models import laws_by_token, tiny_model

    length = length_for(gamma)
    _refuse_large(vocab_size, length, of=f"a world of {architecture}")
    target, draft = (
        tiny_model(architecture, vocab_size, seed=2 * seed + i).to(dtype) for i in range(2)
    )
    return World(
        id=f"tiny-{architecture}",
        vocab_size=vocab_size,
        gamma=gamma,
        length=length,
        prompt=PROMPT,
        models=(target, draft),
        scratch=(_laws_of(target), _laws_of(draft)),
        law=_enumerated(_laws_of(target), vocab_size, length),
        faults={},
        tolerance=length * 8 * torch.finfo(dtype).eps,
        plain=partial(laws_by_token, target),
        dtype=dtype,
    )


def _refuse_large(vocab_size: int, length: int, *, of: str) -> None:
    if vocab_size**length > LARGEST_LAW:
        raise UsageError(
            f"{of} has {vocab_size}^{length} sequences of {length} tokens, more than the limit of "
            f"{LARGEST_LAW}: choose a smaller vocabulary, fewer speculative tokens or --tokens."
        )


def _made(form: ModelForm, rows: Rows, vocab_size: int) -> Any:
    """Returns a table model in the form that a decoder takes."""
    if form == "transformers":
        from audit.samplers.models.transformers_models import TransformersTable

        return TransformersTable(rows, vocab_size)
    model = TableModel(rows, vocab_size)
    if form == "module":
        return model
    return as_function(model) if form == "function" else CachedFunction(model)


def _laws_of(model: Any) -> Callable[[Tensor], Tensor]:
    def laws(ids: Tensor) -> Tensor:
        with torch.no_grad():
            return torch.as_tensor(model(ids).logits.double().softmax(2))

    return laws


def _enumerated(laws: Callable[[Tensor], Tensor], vocab_size: int, length: int) -> Array:
    """Returns the law of all sequences after the prompt, by their codes."""
    codes = torch.arange(vocab_size**length)
    powers = vocab_size ** torch.arange(length - 1, -1, -1)
    tokens = codes[:, None] // powers % vocab_size
    prompt = torch.tensor([PROMPT]).repeat(len(codes), 1)
    rows = laws(torch.cat([prompt, tokens], 1)[:, :-1])[:, len(PROMPT) - 1 :]
    each = rows.gather(2, tokens.unsqueeze(2)).squeeze(2)
    return np.asarray(each.prod(1).numpy(), dtype=np.float64)
