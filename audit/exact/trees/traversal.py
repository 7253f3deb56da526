"""Traversal verification: whole paths are tested, leaf by leaf, each rejected leaf cut off.

A node is kept with the probability P of its path, where P(root) = 1 and a child has
min(1, P p(c) / q(c)). A rejected leaf c leaves at its parent max(P p - q, 0), of sum S, as p, q
without c, both normalised, and P = S / (S + 1 - P). When all its children are cut off, a node is
a leaf itself. On a single path this is block verification. An excess of no mass leaves the target
row itself: the right P never draws from it.

Reference: Weng et al. (2025), traversal verification.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from audit.exact.chain import Branch
from audit.exact.paths import Rounds
from audit.exact.ratios import Ratios, clipped_ratio, whole
from audit.exact.rule import Rule
from audit.exact.trees.walk import ending
from audit.tree import ROOT


def chance_left(path: Ratios, excess: Ratios, rest: Ratios) -> Ratios:
    """Returns S / (S + 1 - P), 1 for 0 / 0: a node that must be kept stays so."""
    return clipped_ratio(path.complement(), excess + path.complement()).complement()


def chance_by_ratio(path: Ratios, excess: Ratios, rest: Ratios) -> Ratios:
    """Returns min(1, S over what is left of q)."""
    return clipped_ratio(excess, rest)


def chance_kept(path: Ratios, excess: Ratios, rest: Ratios) -> Ratios:
    """Returns P itself."""
    return path


@dataclass(frozen=True)
class Traversal:
    """The law of traversal verification.

    left: P of a node after one of its leaves was rejected, from P, the excess S = sum of
    max(P p - q, 0), and the sum of q without the leaf's token.
    """

    left: Callable[[Ratios, Ratios, Ratios], Ratios] = chance_left

    def __call__(self, rounds: Rounds) -> list[Branch]:
        """Returns the ways a round can end, in the order in which nodes are tested."""
        return self._tested(rounds, ROOT, whole([1]), whole([1]))[0]

    def _tested(
        self, rounds: Rounds, node: int, path: Ratios, reached: Ratios
    ) -> tuple[list[Branch], Ratios]:
        """Returns the ends at a node or below it, and the chance that none of them happens."""
        branches, p = list[Branch](), rounds.target[node + 1]
        children = rounds.tree.children(node)
        q = rounds.draft[children[0]] if children else p
        for child in children:
            token = rounds.tokens[:, child]
            kept = clipped_ratio(path * p.at(token), q.at(token))
            found, reached = self._tested(rounds, child, kept, reached)
            branches += found
            excess, rest = (path.column() * p - q).positive().reduced(), q.without(token)
            path = self.left(path, excess.total(), rest.total()).reduced()
            p, q = _law_of(excess, rounds.target[node + 1]), rest.normalised().reduced()
        path = whole([1]) if node == ROOT else path
        branches.append(ending(rounds.tree, node, reached * path, p))
        return branches, (reached * path.complement()).reduced()


def _law_of(excess: Ratios, target: Ratios) -> Ratios:
    nothing = whole(excess.total().numerators == 0).column()
    return (excess.normalised() + nothing * target).reduced()


ENTRIES = (
    Rule(
        id="traversal",
        family="lossless",
        meaning="tests whole paths from the leaves up and cuts rejected leaves off",
        formula="keeps a path with P = min(1, P p/q); a cut leaf leaves S / (S + 1 - P) above it",
        happens="accepts more than recursive rejection from two levels on",
        law=Traversal(),
        reference="Weng et al. (2025), traversal verification",
        lossless=True,
        trees=("distinct",),
    ),
    Rule(
        id="traversal-ratio-update",
        family="fault",
        meaning="gives the parent of a cut leaf the ratio of the two masses that are left",
        formula="P = min(1, S / sum of q without c) instead of S / (S + 1 - P)",
        happens="the chance is read as a ratio of residuals, which does not add up along a path",
        law=Traversal(chance_by_ratio),
        gate=True,
        code="T24",
        trees=("distinct",),
        base="traversal",
    ),
    Rule(
        id="traversal-without-update",
        family="fault",
        meaning="leaves the chance of the parent of a cut leaf as it was",
        formula="P stays P instead of S / (S + 1 - P)",
        happens="only the rows are updated after a rejection; siblings of one level hide it",
        law=Traversal(chance_kept),
        gate=True,
        trees=("distinct",),
        base="traversal",
    ),
)
