"""The seam between draftproof and any sampler: one call, tensors in, tensors out.

A sampler is any callable `(StepBatch, torch.Generator) -> tokens`. It verifies one round for
every row of the batch and returns int64 [batch, gamma + 1]: the emitted tokens of a row, then -1.
It may return `(tokens, num_accepted)` with num_accepted int64 [batch]. Nobody inherits from us.
One that declares `trees` is handed a TreeBatch instead; gamma is then the depth of the tree.

What a sampler wants or promises it says in an attribute `draftproof`, a dict with the fields of
`Facts`: `my_sampler.draftproof = {"declares": ["ratio"], "contiguous": True}`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

import torch

from audit.tree import Drafting


class RowOptions(NamedTuple):
    """Per-row sampling parameters, each [batch]; laws are handed over with them applied."""

    temperature: torch.Tensor
    top_k: torch.Tensor
    top_p: torch.Tensor
    greedy: torch.Tensor
    seed: torch.Tensor


class StepBatch(NamedTuple):
    """One round for a batch of rows.

    draft_token_ids int64 [batch, gamma], drawn from draft_probs [batch, gamma, vocab];
    target_probs [batch, gamma + 1, vocab], row i conditional on the first i drafted tokens;
    num_draft_tokens int64 [batch], below gamma only for samplers that declare `ragged`: then
    draft ids beyond it are -1 and their rows are zero, and the target row after the last drafted
    token stands at index num_draft_tokens. Tensors may be views and must not be written to.
    """

    draft_token_ids: torch.Tensor
    draft_probs: torch.Tensor
    target_probs: torch.Tensor
    num_draft_tokens: torch.Tensor
    options: RowOptions | None = None


class TreeBatch(NamedTuple):
    """One round for a batch of rows whose drafts form a tree, the same shape in every row.

    draft_token_ids int64 [batch, nodes]; parents int64 [nodes], the node that a node continues,
    -1 for the first level; draft_probs [batch, nodes, vocab], the row that the siblings at this
    place were drawn from, before any of them was taken away; target_probs [batch, nodes + 1,
    vocab], row 0 after the prompt and row i + 1 after node i. Siblings stand in the order in
    which they were drawn. Tensors may be views and must not be written to.
    """

    draft_token_ids: torch.Tensor
    parents: torch.Tensor
    draft_probs: torch.Tensor
    target_probs: torch.Tensor


Batch = StepBatch | TreeBatch


class Sampler(Protocol):
    """The callable that is audited."""

    def __call__(
        self, batch: Any, generator: torch.Generator
    ) -> torch.Tensor | tuple[torch.Tensor, torch.Tensor]:
        """Returns the emitted tokens, int64 [batch, gamma + 1], padded with -1.

        batch: a StepBatch, or a TreeBatch where the sampler declares `trees`.
        """
        ...


@dataclass(frozen=True)
class Facts:
    """What a sampler declares about itself.

    declares: rules that it may lawfully follow, catalogue ids (empty: nothing is declared).
    claims: the rule or fault id whose law is judged instead of the target's ("" for the target).
    trees: how siblings may be drawn in the draft trees that it verifies (empty: it takes chains).
    contiguous: it wants contiguous tensors, not views. ragged: it takes rows of unequal gamma.
    independent_rows: False makes the audit call it one row at a time.
    max_batch: the largest batch it takes. in_process: safe to run inside the auditing process.
    """

    declares: tuple[str, ...] = ()
    claims: str = ""
    trees: tuple[Drafting, ...] = ()
    contiguous: bool = False
    ragged: bool = False
    independent_rows: bool = True
    max_batch: int | None = None
    in_process: bool = False

    @property
    def drafts(self) -> tuple[Drafting | None, ...]:
        """The drafts that it verifies: ways to draw siblings, or None for chains."""
        return self.trees or (None,)


@dataclass(frozen=True)
class LoadedSampler:
    """A sampler ready to be called; `identity` is what a record needs to repeat the run.

    `call` honours the Sampler protocol, whether the code runs here or in a worker process.
    `source` is the `path:line` of its code in the user's repository, "" where it is not there.
    """

    name: str
    call: Sampler
    facts: Facts
    identity: Mapping[str, str] = field(default_factory=dict)
    source: str = ""

    def close(self) -> None:
        """Ends the worker process, if there is one."""
        ending = getattr(self.call, "close", None)
        if ending is not None:
            ending()
