"""Calls of a decoder, each checked: shape, ids, and that a row ends only where it may.

The generator of a call is a function of the seed, the world, the purpose and the number of the
call, so that a run can be repeated and no two calls share one.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterator
from typing import Any, cast

import torch
from torch import Tensor

from audit.errors import DraftproofError, SamplerError
from audit.harness.randomness import generator_for
from audit.samplers.decoders.interface import LoadedDecoder
from audit.samplers.worker.loading import named
from audit.state.world import World

MOST_ROWS = 2048
LEAST_CALLS = 4
_CPU = torch.device("cpu")
_INTEGERS = (torch.int64, torch.int32)


def call(
    decoder: LoadedDecoder,
    world: World,
    *,
    rows: int,
    generator: torch.Generator,
    length: int | None = None,
    prompts: Tensor | None = None,
    models: tuple[Any, ...] | None = None,
    **options: Any,
) -> Tensor:
    """Returns the emitted tokens of one call, int64 [rows, length], -1 after a stop token.

    Raises: SamplerError where the decoder raises, or breaks its contract.
    """
    length, decode = length or world.length, cast(Callable[..., Tensor], decoder.call)
    if "rules" in decoder.options:
        options["rules"] = world.rules
    try:
        tokens = decode(
            *(models or world.models),
            world.prompts(rows) if prompts is None else prompts,
            max_new_tokens=length,
            num_speculative_tokens=world.gamma,
            generator=generator,
            **options,
        )
    except DraftproofError:
        raise
    except Exception as error:
        detail = "".join(traceback.format_exception(error))
        raise SamplerError(f"the decoder raised {named(error)}", detail=detail) from error
    wrong = _complaint(tokens, (rows, length), world.vocab_size, options.get("stop_token_id"))
    if wrong:
        raise SamplerError(f"the decoder broke its contract: {wrong}.")
    return tokens.long()


def calls(
    decoder: LoadedDecoder,
    world: World,
    sequences: int,
    *,
    seed: int,
    purpose: str,
    **options: Any,
) -> Iterator[Tensor]:
    """Yields the tokens of as many calls as `sequences` take, each with its own generator.

    There are several calls where several rows are wanted, since calls too must be independent.
    """
    most = min(decoder.facts.max_batch or MOST_ROWS, MOST_ROWS, -(-sequences // LEAST_CALLS))
    for number, start in enumerate(range(0, sequences, most)):
        generator = generator_for(seed, world.id, purpose, number, device=_CPU)
        rows = min(most, sequences - start)
        yield call(decoder, world, rows=rows, generator=generator, **options)


def _complaint(tokens: object, shape: tuple[int, int], vocab_size: int, stop: object) -> str:
    """Returns what is wrong with the tokens of a call, "" where nothing is."""
    if not isinstance(tokens, Tensor):
        return f"it returned {type(tokens).__name__} in place of a tensor"
    if tokens.ndim == 2 and len(tokens) == shape[0] and tokens.shape[1] > shape[1]:
        return f"it emitted {tokens.shape[1]} tokens where at most {shape[1]} were asked for"
    if tokens.dtype not in _INTEGERS or tuple(tokens.shape) != shape:
        found = f"{tokens.dtype} {list(tokens.shape)}"
        return f"it returned {found} in place of int64 {list(shape)}"
    if bool(((tokens < -1) | (tokens >= vocab_size)).any()):
        return f"it returned {int(tokens.min())} to {int(tokens.max())} as ids of {vocab_size}"
    return _first_open_row(tokens, stop)


def _first_open_row(tokens: Tensor, stop: object) -> str:
    """Returns what is wrong with the first row that ends early or goes on after its end."""
    for number, row in enumerate(tokens.tolist()):
        end = row.index(-1) if -1 in row else len(row)
        if any(token >= 0 for token in row[end:]):
            return f"row {number} is {row}: it goes on after -1"
        if end < len(row) and (stop is None or stop not in row[:end]):
            return f"row {number} is {row}: it has {end} of {len(row)} tokens and no stop token"
    return ""
