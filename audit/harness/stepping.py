"""Chunks of a sampler that drafts for itself: as any other, and its proposals are noted.

The sampler calls the two models of its round, which answer from the tables of the deck; what they
return is its own to write into. What it drafts and claims goes into the tally of each case.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import torch
from torch import Tensor

from audit.harness.batches import Keys, Rows, batch_of
from audit.harness.collect import Bench, Played
from audit.harness.deck import Deck
from audit.harness.proposals import ProposalTally
from audit.samplers.contract import tokens_of
from audit.samplers.stepping.calling import stepped
from audit.samplers.stepping.interface import LoadedStep, Models, Step


@dataclass(frozen=True, eq=False)
class StepBench(Bench):
    """A step sampler before a deck; tallies: of proposals, by id of the cases that are watched."""

    tallies: Mapping[str, ProposalTally] = field(default_factory=dict)

    def play(self, rows: Rows, keys: Keys, generator: torch.Generator) -> Played:
        """Returns one call, in which the sampler drafts; keys are not needed."""
        if not isinstance(self.sampler, LoadedStep):
            raise TypeError(
                f"{self.sampler.name} verifies only; it was not loaded as a step sampler"
            )
        step = stepped(self.sampler, models_of(self.deck, rows), generator)
        batch = batch_of(self.deck, rows, step.draft_token_ids, copies=None)
        tokens = tokens_of(batch, step.tokens)
        self._note(rows, step._replace(tokens=tokens), batch.target_probs[:, 0])
        return Played(step.draft_token_ids, batch, tokens)

    def _note(self, rows: Rows, step: Step, target: Tensor) -> None:
        """Adds the proposals of one call to the tally of each case."""
        drafted, claimed, tokens = step
        kept = (tokens[:, 1] >= 0) & (tokens[:, 0] == drafted[:, 0])
        for case, own in zip(self.deck.cases, rows.own, strict=True):
            if case.id in self.tallies and len(drafted[own]):
                self.tallies[case.id].add(
                    drafted[own],
                    None if claimed is None else claimed[own],
                    target=target[own],
                    accepted=kept[own],
                )


def models_of(deck: Deck, rows: Rows) -> Models:
    """Returns the two models for these rows of a call, which answer from the deck's tables."""
    return Models(deck.draft_rows, deck.target_rows, deck.starts, rows.case)
