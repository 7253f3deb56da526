"""How the tokens of a draft tree come about: the row that each is really drawn from.

Rows are [paths, vocab], tokens int64 [paths, nodes]. A tree's siblings share one draft row; what
they leave of it for the next sibling depends on how the tree is drafted (audit/tree.py).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from audit.exact.ratios import Ratios, Tokens, whole
from audit.tree import Drafting, Tree


def drawn_from(tree: Tree, tokens: Tokens, rows: Sequence[Ratios]) -> list[Ratios]:
    """Returns the row that each node is drawn from, given its siblings drawn before it.

    rows: the draft row at each node's place; a row of sum 0 where no token is left.
    """
    left = _LEFT[tree.drafting]
    return [left(row, tokens[:, _elder(tree, node)]) for node, row in enumerate(rows)]


def _elder(tree: Tree, node: int) -> list[int]:
    """Returns the siblings of a node that are drawn before it."""
    return [sibling for sibling in tree.children(tree.parents[node]) if sibling < node]


def _independent(row: Ratios, elder: Tokens) -> Ratios:
    return row


def _distinct(row: Ratios, elder: Tokens) -> Ratios:
    for token in elder.T:
        row = row.without(token)
    return row.normalised()


def _fixed(row: Ratios, elder: Tokens) -> Ratios:
    ranks = np.argsort(np.argsort(-row.numerators, axis=-1, kind="stable"), axis=-1)
    return whole(ranks == elder.shape[1])


_LEFT: Mapping[Drafting, Callable[[Ratios, Tokens], Ratios]] = {
    "independent": _independent,
    "distinct": _distinct,
    "fixed": _fixed,
}
