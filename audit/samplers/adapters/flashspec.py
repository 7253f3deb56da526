"""flashspec's acceptance steps: log-probabilities in, the number accepted and the next token out.

They take a generator, so that a run can be repeated. `rejection_sample` draws no bonus token: a
row whose drafts were all accepted ends with them.
"""

from __future__ import annotations

import torch
from torch import Tensor

from audit.samplers.adapters.packages import FLASHSPEC as PACKAGE
from audit.samplers.adapters.target import Target
from audit.samplers.batch import log_probs
from audit.samplers.chain import emit
from audit.samplers.interface import Facts, Sampler, StepBatch

_MODULE = "flashspec.sampling.rejection"


def rejection_step() -> Sampler:
    """Returns `rejection_step` as a sampler."""
    names = ("draft_token_ids", "draft_logprobs", "target_logprobs", "generator")
    step = PACKAGE.function(_MODULE, "rejection_step", names)

    def verify(batch: StepBatch, generator: torch.Generator) -> Tensor:
        ids = batch.draft_token_ids
        q, p = log_probs(batch.draft_probs), log_probs(batch.target_probs)
        found = step(ids, q, p, generator=generator)
        return emit(ids, found[:, 0], found[:, 1])

    return verify


def one_hot() -> Sampler:
    """Returns `rejection_step_onehot`, for drafts without a law, as a sampler."""
    names = ("draft_token_ids", "target_logprobs", "draft_len", "generator")
    step = PACKAGE.function(_MODULE, "rejection_step_onehot", names)

    def verify(batch: StepBatch, generator: torch.Generator) -> Tensor:
        ids, counts = batch.draft_token_ids.clamp(min=0), batch.num_draft_tokens
        found = step(ids, log_probs(batch.target_probs), counts, generator=generator)
        return emit(ids, found[:, 0], found[:, 1])

    return verify


def rejection_sample() -> Sampler:
    """Returns `rejection_sample`, which draws no bonus token, as a sampler."""
    names = ("input_ids", "draft_logprobs", "target_logprobs", "draft_token_ids", "gamma")
    sample = PACKAGE.function(_MODULE, "rejection_sample", (*names, "generator"))

    def verify(batch: StepBatch, generator: torch.Generator) -> tuple[Tensor, Tensor]:
        ids = batch.draft_token_ids
        gamma = ids.shape[1]
        q, p = log_probs(batch.draft_probs), log_probs(batch.target_probs[:, :gamma])
        accepted, rejection, _ = sample(ids[:, :0], q, p, ids, gamma, generator=generator)
        nothing = torch.full_like(accepted[:, :1], -1)
        return torch.cat([accepted, nothing], dim=1), rejection.long()

    return verify


_READS = "log-probabilities, float32"
_GENERATOR = "the torch.Generator handed over"
TARGETS = (
    Target(
        name="flashspec",
        package=PACKAGE,
        calls="sampling.rejection.rejection_step",
        reads=_READS,
        draft_law="dense",
        drafts="drawn by the harness",
        bonus="included",
        randomness=_GENERATOR,
        facts=Facts(declares=("ratio",), in_process=True),
        load=rejection_step,
    ),
    Target(
        name="flashspec-one-hot",
        package=PACKAGE,
        calls="sampling.rejection.rejection_step_onehot",
        reads=_READS,
        draft_law="none",
        drafts="drawn by the harness; any are allowed",
        bonus="included",
        randomness=_GENERATOR,
        facts=Facts(declares=("point-mass",), ragged=True, in_process=True),
        load=one_hot,
    ),
    Target(
        name="flashspec-sample",
        package=PACKAGE,
        calls="sampling.rejection.rejection_sample",
        reads=_READS,
        draft_law="dense",
        drafts="drawn by the harness",
        bonus="none",
        randomness=_GENERATOR,
        facts=Facts(in_process=True),
        load=rejection_sample,
    ),
)
