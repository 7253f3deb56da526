"""Rules that verify whole paths, in torch: traversal verification and the longest accepted path.

Reference: Weng et al. (2025) for `traversal`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

import torch
from torch import Tensor

from audit.samplers.chain import draw, toss
from audit.samplers.interface import Sampler, TreeBatch
from audit.samplers.rowwise import NEAR, normalised
from audit.samplers.trees.walk import emit_path, row_after, shape_of
from audit.tree import ROOT, Tree

Left = Callable[[Tensor, Tensor, Tensor], Tensor]


def chance_left(path: Tensor, excess: Tensor, rest: Tensor) -> Tensor:
    """Returns S / (S + 1 - P), 1 for 0 / 0; all [batch, 1]."""
    return torch.where(excess + 1 - path > 0, excess / (excess + 1 - path), 1.0)


def chance_by_ratio(path: Tensor, excess: Tensor, rest: Tensor) -> Tensor:
    """Returns min(1, S over what is left of q), 0 for 0 / 0."""
    return (excess / rest).nan_to_num(nan=0.0).clamp(max=1)


def chance_kept(path: Tensor, excess: Tensor, rest: Tensor) -> Tensor:
    """Returns P itself."""
    return path


class _Search:
    """Tests the nodes from the leaves up; `at` is the node that a row keeps, once it is decided."""

    def __init__(self, batch: TreeBatch, coins: Tensor, left: Left) -> None:
        self.batch, self.tree, self.coins, self.left = batch, shape_of(batch), coins, left
        self.at = torch.full_like(batch.draft_token_ids[:, 0], ROOT)
        self.weights = row_after(batch, self.tree, ROOT)
        self.decided = torch.zeros_like(self.at, dtype=torch.bool)

    def test(self, node: int, path: Tensor) -> None:
        """Tests what is below a node, then the node itself, which has P = path [batch, 1]."""
        p = target = row_after(self.batch, self.tree, node)
        children = self.tree.children(node)
        q = self.batch.draft_probs[:, children[0]].double() if children else p
        for child in children:
            token = self.batch.draft_token_ids[:, child : child + 1]
            kept = path * p.gather(1, token) / q.gather(1, token)
            self.test(child, kept.nan_to_num(nan=0.0).clamp(max=1))
            excess, rest = (path * p - q).clamp_(min=0), q.scatter(1, token, 0.0)
            mass = excess.sum(1, keepdim=True)
            path = self.left(path, mass, rest.sum(1, keepdim=True))
            # Rounding may leave a trace of an excess that has no mass; the target row stands in.
            p, q = torch.where(mass > NEAR, normalised(excess), target), normalised(rest)
        self._decide(node, p, path.squeeze(1))

    def _decide(self, node: int, p: Tensor, path: Tensor) -> None:
        passes = ~self.decided
        if node != ROOT:
            passes = passes & (self.coins[:, node] < path)
        self.at = torch.where(passes, node, self.at)
        self.weights = torch.where(passes.unsqueeze(1), p, self.weights)
        self.decided = self.decided | passes


def traversal(batch: TreeBatch, generator: torch.Generator, *, left: Left = chance_left) -> Tensor:
    """Returns the tokens of traversal verification, int64 [batch, depth + 1].

    left: P of a node after a leaf below it was rejected, from P, the excess, the rest of q.
    """
    coins = toss(batch, len(batch.parents) + 1, generator)
    search = _Search(batch, coins, left)
    search.test(ROOT, torch.ones_like(coins[:, :1]))
    return emit_path(batch, search.tree, search.at, draw(search.weights, coins[:, -1]))


def longest_path(batch: TreeBatch, generator: torch.Generator) -> Tensor:
    """Returns the longest path of which every token passes its own p / q test, then a draw."""
    tree = shape_of(batch)
    coins = toss(batch, tree.nodes + 1, generator)
    at = torch.full_like(batch.draft_token_ids[:, 0], ROOT)
    alive = {ROOT: torch.ones_like(at, dtype=torch.bool)}
    longest = torch.zeros_like(at)
    for node, parent in enumerate(tree.parents):
        token = batch.draft_token_ids[:, node : node + 1]
        p, q = row_after(batch, tree, parent), batch.draft_probs[:, node].double()
        ratio = (p.gather(1, token) / q.gather(1, token)).squeeze(1)
        alive[node] = alive[parent] & (coins[:, node] < ratio)
        longer = alive[node] & (longest < tree.level(node))
        at = torch.where(longer, node, at)
        longest = torch.where(longer, tree.level(node), longest)
    return emit_path(batch, tree, at, draw(_last_weights(batch, tree, at), coins[:, -1]))


def _last_weights(batch: TreeBatch, tree: Tree, at: Tensor) -> Tensor:
    """Returns the residual after node at[b] of every row b, the target row after a leaf."""
    weights = row_after(batch, tree, ROOT)
    for node in range(ROOT, tree.nodes):
        row, children = row_after(batch, tree, node), tree.children(node)
        if children:
            row = (row - batch.draft_probs[:, children[0]]).clamp_(min=0)
        weights = torch.where((at == node).unsqueeze(1), row, weights)
    return weights


RULES: Mapping[str, Sampler] = {"traversal": traversal}

FAULTS: Mapping[str, Sampler] = {
    "traversal-ratio-update": partial(traversal, left=chance_by_ratio),
    "traversal-without-update": partial(traversal, left=chance_kept),
    "longest-accepted-path": longest_path,
}
