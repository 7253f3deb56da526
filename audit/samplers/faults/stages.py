"""Rows of unlike processing: test, residual and bonus do not read the same laws."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

import torch
from torch import Tensor

from audit.samplers.chain import chain, ratio, residual
from audit.samplers.interface import Sampler, StepBatch
from audit.samplers.rowwise import (
    Processing,
    as_they_are,
    in_eighths,
    processed,
    squared,
    top_two,
    without_last_id,
)


def throughout(
    batch: StepBatch,
    generator: torch.Generator,
    *,
    target: Processing = as_they_are,
    draft: Processing = as_they_are,
) -> Tensor:
    """Returns the tokens of the ratio rule where every step reads the processed rows."""
    return chain(processed(batch, target=target, draft=draft), generator)


def ratio_of(
    target: Processing = as_they_are, draft: Processing = as_they_are
) -> Callable[[StepBatch], Tensor]:
    """Returns the acceptance probability p / q of processed rows."""
    return lambda batch: ratio(processed(batch, target=target, draft=draft))


def residual_of(
    target: Processing = as_they_are, draft: Processing = as_they_are
) -> Callable[[Tensor, Tensor, Tensor], Tensor]:
    """Returns the residual of processed rows."""
    return lambda p, q, rejected: residual(target(p), draft(q), rejected)


FAULTS: Mapping[str, Sampler] = {
    "draft-temperature-mismatch": partial(throughout, draft=squared),
    "draft-top-2-only-recorded": partial(throughout, draft=top_two),
    "target-top-2-in-test": partial(chain, accept=ratio_of(top_two)),
    "target-top-2-in-residual": partial(chain, fallback=residual_of(top_two)),
    "target-temperature-in-test": partial(chain, accept=ratio_of(squared)),
    "target-temperature-in-residual": partial(chain, fallback=residual_of(squared)),
    "target-temperature-wrong": partial(throughout, target=squared),
    "bonus-temperature-wrong": partial(chain, bonus=lambda p, q: squared(p)),
    "target-cut-to-draft-vocabulary": partial(
        chain, accept=ratio_of(without_last_id), fallback=residual_of(without_last_id)
    ),
    "rounded-rows": partial(
        chain, accept=ratio_of(in_eighths, in_eighths), fallback=residual_of(in_eighths, in_eighths)
    ),
}
