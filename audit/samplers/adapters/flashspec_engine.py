"""flashspec's engine, one prompt a call: its drafter, target and caches on models handed over.

One model drafter with a fixed draft length: the engine's own choice of drafters is about speed.
Without a seed it draws from torch's global generator. The models keep real caches of transformers.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any, NamedTuple

import torch
from torch import Tensor

from audit.samplers.adapters.packages import FLASHSPEC as PACKAGE
from audit.samplers.adapters.target import Target
from audit.samplers.decoders.interface import Decoder, DecoderFacts
from audit.samplers.decoders.rules import Rules
from audit.samplers.seeding import row_by_row, seeded

_ENGINE = "flashspec.engine.speculative"
_CONFIG = "flashspec.utils.config"
_DRAFTER = "flashspec.engine.hf_drafter"
_VERIFIER = "flashspec.engine.verifier"
_MADE_OF = ("config", "drafters", "target")
_NAMED = ("model_name_or_path", "device")
_GENERATE = ("self", "input_ids", "max_new_tokens", "eos_token_ids")


class _Parts(NamedTuple):
    """The classes of the package that an engine is made of."""

    engine: Any
    config: Any
    sampling: Any
    arm: Any
    drafter: Any
    target: Any


def _parts() -> _Parts:
    """Returns the classes, each checked by the arguments that it is given here."""
    engine = PACKAGE.function(_ENGINE, "SpeculativeEngine", _MADE_OF, ["arms"])
    PACKAGE.checked(getattr(engine, "generate", None), "SpeculativeEngine.generate", _GENERATE)
    return _Parts(
        engine,
        PACKAGE.function(_CONFIG, "FlashSpecConfig", (), ("device", "sampling", "bandit")),
        PACKAGE.function(_CONFIG, "SamplingConfig", (), ("temperature", "top_p", "gamma")),
        PACKAGE.function("flashspec.engine.arms", "ArmSpec", ("drafter", "gamma")),
        PACKAGE.function(_DRAFTER, "HuggingFaceDrafter", _NAMED, ("temperature", "model")),
        PACKAGE.function(_VERIFIER, "TargetModel", (*_NAMED, "dtype"), ["model"]),
    )


def _engine(parts: _Parts, target: Any, draft: Any, sampling: Mapping[str, Any]) -> Any:
    """Returns an engine of two models; sampling: the arguments of SamplingConfig."""
    temperature = sampling["temperature"]
    return parts.engine(
        parts.config(device="cpu", sampling=parts.sampling(**sampling), bandit={"n_arms": 1}),
        [parts.drafter("draft", "cpu", temperature=temperature, model=draft)],
        parts.target("target", torch.device("cpu"), torch.float32, model=target),
        arms=[parts.arm(0, sampling["gamma"])],
    )


def generate() -> Decoder:
    """Returns `SpeculativeEngine.generate` as a decoder."""
    parts = _parts()
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
        rules = rules or Rules()
        temperature = 0.0 if greedy else rules.temperature
        sampling = {"temperature": temperature, "top_p": rules.top_p}
        engine = _engine(parts, target, draft, sampling | {"gamma": num_speculative_tokens})
        stops = () if stop_token_id is None else (stop_token_id,)

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
