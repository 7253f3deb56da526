"""What a decode loop asks its models, call by call: tokens handed over, what the state held, laws.

Hooks on a torch module read the arguments and the output of every forward; a function is handed
over wrapped. A loop is watched one sequence at a time. An attention mask of two dimensions says
which entries count; one of another shape, as for draft trees, is not read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any, Literal, NamedTuple

import torch
from torch import Tensor

Side = Literal["target", "draft"]
SIDES: tuple[Side, Side] = ("target", "draft")


class Call(NamedTuple):
    """One forward of one sequence.

    held: the tokens that counted in the state before it. tokens: those of the call that count.
    laws: float64 [vocab] after each of these, None where the model was not asked for it. position:
    the position id of the first of them, where ids were handed over. readable: it was of one
    sequence, with a mask of two dimensions and a cache that tells its length.
    """

    side: Side
    held: int = 0
    tokens: tuple[int, ...] = ()
    laws: tuple[Tensor | None, ...] = ()
    position: int | None = None
    readable: bool = True


@contextmanager
def watched(models: Sequence[Any]) -> Iterator[tuple[tuple[Any, ...], list[Call]]]:
    """Yields the models to hand over and the list that their calls are added to, in order.

    models: target and draft.
    """
    calls: list[Call] = []
    readers = [_Reader(side, calls) for side in SIDES]
    with ExitStack() as stack:
        handed = tuple(
            _hooked(model, reader, stack)
            if isinstance(model, torch.nn.Module)
            else reader.of(model)
            for model, reader in zip(models, readers, strict=True)
        )
        yield handed, calls


def _hooked(model: torch.nn.Module, reader: _Reader, stack: ExitStack) -> torch.nn.Module:
    before = model.register_forward_pre_hook(reader.before, with_kwargs=True)
    after = model.register_forward_hook(reader.after, with_kwargs=True)
    for handle in (before, after):
        stack.callback(handle.remove)
    return model


class _Reader:
    """Reads the calls of one model. A state grows during a call, so its length is read before."""

    def __init__(self, side: Side, calls: list[Call]) -> None:
        self._side, self._calls, self._held = side, calls, 0

    def of(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Returns `(ids) -> logits` or `(ids, cache) -> (logits, cache)`, read at every call."""

        def call(ids: Tensor, *cache: Any) -> Any:
            held = _length(cache[0] if cache else None)
            output = function(ids, *cache)
            logits = output[0] if isinstance(output, tuple) else output
            tokens, logits = (ids, logits) if ids.ndim == 2 else (ids[None], logits[None])
            self._read(held, tokens, logits, {})
            return output

        return call

    def before(self, _: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> None:
        cache = kwargs.get("cache")
        cache = kwargs.get("past_key_values") if cache is None else cache
        self._held = _length(cache)

    def after(self, _: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any], output: Any) -> None:
        if isinstance(output, Tensor):  # a model that is told positions and keeps its own state
            self._read(int(args[1].min()), args[0], output, {})
            return
        tokens = args[0] if args else kwargs["input_ids"]
        self._read(self._held, tokens, output.logits, kwargs)

    def _read(self, held: int, tokens: Tensor, logits: Tensor, kwargs: Mapping[str, Any]) -> None:
        counts = _counts(kwargs.get("attention_mask"), max(held, 0) + tokens.shape[1])
        if len(tokens) != 1 or counts is None or held < 0:
            self._calls.append(Call(self._side, readable=False))
            return
        places = counts[held:].nonzero().squeeze(1).tolist()
        laws, positions = logits[0].detach().double().softmax(1), kwargs.get("position_ids")
        missing = tokens.shape[1] - len(laws)
        self._calls.append(
            Call(
                side=self._side,
                held=int(counts[:held].sum()),
                tokens=tuple(tokens[0, places].tolist()),
                laws=tuple(laws[i - missing] if i >= missing else None for i in places),
                position=None if positions is None or not places else int(positions[0, places[0]]),
            )
        )


def _length(cache: Any) -> int:
    """Returns the length of a cache, 0 for none and -1 where it does not tell."""
    if cache is None:
        return 0
    told = getattr(cache, "get_seq_length", None)
    return -1 if told is None else int(told())


def _counts(mask: Tensor | None, length: int) -> Tensor | None:
    """Returns which entries count, bool [length]: all of them where the mask is not about these."""
    if mask is not None and mask.ndim != 2:
        return None
    if mask is None or mask.shape[1] != length:
        return torch.ones(length, dtype=torch.bool)
    return mask[0].bool()
