"""Walking down a draft tree: accept one child of each node, or draw and end.

The tree is the same in every row of a batch, so that its nodes are met in a loop and the rows
side by side. Rows of probabilities are float64 [batch, vocab] once read; `n` of k siblings is the
number of those that stand before the accepted one, k where none is. A call tosses all its coins
at once, one for every node and one for the last draw.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor

from audit.samplers.chain import draw, emit, toss
from audit.samplers.interface import TreeBatch
from audit.tree import ROOT, Tree


class Siblings(NamedTuple):
    """The children of one node in every row.

    p and q [batch, vocab]: the target row after the node, and the row that its children were drawn
    from; tokens int64 and coins float64 [batch, siblings].
    """

    p: Tensor
    q: Tensor
    tokens: Tensor
    coins: Tensor

    def without_tokens(self) -> Tensor:
        """Returns the target row with every drafted token set to 0."""
        return self.p.scatter(1, self.tokens, 0.0)


SiblingRule = Callable[[Siblings], tuple[Tensor, Tensor]]  # n and the weights if none is accepted


def shape_of(batch: TreeBatch) -> Tree:
    """Returns the tree of a batch; how its siblings were drawn is not to be seen there."""
    return Tree(tuple(batch.parents.tolist()), "independent")


def siblings_at(batch: TreeBatch, tree: Tree, node: int, coins: Tensor) -> Siblings:
    """Returns what there is to see of the children of a node that has some."""
    children = list(tree.children(node))
    q = batch.draft_probs[:, children[0]].double()
    return Siblings(
        row_after(batch, tree, node), q, batch.draft_token_ids[:, children], coins[:, children]
    )


def row_after(batch: TreeBatch, tree: Tree, node: int) -> Tensor:
    """Returns the target row after a node, the proper bonus row after an accepted leaf."""
    return batch.target_probs[:, node + 1].double()


def emit_path(batch: TreeBatch, tree: Tree, at: Tensor, token: Tensor) -> Tensor:
    """Returns the tokens down to node at[b] of every row b, then `token`, int64 [batch, depth + 1].

    A row whose draw is undefined (token -1) is empty.
    """
    ends = range(ROOT, tree.nodes)
    padded = [(*tree.path(end), *[0] * (tree.depth - tree.level(end))) for end in ends]
    paths = torch.tensor(padded, device=at.device)[at + 1]
    n = torch.tensor([tree.level(end) for end in ends], device=at.device)[at + 1]
    return emit(batch.draft_token_ids.gather(1, paths), n, token)


def walk(
    batch: TreeBatch,
    generator: torch.Generator,
    *,
    siblings: SiblingRule,
    bonus: Callable[[TreeBatch, Tree, int], Tensor] = row_after,
) -> Tensor:
    """Returns the tokens of a rule that walks down the tree, int64 [batch, depth + 1].

    siblings: what becomes of the children of one node. bonus: the row of the token that is drawn
    after an accepted leaf.
    """
    tree = shape_of(batch)
    coins = toss(batch, tree.nodes + 1, generator)
    weights = row_after(batch, tree, ROOT)
    at = torch.full_like(batch.draft_token_ids[:, 0], ROOT)
    for node in range(ROOT, tree.nodes):
        here, children = at == node, tree.children(node)
        if children:
            n, left = siblings(siblings_at(batch, tree, node, coins))
            at = torch.where(here, torch.tensor([*children, node], device=at.device)[n], at)
        else:
            left = bonus(batch, tree, node)
        weights = torch.where(here.unsqueeze(1), left, weights)
    return emit_path(batch, tree, at, draw(weights, coins[:, -1]))


def first(passes: Tensor) -> Tensor:
    """Returns n: how many siblings stand before the first that passes, from bool [batch, k]."""
    return (~passes).long().cumprod(1).sum(1)
