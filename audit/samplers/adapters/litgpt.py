"""litgpt's speculative decoding: `generate` as a whole, its step in a loop of ours, and alone.

Models are handed over in the place of its GPT: told tokens and their positions, they keep both as
a preallocated key-value cache does, and answer by what is held up to a position. It draws from
torch's global generator. `generate` counts the prompt and the token drawn before the first round
into its limit, so that it is asked for one token more than is kept.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from audit.samplers.adapters.packages import LITGPT as PACKAGE
from audit.samplers.adapters.target import Target
from audit.samplers.decoders.interface import Decoder, DecoderFacts
from audit.samplers.decoders.rules import Rules
from audit.samplers.seeding import row_by_row, seeded
from audit.samplers.stepping.interface import StepSampler
from audit.samplers.two_model import step_sampler_of

_MODULE = "litgpt.generate.speculative_decoding"
_GENERATE = (
    *("draft_model", "target_model", "prompt", "max_returned_tokens", "temperature", "top_k"),
    *("top_p", "stop_tokens", "include_prompt", "speculative_k"),
)
_STEP = (
    *("draft_model", "target_model", "token", "input_pos", "input_pos_maxp1", "speculative_k"),
)
Logits = Callable[[Tensor], Tensor]


class Positioned(torch.nn.Module):
    """`(idx [1, tokens], input_pos [tokens]) -> logits [1, tokens, vocab]`, as litgpt calls it.

    logits: gives those after every token of a whole text, [1, length, vocab].
    """

    held: Tensor

    def __init__(self, logits: Logits, capacity: int) -> None:
        super().__init__()
        self.max_seq_length, self._logits = capacity, logits
        self.register_buffer("held", torch.zeros(capacity, dtype=torch.int64))

    def forward(self, idx: Tensor, input_pos: Tensor, input_pos_maxp1: int | None = None) -> Tensor:
        """Returns the logits at these positions, by all that is held up to each."""
        self.held[input_pos] = idx[0]
        text = self.held[: int(input_pos[-1]) + 1]
        return self._logits(text.unsqueeze(0))[:, input_pos]


def generate() -> Decoder:
    """Returns `generate` as a decoder."""
    run = PACKAGE.function(_MODULE, "generate", _GENERATE)

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
        limit = prompt_ids.shape[1] + max_new_tokens + 1
        kept, sampling = limit + num_speculative_tokens, _sampling(greedy, rules)

        def one(prompt: Tensor) -> Tensor:
            models = Positioned(draft, kept), Positioned(target, kept)
            more = {"include_prompt": False, "speculative_k": num_speculative_tokens}
            tokens: Tensor = run(*models, prompt, limit, **more, **sampling)[0]
            return tokens

        with seeded(generator):
            return row_by_row(one, prompt_ids, max_new_tokens)

    return decode


def steps() -> Decoder:
    """Returns `speculative_decoding`, called round after round, as a decoder."""
    step = PACKAGE.function(_MODULE, "speculative_decoding", _STEP)

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
        gamma, sampling = num_speculative_tokens, _sampling(greedy, rules)

        def one(prompt: Tensor) -> Tensor:
            kept = len(prompt) + max_new_tokens + gamma + 1
            models = Positioned(draft, kept), Positioned(target, kept)
            _prefill(models, prompt[:-1])
            text = prompt
            while len(text) < len(prompt) + max_new_tokens:
                place = torch.tensor([len(text) - 1])
                new = step(*models, text[-1:], place, len(text), gamma, **sampling)
                text = torch.cat([text, new])
            return text[len(prompt) :]

        with seeded(generator):
            return row_by_row(one, prompt_ids, max_new_tokens)

    return decode


def one_step() -> StepSampler:
    """Returns `speculative_decoding` as a step sampler."""
    step = PACKAGE.function(_MODULE, "speculative_decoding", _STEP)

    def two_model(target: Logits, draft: Logits, prefix: Tensor, gamma: int) -> Tensor:
        size = len(prefix)
        models = Positioned(draft, size + gamma), Positioned(target, size + gamma)
        _prefill(models, prefix[:-1])
        tokens: Tensor = step(*models, prefix[-1:], torch.tensor([size - 1]), size, gamma)
        return tokens

    return step_sampler_of(two_model, declares=("ratio",))


def _prefill(models: tuple[Positioned, Positioned], tokens: Tensor) -> None:
    for model in models:
        if len(tokens):
            model(tokens.unsqueeze(0), torch.arange(len(tokens)))


def _sampling(greedy: bool, rules: Rules | None) -> dict[str, Any]:
    """Returns the arguments that ask litgpt for these sampling rules."""
    rules = rules or Rules()
    temperature = 0.0 if greedy else rules.temperature
    return {"temperature": temperature, "top_k": rules.top_k or None, "top_p": rules.top_p}


_FACTS = DecoderFacts(
    models="function", max_batch=64, shortens=True, rules=("temperature", "top_k", "top_p")
)


def _target(
    name: str,
    function: str,
    load: Callable[[], Decoder],
    step: Callable[[], StepSampler] | None = None,
) -> Target:
    return Target(
        name=name,
        package=PACKAGE,
        calls=f"generate.speculative_decoding.{function}",
        reads="two models, logits float32",
        draft_law="its own",
        drafts="its own",
        bonus="included",
        randomness="torch, global",
        facts=_FACTS,
        load=load,
        step=step,
    )


TARGETS = (
    _target("litgpt", "generate", generate),
    _target("litgpt-step", "speculative_decoding", steps, one_step),
)
