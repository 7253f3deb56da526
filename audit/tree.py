"""The shape of a draft tree: which node continues which, and how siblings are drawn."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

Drafting = Literal["independent", "distinct", "fixed"]
ROOT = -1


@dataclass(frozen=True)
class Tree:
    """A draft tree without its tokens.

    parents[i] is the node that node i continues, ROOT for the first level; a parent comes before
    its children, and siblings stand in the order in which they are drawn. drafting: siblings are
    "independent" draws from the draft row, "distinct" draws from it without replacement, or
    "fixed": its most probable tokens, ties to the lower id.

    >>> pair = Tree(parents=(-1, -1, 0), drafting="independent")
    >>> pair.children(ROOT), pair.path(2), pair.depth
    ((0, 1), (0, 2), 2)
    """

    parents: tuple[int, ...]
    drafting: Drafting

    @property
    def nodes(self) -> int:
        """The number of drafted tokens."""
        return len(self.parents)

    @cached_property
    def depth(self) -> int:
        """The most drafted tokens that one round can accept."""
        return max(len(self.path(node)) for node in range(self.nodes))

    def children(self, node: int) -> tuple[int, ...]:
        """Returns the nodes that continue `node`, in the order in which they are drawn."""
        return tuple(child for child, parent in enumerate(self.parents) if parent == node)

    def path(self, node: int) -> tuple[int, ...]:
        """Returns the nodes from the first level down to `node`, () for the root."""
        return () if node == ROOT else (*self.path(self.parents[node]), node)
