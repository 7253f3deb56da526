"""A step of two models, `step(target, draft, prefix, gamma) -> new tokens`, at two levels.

This is what most small packages offer: one round, one row. target and draft are models, prefix
int64 [length] is the text so far, and 1 to gamma + 1 new tokens come back, int64. Randomness is
torch's global generator, seeded once a call; a step whose signature has `generator` is handed
ours instead. Nothing is kept between rounds.

`decoder_of` calls it round after round on whole models, in any form that a decoder may ask for;
`step_sampler_of` hands it the laws of one round, as functions `(ids) -> logits` of the whole text.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import Tensor

from audit.errors import SamplerError
from audit.samplers.decoders.interface import Decoder, ModelForm
from audit.samplers.seeding import row_by_row, seeded
from audit.samplers.stepping.interface import Models, Step, StepSampler

TwoModelStep = Callable[..., Tensor]


def decoder_of(step: TwoModelStep, *, models: ModelForm = "function") -> Decoder:
    """Returns a decoder that makes rounds until there are enough tokens, and keeps those alone.

    models: the form in which the step takes its models.
    """

    def decode(
        target: Any,
        draft: Any,
        prompt_ids: Tensor,
        *,
        max_new_tokens: int,
        num_speculative_tokens: int,
        generator: torch.Generator,
    ) -> Tensor:
        make = _with_generator(step, generator)

        def one(prompt: Tensor) -> Tensor:
            text = prompt
            while len(text) < len(prompt) + max_new_tokens:
                new = _new_tokens(make(target, draft, text, num_speculative_tokens))
                text = torch.cat([text, new])
            return text[len(prompt) :]

        with seeded(generator):
            return row_by_row(one, prompt_ids, max_new_tokens)

    decode.draftproof = {"models": models, "max_batch": 64}  # type: ignore[attr-defined]
    return decode


def step_sampler_of(step: TwoModelStep, *, declares: tuple[str, ...] = ()) -> StepSampler:
    """Returns a step sampler of one row a call; what was drafted is read off the target's calls.

    It claims no q, since a step does not tell its own. declares: rules that it follows.
    """

    def sampler(models: Models, generator: torch.Generator) -> Step:
        gamma = models.num_speculative_tokens
        begin = torch.zeros(1, dtype=torch.int64)  # stands for the text before the round
        target, draft = _Asked(models.target), _Asked(partial(_draft_rows, models))
        with seeded(generator):
            make = _with_generator(step, generator)
            new = _new_tokens(make(target, draft, begin, gamma))
        if target.seen.shape[1] != gamma:
            raise SamplerError(
                f"the step asked its target about {target.seen.shape[1]} drafted tokens in place "
                f"of {gamma}; the step level needs all of them in one call."
            )
        rest = torch.full((max(gamma + 1 - len(new), 0),), -1)
        return Step(target.seen, None, torch.cat([new, rest]).unsqueeze(0))

    facts = {"declares": declares, "max_batch": 1}
    sampler.draftproof = facts  # type: ignore[attr-defined]
    return sampler


class _Asked:
    """Rows of one round as `(ids [length] or [1, length]) -> logits`; seen: the longest ids."""

    def __init__(self, rows: Callable[[Tensor], Tensor]) -> None:
        self._rows, self.seen = rows, torch.zeros(1, 0, dtype=torch.int64)

    def __call__(self, ids: Tensor) -> Tensor:
        tokens = ids.reshape(1, -1)[:, 1:]
        if tokens.shape[1] > self.seen.shape[1]:
            self.seen = tokens.clone()
        logits = self._rows(tokens).log()
        return logits if ids.ndim == 2 else logits[0]


def _draft_rows(models: Models, tokens: Tensor) -> Tensor:
    """Returns the draft's rows along the tokens, uniform after the last that it may draft.

    Loops that keep caches feed it the last drafted token too, and make nothing of the row.
    """
    lengths = range(min(tokens.shape[1] + 1, models.num_speculative_tokens))
    rows = torch.stack([models.draft(tokens[:, :n]) for n in lengths], 1)
    more = torch.ones(1, tokens.shape[1] + 1 - len(lengths), models.vocab_size)
    return torch.cat([rows, more.to(rows) / models.vocab_size], 1)


def _with_generator(step: TwoModelStep, generator: torch.Generator) -> TwoModelStep:
    """Returns the step with our generator, where its signature has one."""
    try:
        taken = "generator" in inspect.signature(step).parameters
    except (TypeError, ValueError):
        taken = False
    return partial(step, generator=generator) if taken else step


def _new_tokens(found: object) -> Tensor:
    """Returns what a step gave back, int64 [any number]. Raises SamplerError for anything else."""
    new = found if isinstance(found, Tensor) else torch.as_tensor(found)
    if new.ndim != 1 or not len(new) or new.is_floating_point():
        raise SamplerError(
            f"the step returned {new.dtype} {list(new.shape)}; it must be one or more token ids in "
            "one dimension."
        )
    return new.long()
