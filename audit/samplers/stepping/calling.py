"""One call of a step sampler: everything that may go wrong in it becomes a SamplerError."""

from __future__ import annotations

import traceback

import torch

from audit.errors import DraftproofError, SamplerError
from audit.samplers.stepping.interface import LoadedStep, Models, Step
from audit.samplers.worker.loading import named
from audit.samplers.worker.stepping import complaint_of_step


def stepped(sampler: LoadedStep, models: Models, generator: torch.Generator) -> Step:
    """Returns one round of a step sampler; the values of its tokens are not checked here.

    Raises:
        SamplerError: it raised, or its drafts or claimed rows are malformed.
    """
    try:
        step = sampler.step(models, generator)
    except (DraftproofError, KeyboardInterrupt):
        raise
    except BaseException as error:
        sentence = f"{sampler.name} raised {named(error)}."
        raise SamplerError(sentence, detail=traceback.format_exc()) from error
    wrong = complaint_of_step(models, step)
    if wrong:
        raise SamplerError(f"{sampler.name} {wrong}.")
    drafted, claimed, tokens = step
    return Step(drafted.long(), None if claimed is None else claimed.detach(), tokens)
