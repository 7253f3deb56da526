"""vLLM V1's RejectionSampler, called whole: its wrapper, its sampler of bonus tokens, its kernels.

It is handed what the engine hands it: the logits of all rows one after another, a row's drafts or
their placeholders (-1), and where the batch has options, temperatures (0 for greedy rows). It
draws from torch's global generator, seeded from ours once for each call of ours.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from types import SimpleNamespace
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import pad

from audit.samplers.adapters.target import Target
from audit.samplers.adapters.vllm_package import (
    PACKAGE,
    calling,
    logits_of,
    place,
    temperatures,
)
from audit.samplers.interface import Facts, Sampler, StepBatch
from audit.samplers.seeding import seeded

_MODULE = "vllm.v1.sample.rejection_sampler"
_MADE_OF = ("sampler", "spec_config", "device")
_LAID_OUT = (
    "draft_token_ids",
    "num_draft_tokens",
    "cu_num_draft_tokens",
    "cu_num_sampled_tokens",
    "target_logits_indices",
    "bonus_logits_indices",
    "logits_indices",
)
_FORWARD = ("self", "metadata", "draft_probs", "logits", "sampling_metadata")
_LONGEST = 32
SMALL = 16  # rows a call: each run probes with dozens of full calls, and the interpreter is slow
RATE = 0.7  # of synthetic acceptance; the catalogue lists the law of this rate


def rejection_sampler(
    *, handed: bool = True, padded: bool = False, synthetic: bool = False
) -> Sampler:
    """Returns `RejectionSampler` as a sampler.

    handed: whether it is told the law of the drafts. padded: fewer drafts than others are filled
    up with placeholders, instead of a shorter row. synthetic: it accepts at the rate RATE.
    """
    made, metadata_of, sampling_of = _made(_synthetic() if synthetic else None)

    def verify(batch: StepBatch, generator: torch.Generator) -> Tensor:
        flat = _Flat(batch, padded=padded)
        draft_probs = flat.draft_probs() if handed else None
        with seeded(generator), calling():
            output = made(
                flat.metadata(metadata_of), draft_probs, flat.logits(), sampling_of(batch)
            )
        tokens: Tensor = output.sampled_token_ids.long()
        missing = batch.target_probs.shape[1] - tokens.shape[1]
        return pad(tokens, (0, missing), value=-1).to(batch.draft_token_ids.device)

    return verify


class _Flat:
    """A batch as the engine lays it out: the positions of all rows one after another."""

    def __init__(self, batch: StepBatch, *, padded: bool) -> None:
        self._batch = batch
        rows, gamma = batch.draft_token_ids.shape
        lengths = batch.num_draft_tokens
        self._lengths = torch.full_like(lengths, gamma) if padded else lengths
        position = torch.arange(gamma + 1, device=lengths.device).expand(rows, -1)
        self._drafted = position[:, :gamma] < self._lengths.unsqueeze(1)
        self._used = position <= self._lengths.unsqueeze(1)
        self._last = (position == self._lengths.unsqueeze(1))[self._used]

    def metadata(self, made: Callable[..., Any]) -> Any:
        """Returns the SpecDecodeMetadata."""
        ids = self._batch.draft_token_ids[self._drafted].int().to(place())
        ends = self._lengths.cumsum(0).int().to(place())
        more = torch.arange(1, len(ends) + 1, device=place()).int()
        last = self._last.to(place())
        return made(
            draft_token_ids=ids,
            num_draft_tokens=self._lengths.tolist(),
            cu_num_draft_tokens=ends,
            cu_num_sampled_tokens=ends + more,
            target_logits_indices=(~last).nonzero().squeeze(1),
            bonus_logits_indices=last.nonzero().squeeze(1),
            logits_indices=torch.arange(len(last), device=place()),
        )

    def draft_probs(self) -> Tensor:
        """Returns the rows of the drafts, float32 [all drafted tokens, vocab]."""
        return self._batch.draft_probs[self._drafted].float().to(place())

    def logits(self) -> Tensor:
        """Returns the target's logits before temperature, float32 [all positions, vocab]."""
        _, scale = temperatures(self._batch)
        scaled = logits_of(self._batch.target_probs) * scale.view(-1, 1, 1)
        return scaled[self._used].to(place())


def _made(config: Any) -> tuple[Any, Callable[..., Any], Callable[[StepBatch], Any]]:
    """Returns a RejectionSampler, the class of its first argument, and a maker of its last."""
    sampler_class = PACKAGE.function(_MODULE, "RejectionSampler", _MADE_OF)
    PACKAGE.checked(getattr(sampler_class, "forward", None), "RejectionSampler.forward", _FORWARD)
    sampler = PACKAGE.function("vllm.v1.sample.sampler", "Sampler")()
    fields = tuple(_sampling(_no_options(), None))
    sampling = PACKAGE.function("vllm.v1.sample.metadata", "SamplingMetadata", fields)
    processors = PACKAGE.function("vllm.v1.sample.logits_processor", "LogitsProcessors")
    metadata = PACKAGE.function("vllm.v1.spec_decode.metadata", "SpecDecodeMetadata", (), _LAID_OUT)
    made = sampler_class(sampler, config, place())
    return made, metadata, lambda batch: sampling(**_sampling(batch, processors()))


def _sampling(batch: StepBatch, processors: Any) -> dict[str, Any]:
    """Returns the fields of the SamplingMetadata, in their order: no penalties, no log-probs."""
    temperature, _ = temperatures(batch)
    greedy = temperature == 0
    nothing = torch.empty(0, device=place())
    return {
        "temperature": temperature.to(place()),
        "all_greedy": bool(greedy.all()),
        "all_random": not bool(greedy.any()),
        "top_p": None,  # laws are handed over cut, and top-k's kernel takes a GPU
        "top_k": None,
        "generators": {},
        "max_num_logprobs": None,
        "no_penalties": True,
        "prompt_token_ids": None,
        "frequency_penalties": nothing,
        "presence_penalties": nothing,
        "repetition_penalties": nothing,
        "output_token_ids": [[] for _ in range(len(temperature))],
        "allowed_token_ids_mask": None,
        "bad_words_token_ids": {},
        "logitsprocs": processors,
    }


def _no_options() -> StepBatch:
    ids = torch.zeros(1, 1, dtype=torch.int64)
    return StepBatch(ids, torch.ones(1, 1, 1), torch.ones(1, 2, 1), ids[0] + 1)


def _synthetic() -> Any:
    """Returns the configuration of synthetic acceptance, every token at RATE given the last."""
    rates = [RATE**length for length in range(1, _LONGEST + 1)]
    return SimpleNamespace(rejection_sample_method="synthetic", synthetic_acceptance_rates=rates)


def _target(name: str, law: str, facts: Facts, **form: bool) -> Target:
    return Target(
        name=name,
        package=PACKAGE,
        calls="v1.sample.rejection_sampler.RejectionSampler",
        reads="logits, float32",
        draft_law=law,
        drafts="drawn by the harness",
        bonus="included",
        randomness="torch, global",
        facts=facts,
        load=partial(rejection_sampler, **form),
    )


def _facts(*, declares: tuple[str, ...] = (), claims: str = "") -> Facts:
    return Facts(declares=declares, claims=claims, ragged=True, max_batch=SMALL, in_process=True)


TARGETS = (
    _target("vllm-v1", "dense", _facts(declares=("ratio",))),
    _target("vllm-v1-padded", "dense", _facts(declares=("ratio",)), padded=True),
    _target("vllm-v1-one-hot", "none", _facts(declares=("point-mass",)), handed=False),
    _target("vllm-v1-synthetic", "dense", _facts(claims="synthetic-acceptance"), synthetic=True),
)
