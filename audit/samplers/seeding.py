"""What loops over single rows share: torch seeded for a call, rows decoded one after another."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import torch
from torch import Tensor

from audit.samplers.batch import seed_from


@contextmanager
def seeded(generator: torch.Generator) -> Iterator[None]:
    """Seeds torch's global generator from ours, and puts it back afterwards."""
    with torch.random.fork_rng(devices=[]), torch.no_grad():
        torch.manual_seed(seed_from(generator))
        yield


def row_by_row(decode: Callable[[Tensor], Tensor], prompt_ids: Tensor, length: int) -> Tensor:
    """Returns the texts of all prompts, int64 [batch, length], -1 after the end of one.

    decode: makes the new tokens, int64 [any number], after one prompt [length of the prompt].
    """
    tokens = prompt_ids.new_full((len(prompt_ids), length), -1)
    for row, prompt in zip(tokens, prompt_ids, strict=True):
        emitted = decode(prompt)[:length]
        row[: len(emitted)] = emitted
    return tokens
