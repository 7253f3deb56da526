"""The `[tree]` table of a case file: reading it, and whether sizes and draft rows fit it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from audit.case import Prefix, Rows
from audit.casefile.checks import cut_short
from audit.casefile.problems import Problems
from audit.casefile.rows import reachable
from audit.casefile.schema import Sizes, TreeTable
from audit.plural import counted
from audit.tree import ROOT, Tree


class Scarce(NamedTuple):
    """A draft row with fewer ids of positive probability than siblings are drawn from it."""

    prefix: Prefix
    ids: int
    siblings: int

    @property
    def place(self) -> str:
        """The row, as problems name it."""
        return f'[draft] row "{" ".join(map(str, self.prefix))}"'

    @property
    def problem(self) -> str:
        """What is wrong with it."""
        return (
            f"has {counted(self.ids, 'id')} of positive probability, but [tree] draws "
            f"{self.siblings} different siblings from it; give it more, or take independent "
            "siblings."
        )


def read_tree(document: Mapping[str, Any], *, sizes: Sizes, problems: Problems) -> Tree | None:
    """Returns the draft tree, None where there is none; what is wrong is added to `problems`."""
    if "tree" not in document:
        return None
    keys = problems.table(TreeTable, document["tree"], name="tree")
    if keys is None:
        return None
    tree = problems.attempt("[tree]", partial(Tree, keys.parents, keys.drafting))
    if tree is not None:
        _check_depth(tree, sizes.num_speculative_tokens, problems=problems)
    return tree


def _check_depth(tree: Tree, gamma: int | None, *, problems: Problems) -> None:
    if gamma is not None and tree.depth != gamma:
        problems.add(
            "[tree]",
            f"is {tree.depth} nodes deep, but num_speculative_tokens is {gamma}; make them equal.",
        )


def check_cells(cells: int, bound: int, *, problems: Problems) -> None:
    """Adds the problem of a tree whose rounds cannot be counted token by token."""
    if cells > bound:
        problems.add(
            "[tree]",
            f"needs V^nodes (depth + 1) V^(depth + 1) = {cut_short(f'{cells:,}')} cells, above "
            f"the bound of {bound:,}; take fewer nodes or fewer ids.",
        )


def scarce_rows(draft: Rows, tree: Tree) -> Iterator[Scarce]:
    """Yields the rows that can be reached and cannot fill the tree with different siblings."""
    if tree.drafting == "independent":
        return
    siblings = [0] * tree.depth
    for node in range(ROOT, tree.nodes):
        if children := len(tree.children(node)):
            siblings[tree.level(node)] = max(siblings[tree.level(node)], children)
    for prefix in reachable(draft, tree.depth - 1):
        ids = int(np.count_nonzero(draft[prefix].numerators))
        if ids < siblings[len(prefix)]:
            yield Scarce(prefix, ids, siblings[len(prefix)])
