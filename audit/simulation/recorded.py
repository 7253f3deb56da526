"""Traces of our own rules and faults: rounds over random contexts, each seen once.

Target logits are normal with a deviation of 1.5; draft logits are the target's with normal noise
added, so that about half of the drafted tokens pass the ratio test.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import torch

from audit.samplers.interface import StepBatch
from audit.samplers.rules import sampler_of
from audit.tracefile.rounds import Round
from audit.tracefile.rows import Array, Row

_SHARPNESS = 1.5
_BATCH = 64


def recorded(
    rule: str, *, vocab_size: int, gamma: int = 3, seed: int = 0, noise: float = 1.0
) -> Iterator[Round]:
    """Yields rounds without end: what a rule or fault of the catalogue emits, and all rows."""
    sampler, numbers = sampler_of(rule), np.random.default_rng(seed)
    generator = torch.Generator().manual_seed(seed)
    gammas = torch.full((_BATCH,), gamma)
    while True:
        logits = _SHARPNESS * numbers.normal(size=(_BATCH, gamma + 1, vocab_size))
        moved = logits[:, :gamma] + noise * numbers.normal(size=(_BATCH, gamma, vocab_size))
        target, draft = softmax(logits), softmax(moved)
        below = draft.cumsum(axis=2) < numbers.random((_BATCH, gamma, 1))
        drafted = below.sum(axis=2).clip(max=vocab_size - 1)
        ids, q, p = map(torch.from_numpy, (drafted, draft, target))
        emitted = sampler(StepBatch(ids, q, p, gammas), generator)
        rows = (emitted[0] if isinstance(emitted, tuple) else emitted).numpy()
        for i, tokens in enumerate(rows):
            laws, drafting = tuple(map(Row, target[i])), tuple(map(Row, draft[i]))
            yield Round(drafted[i], tokens[tokens >= 0], laws, drafting)


def softmax(logits: Array) -> Array:
    """Returns the laws of these logits, along the last axis."""
    weights = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return np.asarray(weights / weights.sum(axis=-1, keepdims=True))
