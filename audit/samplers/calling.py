"""One call of a sampler, with everything that may go wrong in it turned into a SamplerError."""

from __future__ import annotations

import traceback

import torch
from torch import Tensor

from audit.errors import DraftproofError, SamplerError
from audit.samplers.contract import Watch, explain_accepted, tokens_of
from audit.samplers.interface import Batch, LoadedSampler, TreeBatch
from audit.samplers.worker.loading import named


def emitted(sampler: LoadedSampler, batch: Batch, generator: torch.Generator) -> Tensor:
    """Returns the emitted tokens of one call, int64 [batch, gamma + 1], their values unchecked.

    Raises:
        SamplerError: the sampler raised, changed its inputs or returned something else.
    """
    given = _with_own_shape(batch)
    watch = Watch(given)
    try:
        output = sampler.call(given, generator)
    except (DraftproofError, KeyboardInterrupt):
        raise
    except BaseException as error:
        sentence = f"{sampler.name} raised {named(error)}."
        raise SamplerError(sentence, detail=traceback.format_exc()) from error
    tokens = tokens_of(batch, output)
    watch.check()
    wrong = explain_accepted(batch, output)
    if wrong:
        raise SamplerError(f"{sampler.name} broke its contract: {wrong}")
    return tokens


def _with_own_shape(batch: Batch) -> Batch:
    """Returns the batch with parents of its own, by which the output is not measured."""
    return batch._replace(parents=batch.parents.clone()) if isinstance(batch, TreeBatch) else batch
