"""A torch module with a language model's interface whose conditional law is a case's rows.

The context of a position is what the model's state holds: the tokens in the cache that it is
handed, then those of the call up to the position. The text is never looked at, so that a state
that was not rolled back shows in the logits. Positions that the attention mask hides do not count,
as in a batch whose rows have unequal lengths; without a cache the call's own tokens are all there
is. A row is decided by its last tokens (`Rows.reach`), so a text may go on for any number of
rounds.

The context of every prompt is the prompt itself: the first row after prompt [0] is that after
prefix (0,).
"""

from __future__ import annotations

import itertools
from typing import Any, NamedTuple

import torch
from torch import Tensor

from audit.case import Prefix, Rows
from audit.errors import UsageError

LARGEST_TABLE = 2**22  # entries of the table of logits


class ModelOutput(NamedTuple):
    """What a call returns: logits [batch, tokens of the call, vocab] and the cache, if any."""

    logits: Tensor
    past_key_values: Any = None

    @property
    def cache(self) -> Any:
        """The cache under its newer name."""
        return self.past_key_values


class TokenCache:
    """The tokens that a model has read, int64 [batch, length]: what stands in for keys and values.

    >>> cache = TokenCache()
    >>> cache.update(torch.tensor([[1, 2, 3]])).tolist()
    [[1, 2, 3]]
    >>> cache.crop(-1)
    >>> cache.get_seq_length()
    2
    """

    def __init__(self) -> None:
        self.tokens: Tensor | None = None

    def update(self, tokens: Tensor) -> Tensor:
        """Adds the tokens of a call, [batch, tokens], and returns all that are held."""
        held = tokens if self.tokens is None else torch.cat([self.tokens, tokens], dim=1)
        self.tokens = held
        return held

    def get_seq_length(self) -> int:
        """Returns the number of tokens held."""
        return 0 if self.tokens is None else self.tokens.shape[1]

    def crop(self, length: int) -> None:
        """Keeps the first `length` tokens; a negative one is the number of tokens to remove."""
        if self.tokens is not None and length != 0:
            self.tokens = self.tokens[:, :length]


class TableModel(torch.nn.Module):
    """A model over the rows of a case; a row's zeros are logits of minus infinity.

    Raises:
        UsageError: the table of all contexts is too large.
        CaseError: a context has no row.
    """

    following: Tensor

    def __init__(self, rows: Rows, vocab_size: int, *, dtype: torch.dtype = torch.float32) -> None:
        super().__init__()
        self.vocab_size = vocab_size
        contexts = _contexts(rows, vocab_size)
        probabilities = torch.tensor([rows[one].floats().tolist() for one in contexts])
        logits = probabilities.double().log().to(dtype)
        self.logits = torch.nn.Parameter(logits, requires_grad=False)  # loops ask for its device
        self.register_buffer("following", _following(contexts, rows.reach, vocab_size))

    def forward(
        self,
        input_ids: Tensor,
        attention_mask: Tensor | None = None,
        past_key_values: Any = None,
        position_ids: Tensor | None = None,
        use_cache: bool | None = None,
    ) -> ModelOutput:
        """Returns the logits after every token of the call and the cache with these tokens added.

        input_ids int64 [batch, tokens]; attention_mask [batch, held tokens + tokens], 0 for what
        does not count. A cache is made where `use_cache` asks for one. Positions say nothing.
        """
        cache = past_key_values
        if cache is None and use_cache:
            cache = TokenCache()
        held = input_ids if cache is None else cache.update(input_ids)
        return ModelOutput(self.rows_after(held, attention_mask)[:, -input_ids.shape[1] :], cache)

    def rows_after(self, tokens: Tensor, attention_mask: Tensor | None = None) -> Tensor:
        """Returns the logits after every token, [batch, length, vocab], as if read from scratch."""
        counts = None if attention_mask is None else attention_mask.bool()
        context = torch.zeros_like(tokens[:, 0])
        contexts = []
        for place in range(tokens.shape[1]):
            after = self.following[context, tokens[:, place]]
            context = after if counts is None else torch.where(counts[:, place], after, context)
            contexts.append(context)
        return self.logits[torch.stack(contexts, 1)]


def _contexts(rows: Rows, vocab_size: int) -> list[Prefix]:
    """Returns the contexts that rows can tell apart, the empty one first."""
    size = sum(vocab_size**length for length in range(rows.reach + 1))
    if size * vocab_size > LARGEST_TABLE:
        raise UsageError(
            f"a model over {size} contexts of {vocab_size} tokens needs {size * vocab_size} "
            f"logits, more than the limit of {LARGEST_TABLE}: choose a case with a smaller "
            "vocabulary or shorter prefixes."
        )
    lengths = range(rows.reach + 1)
    return [c for n in lengths for c in itertools.product(range(vocab_size), repeat=n)]


def _following(contexts: list[Prefix], reach: int, vocab_size: int) -> Tensor:
    """Returns the number of the context after each context and token, int64 [contexts, vocab]."""
    number = {context: i for i, context in enumerate(contexts)}
    after = [
        [number[_ending((*context, token), reach)] for token in range(vocab_size)]
        for context in contexts
    ]
    return torch.tensor(after)


def _ending(context: Prefix, reach: int) -> Prefix:
    return context[max(len(context) - reach, 0) :]
