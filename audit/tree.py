"""The shape of a draft tree: which node continues which, and how siblings are drawn."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

Drafting = Literal["independent", "distinct", "fixed"]
ROOT = -1


def drafts_called(drafting: Drafting | None) -> str:
    """Returns what drafts of this kind are called; None: they are chains.

    >>> drafts_called(None), drafts_called("distinct")
    ('chains', 'trees of distinct siblings')
    """
    return f"trees of {drafting} siblings" if drafting else "chains"


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

    def __post_init__(self) -> None:
        """Raises ValueError where there is no node, or a parent not before its child."""
        if not self.parents:
            raise ValueError("has no node, but needs at least one; write the parent of each node.")
        for node, parent in enumerate(self.parents):
            if not ROOT <= parent < node:
                raise ValueError(
                    f"parent {parent} of node {node} must be from {ROOT} (the start of the round) "
                    f"to {node - 1} (the node before it); correct it."
                )

    @classmethod
    def chain(cls, length: int) -> Tree:
        """Returns the tree that is a single path.

        >>> Tree.chain(3).parents
        (-1, 0, 1)
        """
        return cls(tuple(range(ROOT, length - 1)), "independent")

    @property
    def nodes(self) -> int:
        """The number of drafted tokens."""
        return len(self.parents)

    @cached_property
    def depth(self) -> int:
        """The most drafted tokens that one round can accept."""
        return max(self.level(node) for node in range(self.nodes))

    def children(self, node: int) -> tuple[int, ...]:
        """Returns the nodes that continue `node`, in the order in which they are drawn."""
        return tuple(child for child, parent in enumerate(self.parents) if parent == node)

    def elder(self, node: int) -> tuple[int, ...]:
        """Returns the siblings of `node` that are drawn before it."""
        return tuple(other for other in self.children(self.parents[node]) if other < node)

    def level(self, node: int) -> int:
        """Returns how many drafted tokens stand on the path that ends with `node`."""
        return len(self.path(node))

    def path(self, node: int) -> tuple[int, ...]:
        """Returns the nodes from the first level down to `node`, () for the root."""
        return () if node == ROOT else (*self.path(self.parents[node]), node)
