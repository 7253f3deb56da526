"""Hugging Face transformers' own verification step as a sampler, one row a call of theirs.

`transformers.generation.utils._speculative_sampling` takes the logits of one row and draws from
torch's global generator. It is given the logarithms of the float32 probabilities (log 0 is -inf),
which its softmax turns back into them. The global generator is seeded once for each call of
ours, from our generator, and put back afterwards. Importing it needs no network.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor

from audit.samplers.adapters.packages import TRANSFORMERS
from audit.samplers.batch import log_probs, seed_from
from audit.samplers.interface import Facts, StepBatch

# One call of ours loops over up to max_batch rows, a fraction of a second in all.
FACTS = Facts(declares=("ratio",), ragged=True, max_batch=256, in_process=True)
_FIRST = ["candidate_input_ids", "candidate_logits", "candidate_length", "new_logits"]
# What older releases also ask for: the draft has not ended and its length has no limit.
_LATER = {"is_done_candidate": False, "last_assistant_token_is_eos": False, "max_matches": 2**31}


class Verifier:
    """A function with the signature of `_speculative_sampling`, callable as a sampler.

    Raises: SamplerError where the function asks for an argument that we do not know.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function
        self._more = _further_arguments(function)

    def __call__(self, batch: StepBatch, generator: torch.Generator) -> Tensor:
        """Returns the emitted tokens, int64 [batch, gamma + 1], row after row."""
        target, draft = log_probs(batch.target_probs), log_probs(batch.draft_probs)
        tokens = torch.full(target.shape[:2], -1, device=target.device)
        cuda = [target.device] if target.is_cuda else []
        with torch.random.fork_rng(devices=cuda):
            torch.manual_seed(seed_from(generator))
            for row, length in enumerate(batch.num_draft_tokens.tolist()):
                own = slice(row, row + 1)
                emitted, _ = self._function(
                    batch.draft_token_ids[own, :length],
                    draft[own, :length],
                    length,
                    target[own, : length + 1],
                    **self._more,
                )
                tokens[row, : emitted.shape[1]] = emitted[0]
        return tokens


def load_verifier() -> Verifier:
    """Returns the verification step of the installed transformers.

    Raises: UsageError where it is not installed; SamplerError where it has no such function, one
    with other arguments, or cannot be imported.
    """
    be_quiet()
    return Verifier(TRANSFORMERS.get("transformers.generation.utils", "_speculative_sampling"))


def be_quiet() -> None:
    """Keeps transformers from telling what is no error. Raises as `Package.load`."""
    TRANSFORMERS.load("transformers.utils.logging").set_verbosity_error()


def _further_arguments(function: Callable[..., Any]) -> Mapping[str, Any]:
    """Returns the arguments after the first four that have no default."""
    parameters = inspect.signature(function).parameters
    needed = [name for name, p in parameters.items() if p.default is inspect.Parameter.empty]
    unknown = [name for name in needed if name not in _FIRST and name not in _LATER]
    if needed[:4] != _FIRST or unknown:
        raise TRANSFORMERS.misfit(
            f"has a _speculative_sampling that takes ({', '.join(parameters)})"
        )
    return {name: _LATER[name] for name in needed[4:]}
