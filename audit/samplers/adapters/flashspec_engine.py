"""flashspec's engine, one prompt a call: its drafter, target and caches on models handed over.

One model drafter with a fixed draft length: the engine's own choice of drafters is about speed.
Without a seed it draws from torch's global generator. The models keep real caches of transformers.
"""

from __future__ import annotations

import logging
from typing import Any

import torch
from torch import Tensor

from audit.samplers.adapters.packages import FLASHSPEC as PACKAGE
from audit.samplers.adapters.target import Target
from audit.samplers.decoders.interface import Decoder, DecoderFacts
from audit.samplers.decoders.rules import Rules
from audit.samplers.seeding import row_by_row, seeded

_ENGINE = "flashspec.engine.speculative"
_CONFIG = "flashspec.utils.config"
_MADE_OF = ("config", "drafters", "target")
_NAMED = ("model_name_or_path", "device")
_GENERATE = ("self", "input_ids", "max_new_tokens", "eos_token_ids")


def generate() -> Decoder:
    """Returns `SpeculativeEngine.generate` as a decoder."""
    engine_of = PACKAGE.function(_ENGINE, "SpeculativeEngine", _MADE_OF, ["arms"])
    PACKAGE.checked(getattr(engine_of, "generate", None), "SpeculativeEngine.generate", _GENERATE)
    config_of = PACKAGE.function(_CONFIG, "FlashSpecConfig", (), ("device", "sampling", "bandit"))
    sampling_of = PACKAGE.function(_CONFIG, "SamplingConfig", (), ("temperature", "top_p", "gamma"))
    arm_of = PACKAGE.function("flashspec.engine.arms", "ArmSpec", ("drafter", "gamma"))
    drafter_of = PACKAGE.function(
        "flashspec.engine.hf_drafter", "HuggingFaceDrafter", _NAMED, ("temperature", "model")
    )
    target_of = PACKAGE.function(
        "flashspec.engine.verifier", "TargetModel", (*_NAMED, "dtype"), ["model"]
    )
    logging.getLogger("flashspec").setLevel(logging.ERROR)

    def decode(
        target: Any,
        draft: Any,
        prompt_ids: Tensor,
        *,
        max_new_tokens: int,
        num_speculative_tokens: int,
        generator: torch.Generator,
        stop_token_id: int | None = None,
        greedy: bool = False,
        rules: Rules | None = None,
    ) -> Tensor:
        rules, gamma = rules or Rules(), num_speculative_tokens
        temperature = 0.0 if greedy else rules.temperature
        stops = () if stop_token_id is None else (stop_token_id,)

        sampling = sampling_of(temperature=temperature, top_p=rules.top_p, gamma=gamma)
        engine = engine_of(
            config_of(device="cpu", sampling=sampling, bandit={"n_arms": 1}),
            [drafter_of("draft", "cpu", temperature=temperature, model=draft)],
            target_of("target", torch.device("cpu"), torch.float32, model=target),
            arms=[arm_of(0, gamma)],
        )

        def one(prompt: Tensor) -> Tensor:
            done = engine.generate(prompt.unsqueeze(0), max_new_tokens, stops)
            emitted: Tensor = done.output_ids[0]
            return emitted

        with seeded(generator):
            return row_by_row(one, prompt_ids, max_new_tokens)

    return decode


TARGETS = (
    Target(
        name="flashspec-engine",
        package=PACKAGE,
        calls="engine.speculative.SpeculativeEngine.generate",
        reads="two models, logits float32",
        draft_law="its own",
        drafts="its own",
        bonus="included",
        randomness="torch, global",
        facts=DecoderFacts(models="transformers", max_batch=64, rules=("temperature", "top_p")),
        load=generate,
    ),
)
