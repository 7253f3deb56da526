"""Rules that walk down a draft tree: at each node they accept one child, or draw and end.

Such a rule is told by what it does with the siblings at one place. Rows are [paths, vocab], the
chances and tokens of one sibling [paths], those of all siblings [paths, siblings].
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from audit.exact.chain import Branch
from audit.exact.paths import Rounds
from audit.exact.ratios import Ratios, Tokens, whole
from audit.tree import ROOT, Tree


@dataclass(frozen=True)
class Siblings:
    """The children of one node: the target row p there, the draft row q, and their tokens."""

    p: Ratios
    q: Ratios
    tokens: Tokens

    @property
    def repeated(self) -> npt.NDArray[np.bool_]:
        """Whether an earlier sibling holds the same token, [paths, siblings]."""
        same = self.tokens[:, :, None] == self.tokens[:, None, :]
        return np.asarray(np.tril(same, k=-1).any(axis=-1))

    @property
    def p_without_tokens(self) -> Ratios:
        """The target row with every drafted token set to 0, not normalised."""
        row = self.p
        for token in self.tokens.T:
            row = row.without(token)
        return row


# The chance that each sibling is accepted, and the weights of the draw if none is.
SiblingLaw = Callable[[Siblings], tuple[Sequence[Ratios], Ratios]]


def siblings_at(rounds: Rounds, node: int) -> Siblings:
    """Returns what a verifier sees of the children of a node that has some."""
    children = list(rounds.tree.children(node))
    return Siblings(rounds.target[node + 1], rounds.draft[children[0]], rounds.tokens[:, children])


def row_after(rounds: Rounds, leaf: int) -> Ratios:
    """Returns the target row after an accepted leaf, the proper bonus row."""
    return rounds.target[leaf + 1]


def ending(tree: Tree, node: int, chance: Ratios, row: Ratios) -> Branch:
    """Returns the end of a round that keeps the path down to `node` and then draws from `row`."""
    path = tree.path(node)
    return Branch(len(path), chance.reduced(), (row,), nodes=path)


@dataclass(frozen=True)
class Walk:
    """The law of a rule that walks down the tree.

    bonus: the row of the token that is drawn after an accepted leaf.
    """

    siblings: SiblingLaw
    bonus: Callable[[Rounds, int], Ratios] = row_after

    def __call__(self, rounds: Rounds) -> list[Branch]:
        """Returns the ways a round can end, one for every node and the root."""
        return self._below(rounds, ROOT, whole([1]))

    def _below(self, rounds: Rounds, node: int, reached: Ratios) -> list[Branch]:
        children = rounds.tree.children(node)
        if not children:
            return [ending(rounds.tree, node, reached, self.bonus(rounds, node))]
        chances, weights = self.siblings(siblings_at(rounds, node))
        branches, none = [], whole([1])
        for child, chance in zip(children, chances, strict=True):
            branches += self._below(rounds, child, (reached * chance).reduced())
            none = (none - chance).reduced()
        return [*branches, ending(rounds.tree, node, reached * none, weights.normalised())]
