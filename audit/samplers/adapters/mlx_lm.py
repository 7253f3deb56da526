"""mlx-lm's speculative decoding, one prompt a call, with its sampler and its key-value cache.

The models handed over stand in the place of its own: the tokens of a call are kept as keys in a
real KVCache, and the law is that of the tokens that the cache gives back, so that what the package
trims decides what a model sees. It draws from MLX's global generator, seeded from ours once for
each call of ours.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor

from audit.errors import UsageError
from audit.samplers.adapters.packages import MLX_LM as PACKAGE
from audit.samplers.adapters.target import Target
from audit.samplers.batch import seed_from
from audit.samplers.decoders.interface import Decoder, DecoderFacts
from audit.samplers.decoders.rules import Rules
from audit.samplers.seeding import row_by_row

_STEP = ("prompt", "model", "draft_model", "stream")
_ASKED = ("max_tokens", "num_draft_tokens", "sampler")
_SAMPLER = ("temp", "top_p", "min_p", "min_tokens_to_keep", "top_k")
Logits = Callable[[Tensor], Tensor]


class Cached:
    """`(tokens [1, n], cache) -> logits [1, n, vocab]` in MLX, over a function of whole texts."""

    def __init__(self, logits: Logits, mlx: Any, cache_of: Callable[[], Any]) -> None:
        self._logits, self._mlx, self._cache_of = logits, mlx, cache_of

    def make_cache(self) -> list[Any]:
        """Returns an empty cache, of one layer."""
        return [self._cache_of()]

    def __call__(self, tokens: Any, cache: list[Any]) -> Any:
        """Returns the logits after each token, by all that the cache holds."""
        keys = tokens.astype(self._mlx.float32)[:, None, :, None]
        held, _ = cache[0].update_and_fetch(keys, keys)
        text = torch.from_numpy(np.array(held[:, 0, :, 0])).long()
        return self._mlx.array(self._logits(text)[:, -tokens.shape[1] :].numpy())


def speculative_generate_step() -> Decoder:
    """Returns `speculative_generate_step` as a decoder."""
    step = PACKAGE.function("mlx_lm.generate", "speculative_generate_step", _STEP, _ASKED)
    sampler_of = PACKAGE.function("mlx_lm.sample_utils", "make_sampler", _SAMPLER)
    cache_of = PACKAGE.function("mlx_lm.models.cache", "KVCache")
    mlx = PACKAGE.get("mlx_lm.generate", "mx")

    def decode(
        target: Logits,
        draft: Logits,
        prompt_ids: Tensor,
        *,
        max_new_tokens: int,
        num_speculative_tokens: int,
        generator: torch.Generator,
        greedy: bool = False,
        rules: Rules | None = None,
    ) -> Tensor:
        sampler = sampler_of(**_sampling(greedy, rules or Rules()))
        models = Cached(target, mlx, cache_of), Cached(draft, mlx, cache_of)
        asked = {"max_tokens": max_new_tokens, "num_draft_tokens": num_speculative_tokens}

        def one(prompt: Tensor) -> Tensor:
            text = step(mlx.array(prompt.numpy()), *models, sampler=sampler, **asked)
            return torch.tensor([token for token, *_ in text])

        mlx.random.seed(seed_from(generator))
        return row_by_row(one, prompt_ids, max_new_tokens)

    return decode


def _sampling(greedy: bool, rules: Rules) -> dict[str, Any]:
    """Returns the arguments of `make_sampler` for these rules.

    Raises: UsageError where their order decides, which is another one there.
    """
    cuts = {"top_k": rules.top_k, "top_p": rules.top_p, "min_p": rules.min_p}
    if rules.temperature != 1 and (rules.top_p < 1 or rules.min_p > 0):
        raise UsageError(
            f"mlx-lm cuts top_p and min_p before it applies temperature = {rules.temperature}, so "
            "the law of both is not the one that is audited; give one of them."
        )
    return {"temp": 0.0 if greedy else rules.temperature, **cuts}


TARGETS = (
    Target(
        name="mlx-lm",
        package=PACKAGE,
        calls="generate.speculative_generate_step",
        reads="two models, logits float32",
        draft_law="none",
        drafts="its own",
        bonus="included",
        randomness="MLX, global",
        facts=DecoderFacts(
            models="function",
            max_batch=64,
            shortens=True,
            rules=("temperature", "top_k", "top_p", "min_p"),
        ),
        load=speculative_generate_step,
    ),
)
