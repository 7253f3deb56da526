"""Batches that ask a sampler for every kind of row, made from whole numbers of 1/256.

Such probabilities are exact in every dtype, bfloat16 included, and every row sums to exactly 1.
Rows stand by place: place 0 is the start of the round, place i + 1 follows drafted token i.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from audit.samplers.interface import Batch, StepBatch, TreeBatch
from audit.tree import ROOT, Drafting, Tree

UNITS = 256
CHAINS = tuple(Tree.chain(gamma) for gamma in (1, 2, 5))
_BRANCHES = ((-1, -1), (-1, -1, 0), (-1, -1, 0, 0, 1, 1))

Rows = tuple[Tensor, Tensor]  # target and draft, float64 [rows, vocab]
Kind = Callable[[int, int, torch.Generator], Rows]


def shapes_for(drafting: Drafting | None) -> tuple[Tree, ...]:
    """Returns the shapes of drafts to ask for: chains, or trees whose siblings are drawn so."""
    if drafting is None:
        return CHAINS
    return (Tree((-1, 0), drafting), *(Tree(parents, drafting) for parents in _BRANCHES))


def soft(rows: int, among: Tensor, generator: torch.Generator) -> Tensor:
    """Returns random rows, float64 [rows, vocab], over the ids that are true in `among` [vocab].

    All of them are possible where there are few.
    """
    allowed = among.double().expand(rows, -1)
    least = int(among.sum()) if among.sum() <= UNITS // 4 else 0
    weights = (torch.rand(allowed.shape, generator=generator) ** 3 + 1e-6) * allowed
    drawn = torch.multinomial(weights, UNITS - least, replacement=True, generator=generator)
    counts = allowed.clone() if least else torch.zeros_like(allowed)
    return counts.scatter_add(1, drawn, torch.ones(drawn.shape, dtype=torch.float64)) / UNITS


def certain(tokens: Tensor, vocab: int) -> Tensor:
    """Returns rows that give one token alone, float64 [rows, vocab], from int64 [rows]."""
    return torch.nn.functional.one_hot(tokens, vocab).double()


def _all(vocab: int) -> Tensor:
    return torch.ones(vocab, dtype=torch.bool)


def _ordinary(rows: int, vocab: int, generator: torch.Generator) -> Rows:
    return soft(rows, _all(vocab), generator), soft(rows, _all(vocab), generator)


def _with_zeros(rows: int, vocab: int, generator: torch.Generator) -> Rows:
    third = torch.arange(vocab) % 3
    return soft(rows, third != 0, generator), soft(rows, third != 1, generator)


def _equal(rows: int, vocab: int, generator: torch.Generator) -> Rows:
    both = soft(rows, _all(vocab), generator)
    return both, both


def _disjoint(rows: int, vocab: int, generator: torch.Generator) -> Rows:
    even = torch.arange(vocab) % 2 == 0
    return soft(rows, even, generator), soft(rows, ~even, generator)


def _certain_target(rows: int, vocab: int, generator: torch.Generator) -> Rows:
    return certain(_tokens(rows, vocab, generator), vocab), soft(rows, _all(vocab), generator)


def _certain_draft(rows: int, vocab: int, generator: torch.Generator) -> Rows:
    return soft(rows, _all(vocab), generator), certain(_tokens(rows, vocab, generator), vocab)


def _certain_both(rows: int, vocab: int, generator: torch.Generator) -> Rows:
    both = certain(_tokens(rows, vocab, generator), vocab)
    return both, both


def _greedy(rows: int, vocab: int, generator: torch.Generator) -> Rows:
    draft = soft(rows, _all(vocab), generator)
    return certain(draft.argmax(1), vocab), draft


def _tokens(rows: int, vocab: int, generator: torch.Generator) -> Tensor:
    return torch.randint(vocab, (rows,), generator=generator)


KINDS: Mapping[str, Kind] = {
    "ordinary rows": _ordinary,
    "tokens of probability 0": _with_zeros,
    "p = q": _equal,
    "p and q without a common token": _disjoint,
    "a certain target": _certain_target,
    "a certain draft": _certain_draft,
    "p and q certain of the same token": _certain_both,
    "a greedy target": _greedy,
}


@dataclass(frozen=True)
class World:
    """How the batches of a check are made; `chain` says that drafts are handed over as chains.

    lengths: how many tokens each row drafts, where they are unequal.
    """

    shape: Tree
    chain: bool
    device: torch.device
    rows: int = 3
    vocab: int = 3
    kinds: Sequence[str] = tuple(KINDS)
    dtype: torch.dtype = torch.float32
    lengths: Sequence[int] = ()

    def batch(self, generator: torch.Generator) -> Batch:
        """Returns a batch whose rows take turns in the kinds, drafts drawn as the shape says."""
        places, kinds = self.shape.nodes + 1, [kind for kind in self.kinds if self.takes(kind)]
        drawn = [
            torch.stack(KINDS[kinds[row % len(kinds)]](places, self.vocab, generator))
            for row in range(self.rows)
        ]
        target, draft = torch.stack(drawn, dim=1)  # each [rows, places, vocab]
        return self.handed(target, draft, drafted(self.shape, draft, generator))

    def handed(self, target: Tensor, draft: Tensor, tokens: Tensor) -> Batch:
        """Returns the batch of float64 rows by place [rows, places, vocab] and drafted tokens."""
        parents = torch.tensor(self.shape.parents)
        draft, length = draft[:, parents + 1], self.lengths or [self.shape.nodes] * self.rows
        lengths = torch.tensor(length)
        if self.lengths:
            beyond = torch.arange(self.shape.nodes + 1) > lengths[:, None]
            target, draft = (
                rows.masked_fill(past[:, :, None], 0.0)
                for rows, past in ((target, beyond), (draft, beyond[:, 1:]))
            )
            tokens = tokens.masked_fill(beyond[:, 1:], -1)
        probs = draft.to(self.device, self.dtype), target.to(self.device, self.dtype)
        tokens, parents, lengths = (t.to(self.device) for t in (tokens, parents, lengths))
        if self.chain:
            return StepBatch(tokens, *probs, lengths)
        return TreeBatch(tokens, parents, *probs)

    def takes(self, kind: str) -> bool:
        """Whether the draft rows of a kind have as many ids as different siblings are drawn."""
        if self.shape.drafting == "independent":
            return True
        most = max(len(self.shape.children(node)) for node in range(ROOT, self.shape.nodes))
        _, draft = KINDS[kind](8, self.vocab, torch.Generator().manual_seed(0))
        return int((draft > 0).sum(1).min()) >= most


def drafted(shape: Tree, draft: Tensor, generator: torch.Generator) -> Tensor:
    """Returns the drafted tokens, int64 [rows, nodes], from float64 rows by place."""
    tokens = torch.zeros(len(draft), shape.nodes, dtype=torch.int64)
    for node, parent in enumerate(shape.parents):
        left = draft[:, parent + 1]
        if shape.drafting != "independent":
            left = left.scatter(1, tokens[:, list(shape.elder(node))], 0.0)
        if shape.drafting == "fixed":
            tokens[:, node] = left.argmax(1)
        else:
            tokens[:, node] = torch.multinomial(left, 1, generator=generator)[:, 0]
    return tokens
