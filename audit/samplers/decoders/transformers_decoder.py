"""transformers' assisted generation as a decoder, one row a call of `generate`.

`generate` draws from torch's global generator: it is seeded once for each call of ours, from our
generator, and put back afterwards. The draft length is held constant, for its schedules depend
on what was accepted before. All sampling rules are off.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from audit.samplers.batch import seed_from
from audit.samplers.decoders.interface import DecoderFacts

FACTS = DecoderFacts(models="transformers", max_batch=64, shortens=True)
_PLAIN = {"top_k": 0, "top_p": 1.0, "temperature": 1.0}


def assisted_generation(
    target: Any,
    draft: Any,
    prompt_ids: Tensor,
    *,
    max_new_tokens: int,
    num_speculative_tokens: int,
    generator: torch.Generator,
    stop_token_id: int | None = None,
    greedy: bool = False,
) -> Tensor:
    """Returns the tokens of `target.generate(assistant_model=draft)`, [batch, max_new_tokens]."""
    drafting = draft.generation_config
    drafting.num_assistant_tokens = num_speculative_tokens
    drafting.num_assistant_tokens_schedule = "constant"
    drafting.assistant_confidence_threshold = 0.0
    sampling = {"do_sample": False} if greedy else {"do_sample": True, **_PLAIN}
    tokens = prompt_ids.new_full((len(prompt_ids), max_new_tokens), -1)
    with torch.random.fork_rng(devices=[]), torch.no_grad():
        torch.manual_seed(seed_from(generator))
        for row, prompt in zip(tokens, prompt_ids.unsqueeze(1), strict=True):
            text = target.generate(
                prompt,
                attention_mask=torch.ones_like(prompt),
                assistant_model=draft,
                max_new_tokens=max_new_tokens,
                eos_token_id=stop_token_id,
                pad_token_id=stop_token_id,  # any other id would be masked as padding in the text
                **sampling,
            )
            emitted = text[0, prompt.shape[1] :]
            row[: len(emitted)] = emitted
    return tokens
