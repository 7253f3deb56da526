"""A table model in the other forms that decode loops ask for.

`as_function` for loops that hand over the whole text; `CachedFunction` for `(ids, cache) ->
(logits, cache)`; `PositionTable` for models that keep their state themselves and are told the
positions of the tokens of a call, which is how a preallocated key-value cache works.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from audit.samplers.models.table import TableModel, TokenCache


def as_function(model: TableModel) -> Callable[[Tensor], Tensor]:
    """Returns `(ids [batch, length]) -> logits [batch, length, vocab]`, without any state.

    One row of ids, [length], gives one row of logits, [length, vocab].
    """

    def logits(ids: Tensor) -> Tensor:
        return model.rows_after(ids) if ids.ndim == 2 else model.rows_after(ids[None])[0]

    return logits


class CachedFunction:
    """`(ids [batch, tokens], cache or None) -> (logits [batch, tokens, vocab], cache)`."""

    def __init__(self, model: TableModel) -> None:
        self._model = model

    def __call__(self, ids: Tensor, cache: TokenCache | None = None) -> tuple[Tensor, TokenCache]:
        """Returns the logits after the tokens of the call, and the cache that now holds them."""
        output = self._model(ids, past_key_values=cache, use_cache=True)
        return output.logits, output.past_key_values


class PositionTable(torch.nn.Module):
    """`(ids [batch, tokens], positions [tokens]) -> logits [batch, tokens, vocab]`, with a state.

    A token is written at its position, over what stood there. What stands before a position is
    its context, written in this round or long ago; later positions do not count. A loop that
    counts its positions wrongly therefore reads another text than it emitted.
    """

    held: Tensor

    def __init__(self, model: TableModel, *, batch: int = 1, capacity: int = 64) -> None:
        super().__init__()
        self._model = model
        self.register_buffer("held", torch.full((batch, capacity), -1, dtype=torch.int64))

    def reset(self) -> None:
        """Forgets everything."""
        self.held.fill_(-1)

    def forward(self, ids: Tensor, positions: Tensor) -> Tensor:
        """Returns the logits after every token; places that were never written do not count."""
        self.held[:, positions] = ids
        read = self.held[:, : int(positions.max()) + 1]
        return self._model.rows_after(read.clamp(min=0), read >= 0)[:, positions]
