"""vLLM V2's rejection_sample, standard and block verification, and its sampler of drafts.

Its noise is a hash of a row's seed and of the position in the text, so that every row of a call is
given a seed and a position of its own, drawn from our generator. Draft logits are handed over
before temperature, in slots of requests that are not in the order of the batch; target logits
after it, by vLLM's own kernel.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import torch
from torch import Tensor

from audit.samplers.adapters.target import Target
from audit.samplers.adapters.vllm_package import (
    PACKAGE,
    calling,
    logits_of,
    place,
    temperatures,
    without_libdevice,
)
from audit.samplers.adapters.vllm_v1 import RATE, SMALL
from audit.samplers.interface import Facts, StepBatch
from audit.samplers.stepping.interface import Models, Step, StepSampler

_MODULE = "vllm.v1.worker.gpu.spec_decode.rejection_sampler_utils"
_GUMBEL = "vllm.v1.worker.gpu.sample.gumbel"
_NAMES = (
    "target_logits",
    "draft_logits",
    "draft_sampled",
    "cu_num_logits",
    "pos",
    "idx_mapping",
    "expanded_idx_mapping",
    "expanded_local_pos",
    "temperature",
    "seed",
    "num_speculative_steps",
    "synthetic_conditional_rates",
    "use_fp64",
    "use_block_verification",
)
_TEMPERED = ("logits", "expanded_idx_mapping", "temperature")
_DRAFTED = ("logits", "expanded_idx_mapping", "temperature", "seed", "pos", "apply_temperature")
_ROWS = SMALL // 2  # a call: V2 is slower than V1
_FARTHEST = 4096  # positions of the first token that is verified


class Noise(NamedTuple):
    """What the noise of every row is a hash of: int64 [batch], both."""

    seed: Tensor
    position: Tensor

    @classmethod
    def of(cls, rows: int, generator: torch.Generator) -> Noise:
        """Returns seeds and positions drawn from the generator."""
        device = generator.device
        seed = torch.randint(-(2**63), 2**63 - 1, (rows,), generator=generator, device=device)
        position = torch.randint(1, _FARTHEST, (rows,), generator=generator, device=device)
        return cls(seed.to(place()), position.to(place()))


class Verifier:
    """`rejection_sample` as a sampler.

    handed: whether it is told the law of the drafts. block, synthetic: the method of verification,
    synthetic acceptance at the rate RATE.
    """

    def __init__(
        self, *, handed: bool = True, block: bool = False, synthetic: bool = False
    ) -> None:
        self._sample = PACKAGE.function(_MODULE, "rejection_sample", _NAMES)
        self._tempered = PACKAGE.function(_GUMBEL, "apply_temperature", _TEMPERED)
        without_libdevice(PACKAGE.load(_MODULE))
        self._handed, self._block, self._synthetic = handed, block, synthetic

    def __call__(self, batch: StepBatch, generator: torch.Generator) -> Tensor:
        """Returns the emitted tokens, int64 [batch, gamma + 1]."""
        return self.verified(batch, Noise.of(len(batch.draft_token_ids), generator))

    def verified(self, batch: StepBatch, noise: Noise) -> Tensor:
        """Returns the emitted tokens under this noise, int64 [batch, gamma + 1]."""
        with calling():
            sampled, counts = self._sample(**self._arguments(batch, noise))
        position = torch.arange(sampled.shape[1], device=sampled.device)
        tokens = torch.where(position < counts.unsqueeze(1), sampled, -1)
        return tokens.to(batch.draft_token_ids.device)

    def _arguments(self, batch: StepBatch, noise: Noise) -> dict[str, Any]:
        rows, gamma = batch.draft_token_ids.shape
        used = torch.arange(gamma + 1) <= batch.num_draft_tokens.cpu().unsqueeze(1)
        row, local = (one.to(place()) for one in used.nonzero().unbind(1))
        slot = torch.arange(rows, device=place()).flip(0)
        temperature, scale = (one.to(place()) for one in temperatures(batch))
        mapping = slot[row].int()
        return {
            "target_logits": self._target(batch, used, mapping, temperature[slot], scale[row]),
            "draft_logits": self._draft(batch, slot, scale) if self._handed else None,
            "draft_sampled": _after_the_last(batch.draft_token_ids)[used].to(place()),
            "cu_num_logits": _starts(batch.num_draft_tokens + 1),
            "pos": noise.position[row] + local,
            "idx_mapping": slot.int(),
            "expanded_idx_mapping": mapping,
            "expanded_local_pos": local.int(),
            "temperature": temperature[slot],
            "seed": noise.seed[slot],
            "num_speculative_steps": gamma,
            "synthetic_conditional_rates": self._rates(gamma),
            "use_block_verification": self._block,
        }

    def _target(
        self, batch: StepBatch, used: Tensor, mapping: Tensor, temperature: Tensor, scale: Tensor
    ) -> Tensor:
        """Returns the target's logits after temperature, float32 [all positions, vocab]."""
        logits = logits_of(batch.target_probs)[used].to(place()) * scale.unsqueeze(1)
        self._tempered(logits, mapping, temperature)
        return logits

    @staticmethod
    def _draft(batch: StepBatch, slot: Tensor, scale: Tensor) -> Tensor:
        """Returns the draft's logits before temperature, by slot, float32 [batch, gamma, vocab]."""
        return (logits_of(batch.draft_probs).to(place()) * scale.view(-1, 1, 1))[slot]

    def _rates(self, gamma: int) -> Tensor | None:
        return torch.full((gamma,), RATE, device=place()) if self._synthetic else None


def stepped(*, block: bool = False) -> StepSampler:
    """Returns vLLM's sampler of drafts before `rejection_sample`, both under one seed a row."""
    verifier = Verifier(block=block)
    gumbel = PACKAGE.function(_GUMBEL, "gumbel_sample", (*_DRAFTED, "is_drafting"))

    def step(models: Models, generator: torch.Generator) -> Step:
        noise = Noise.of(models.batch_size, generator)
        drafted, claimed = _drafts(models, noise, gumbel)
        lengths = torch.full_like(drafted[:, 0], models.num_speculative_tokens)
        batch = StepBatch(drafted, claimed, models.target(drafted), lengths)
        return Step(drafted, claimed, verifier.verified(batch, noise))

    declared = ["block" if block else "ratio"]
    step.draftproof = {"declares": declared, "max_batch": _ROWS}  # type: ignore[attr-defined]
    return step


def _drafts(models: Models, noise: Noise, gumbel: Callable[..., Tensor]) -> tuple[Tensor, Tensor]:
    """Returns the drafts of vLLM's sampler, and the rows that they were drawn from."""
    drafted, rows = models.no_tokens(), list[Tensor]()
    slots = torch.arange(models.batch_size, device=place()).int()
    ones = torch.ones(models.batch_size, device=place())
    for place_in_block in range(models.num_speculative_tokens):
        rows.append(models.draft(drafted))
        logits, at = logits_of(rows[-1]).to(place()).contiguous(), noise.position + place_in_block
        with calling():
            token = gumbel(logits, slots, ones, noise.seed, at, True, True)
        drafted = torch.cat([drafted, token.to(drafted.device).unsqueeze(1)], 1)
    return drafted, torch.stack(rows, 1)


def _after_the_last(drafted: Tensor) -> Tensor:
    """Returns the drafts behind the last token of the text, which no kernel reads."""
    return torch.cat([torch.zeros_like(drafted[:, :1]), drafted], 1)


def _starts(sizes: Tensor) -> Tensor:
    """Returns where parts of these sizes start, and the end of the last, int32."""
    return torch.nn.functional.pad(sizes.cumsum(0), (1, 0)).int().to(place())


def _target(
    name: str,
    law: str,
    facts: Facts,
    step: Callable[[], StepSampler] | None = None,
    **form: bool,
) -> Target:
    return Target(
        name=name,
        package=PACKAGE,
        calls="v1.worker.gpu.spec_decode.rejection_sampler_utils.rejection_sample",
        reads="logits, float32",
        draft_law=law,
        drafts="drawn by the harness",
        bonus="included",
        randomness="seed and position",
        facts=facts,
        load=partial(Verifier, **form),
        step=step,
    )


def _facts(*, declares: tuple[str, ...] = (), claims: str = "") -> Facts:
    return Facts(declares=declares, claims=claims, ragged=True, max_batch=_ROWS, in_process=True)


TARGETS = (
    _target("vllm-v2", "dense", _facts(declares=("ratio",)), stepped),
    _target(
        "vllm-v2-block",
        "dense",
        _facts(declares=("block",)),
        partial(stepped, block=True),
        block=True,
    ),
    _target("vllm-v2-one-hot", "none", _facts(declares=("point-mass",)), handed=False),
    _target("vllm-v2-synthetic", "dense", _facts(claims="synthetic-acceptance"), synthetic=True),
)
