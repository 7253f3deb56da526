"""Decode loops and worlds that the tests of state evidence share."""

from __future__ import annotations

from typing import Any

import torch
from exact_instances import context_free, g2, i1
from torch import Tensor

from audit.case import Case
from audit.samplers.chain import chain, draw
from audit.samplers.decoders.interface import DecoderFacts, LoadedDecoder
from audit.samplers.decoders.loading import load_decoder
from audit.samplers.interface import StepBatch
from audit.state.worlds import World, table_world

OWN = LoadedDecoder("own", lambda *_: None, DecoderFacts(max_batch=None))  # type: ignore


def world_of(instance: Case | None = None, decoder: LoadedDecoder = OWN, **more: Any) -> World:
    """Returns the world of a case, I1 of the algorithm page by default."""
    return table_world(instance or i1(), decoder, **more)


def decoder_for(fault: str) -> LoadedDecoder:
    """Returns our own loop with a state fault, or the correct one."""
    return load_decoder("reference" if fault == "correct" else f"fault:{fault}")


def without_a_cache(
    target: Any,
    draft: Any,
    prompt_ids: Tensor,
    *,
    max_new_tokens: int,
    num_speculative_tokens: int,
    generator: torch.Generator,
) -> Tensor:
    """Decodes one row with functions of the whole text, as a loop without any cache does."""
    text = prompt_ids
    while text.shape[1] < prompt_ids.shape[1] + max_new_tokens:
        drafted, q = text, []
        for _ in range(num_speculative_tokens):
            q.append(draft(drafted)[:, -1].double().softmax(1))
            coin = torch.rand(1, dtype=torch.float64, generator=generator)
            drafted = torch.cat([drafted, draw(q[-1], coin).unsqueeze(1)], 1)
        p = target(drafted)[:, text.shape[1] - 1 :].double().softmax(2)
        new = drafted[:, text.shape[1] :]
        count = torch.tensor([num_speculative_tokens])
        tokens = chain(StepBatch(new, torch.stack(q, 1), p, count), generator)
        text = torch.cat([text, tokens[tokens >= 0].unsqueeze(0)], 1)
    return text[:, prompt_ids.shape[1] :][:, :max_new_tokens]


without_a_cache.draftproof = {"models": "function"}  # type: ignore[attr-defined]

__all__ = ["OWN", "context_free", "decoder_for", "g2", "i1", "without_a_cache", "world_of"]
