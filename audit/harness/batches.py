"""The rows of one call: which case and trial each row is, its drafts, and its tensors.

Drafts are drawn from the shared tables of a deck, independently but for the siblings of a tree
that must differ. Rows of one call may come from several cases (mixed) or from one (shared); a
shared case whose rows do not depend on the prefix is handed over as views of its two rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import accumulate

import torch

from audit.harness.deck import Deck
from audit.harness.randomness import key_of, uniforms
from audit.samplers.interface import Batch, StepBatch, TreeBatch
from audit.tree import ROOT


@dataclass(frozen=True, eq=False)
class Rows:
    """The rows of a call: `case` int64 [batch] indexes the deck, `trial` int64 [batch] counts.

    own[c] selects the rows of case c, in the order of their trials.
    """

    case: torch.Tensor
    trial: torch.Tensor
    own: tuple[slice | torch.Tensor, ...] = (slice(None),)


def interleaved(deck: Deck, first: int, stop: int, *, first_trial: int) -> Rows:
    """Returns rows first..stop-1 of a chunk: its cases take turns, row after row."""
    number = torch.arange(first, stop, device=deck.device)
    cases = len(deck.cases)
    own = tuple(slice((case - first) % cases, None, cases) for case in range(cases))
    return Rows(number % cases, first_trial + number // cases, own)


def shuffled(deck: Deck, first: int, stop: int, *, first_trial: int, keys: Keys) -> Rows:
    """Returns rows first..stop-1 of a chunk: its cases take turns, each trial in another order.

    So no row is at a fixed distance from the next one of its case. The order depends on the trial
    and the keys alone; it is made on the CPU, so that nothing waits for the device.
    """
    cases = len(deck.cases)
    number = torch.arange(first, stop)
    turns = torch.arange(first // cases, -(-stop // cases))
    by_turn = uniforms(keys.by_case[:, 0].cpu(), (first_trial + turns)[:, None]).argsort(dim=1)
    case = by_turn.flatten()[number - first // cases * cases]
    own = tuple((case == one).nonzero()[:, 0].to(deck.device) for one in range(cases))
    return Rows(case.to(deck.device), (first_trial + number // cases).to(deck.device), own)


@dataclass(frozen=True, eq=False)
class Keys:
    """The random keys of one purpose in a deck, int64 [cases, draws]: one a case and draw."""

    by_case: torch.Tensor

    @classmethod
    def of(cls, deck: Deck, *, seed: int, purpose: str) -> Keys:
        """Returns keys that depend on the seed, the purpose, the case's content and the draw."""
        draws = range(max(deck.gamma + 1, deck.tree.nodes))
        keys = [[key_of(seed, purpose, case.hash, draw) for draw in draws] for case in deck.cases]
        return cls(torch.tensor(keys, device=deck.device))

    def uniforms(self, rows: Rows) -> torch.Tensor:
        """Returns float64 [batch, draws] in [0, 1): the draws of every row's trial."""
        keys = self.by_case if len(self.by_case) == 1 else self.by_case[rows.case]
        return uniforms(keys, rows.trial[:, None])


def drawn(
    cumulative: torch.Tensor, deck: Deck, rows: Rows, index: torch.Tensor, u: torch.Tensor
) -> torch.Tensor:
    """Returns int64 [batch]: tokens by inverse CDF of float64 u at table index [batch]."""
    if deck.uniform:
        return torch.searchsorted(cumulative[0, 0], u.contiguous(), right=True)
    return (u[:, None] >= cumulative[rows.case, index]).sum(dim=1)


def draft(deck: Deck, rows: Rows, keys: Keys) -> torch.Tensor:
    """Returns int64 [batch, drafted]: the tokens of all nodes; -1 beyond a row's own gamma."""
    u, tree = keys.uniforms(rows), deck.tree
    tokens = torch.zeros(len(rows.case), tree.nodes, dtype=torch.int64, device=deck.device)
    for node, parent in enumerate(tree.parents):
        index = path_index(deck, tokens, parent)
        taken = tokens[:, list(tree.elder(node))]
        tokens[:, node] = _drafted(deck, rows, index, u[:, node], taken=taken)
    if not deck.ragged:
        return tokens
    beyond = torch.arange(deck.gamma, device=deck.device) >= deck.gammas[rows.case][:, None]
    return tokens.masked_fill(beyond, -1)


def path_index(deck: Deck, tokens: torch.Tensor, node: int) -> torch.Tensor:
    """Returns int64 [batch]: the table index of the tokens on the path that ends with `node`."""
    path = deck.tree.path(node)
    code = torch.zeros_like(tokens[:, 0])
    for step in path:
        code = code * deck.vocab_size + tokens[:, step].clamp(min=0)
    return deck.prefix_index(len(path), code)


def _drafted(
    deck: Deck, rows: Rows, index: torch.Tensor, u: torch.Tensor, *, taken: torch.Tensor
) -> torch.Tensor:
    """Returns int64 [batch]: one sibling after those `taken`, int64 [batch, siblings]."""
    if deck.tree.drafting == "independent":
        return drawn(deck.draft_cumulative, deck, rows, index, u)
    left = deck.draft_masses[rows.case, index].scatter(1, taken, 0.0)
    if deck.tree.drafting == "fixed":
        return left.argmax(dim=1)
    # Added up one by one: a device's own cumsum may round otherwise, and draw another token.
    sums = torch.stack(list(accumulate(left.unbind(dim=1))), dim=1)
    return (u[:, None] * sums[:, -1:] >= sums).sum(dim=1)


def appended(
    deck: Deck, rows: Rows, code: torch.Tensor, token: torch.Tensor, position: int
) -> torch.Tensor:
    """Returns the prefix codes with `token` appended, [batch]; unchanged beyond a row's gamma."""
    longer = code * deck.vocab_size + token
    return torch.where(position < deck.gammas[rows.case], longer, code) if deck.ragged else longer


def batch_of(
    deck: Deck,
    rows: Rows,
    tokens: torch.Tensor,
    *,
    copies: tuple[torch.Tensor, torch.Tensor] | None,
) -> Batch:
    """Returns what the sampler reads: views where all rows of the call have the same laws.

    tokens int64 [batch, drafted]. copies: the target and draft rows of a uniform deck already
    repeated for at least as many rows; they are handed over in place of views, as contiguous
    tensors.
    """
    if not deck.uniform:
        target, drafts = _gathered(deck, rows, tokens)
    elif copies is not None:
        target, drafts = (rows_of[: len(tokens)] for rows_of in copies)
    else:
        target = deck.target_rows.expand(len(tokens), deck.tree.nodes + 1, -1)
        drafts = deck.draft_rows.expand(len(tokens), deck.tree.nodes, -1)
    if deck.has_tree:
        return TreeBatch(tokens, deck.parents, drafts, target)
    return StepBatch(tokens, drafts, target, deck.gammas[rows.case])


def _gathered(deck: Deck, rows: Rows, tokens: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Returns target rows [batch, drafted + 1, vocab] and draft rows [batch, drafted, vocab]."""
    nodes = range(ROOT, deck.tree.nodes)
    index = torch.stack([path_index(deck, tokens, node) for node in nodes], dim=1)
    target = deck.target_rows[rows.case[:, None], index]
    drafts = deck.draft_rows[rows.case[:, None], index[:, deck.parents + 1]]
    if deck.ragged:
        past = torch.arange(deck.gamma + 1, device=deck.device) > deck.gammas[rows.case][:, None]
        target = target.masked_fill(past[:, :, None], 0.0)
        drafts = drafts.masked_fill(past[:, 1:, None], 0.0)
    return target, drafts
