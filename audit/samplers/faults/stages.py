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
    processed,
    rounded_to,
    tempered,
    top,
    without_last_ids,
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


def rounded(step: float) -> Sampler:
    """Returns the sampler that reads both rows in multiples of `step`, the bonus row excepted."""
    rows = rounded_to(step)
    return partial(chain, accept=ratio_of(rows, rows), fallback=residual_of(rows, rows))


def target_cut(count: float) -> Sampler:
    """Returns the sampler that cuts the last ids off every target row but the bonus row."""
    cut = without_last_ids(count)
    return partial(chain, accept=ratio_of(cut), fallback=residual_of(cut))


def bonus_tempered(temperature: float) -> Sampler:
    """Returns the sampler that draws the bonus token at another temperature."""
    return partial(chain, bonus=lambda p, q: tempered(temperature)(p))


PARAMETRIC: Mapping[str, Callable[[float], Sampler]] = {
    "draft-temperature-mismatch": lambda t: partial(throughout, draft=tempered(t)),
    "draft-top-2-only-recorded": lambda k: partial(throughout, draft=top(k)),
    "target-top-2-in-test": lambda k: partial(chain, accept=ratio_of(top(k))),
    "target-top-2-in-residual": lambda k: partial(chain, fallback=residual_of(top(k))),
    "target-temperature-in-test": lambda t: partial(chain, accept=ratio_of(tempered(t))),
    "target-temperature-in-residual": lambda t: partial(chain, fallback=residual_of(tempered(t))),
    "target-temperature-wrong": lambda t: partial(throughout, target=tempered(t)),
    "bonus-temperature-wrong": bonus_tempered,
    "target-cut-to-draft-vocabulary": target_cut,
    "rounded-rows": rounded,
}
