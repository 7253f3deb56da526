"""What every (draft block, emitted block) pair says about the steps of its round.

Position j counts emitted tokens from 1. A token before the last is a kept one, the last is drawn:
a recovered token where drafted tokens were left to test, else the bonus token.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from audit.diagnosis.observed import Pairs
from audit.diagnosis.results import Step
from audit.exact.engine import rounds_of_case
from audit.statistics.results import Labels
from audit.tree import ROOT, Tree

Mask = npt.NDArray[np.bool_]
_LOST = -2  # no node: an emitted token was none of those drafted there


@dataclass(frozen=True, eq=False)
class Event:
    """Something that a step may do: the pairs in which it could, and those in which it did."""

    step: Step
    position: int
    given: Mask
    happens: Mask
    token: int | None = None
    sibling: int | None = None


@dataclass(frozen=True, eq=False)
class Layout:
    """The pairs of one case, cell by cell.

    draft: the code of the draft block. length: emitted tokens. last: the last of them. nodes
    [gamma + 1, cells]: the tree's node reached before position j + 1, _LOST where kept tokens
    are not the drafted ones. tokens [drafts, drafted]: the tokens of a draft block.
    """

    pairs: Pairs
    tree: Tree
    tokens: Labels
    draft: Labels
    length: Labels
    last: Labels
    nodes: Labels

    @classmethod
    def of(cls, pairs: Pairs) -> Layout:
        """Returns the layout of the pairs of a case."""
        rounds, size = rounds_of_case(pairs.case), pairs.case.vocab_size
        shapes = [(len(rounds.tokens), size**length) for length in pairs.lengths]
        grids = [np.indices(shape).reshape(2, -1) for shape in shapes]
        draft, code = np.concatenate(grids, axis=1)
        length = np.repeat(pairs.lengths, [grid.shape[1] for grid in grids])
        nodes = _nodes(rounds.tree, rounds.tokens[draft], code, length, size)
        return cls(pairs, rounds.tree, rounds.tokens, draft, length, code % size, nodes)

    def events(self) -> Iterator[Event]:
        """Yields everything that a step may do, with the pairs that show it.

        Where kept tokens are not the drafted ones, what follows them is said of the bonus token.
        """
        for position in self.pairs.lengths:
            reached, ends = self.length >= position, self.length == position
            goes_on, inner = reached & ~ends, self._child(0)[self.nodes[position - 1]] >= 0
            if position < len(self.nodes):
                yield from self._accepted(position, reached, goes_on)
                yield Event("kept", position, goes_on, goes_on & (self.nodes[position] == _LOST))
            yield from self._drawn("recovered", position, ends & inner)
            yield from self._drawn("bonus", position, ends & ~inner)
            yield Event("length", position, np.ones_like(ends), ends)

    def _accepted(self, position: int, reached: Mask, goes_on: Mask) -> Iterator[Event]:
        """Yields the tests of the drafted tokens, of a tree sibling by sibling, as they are made.

        A sibling is tested where none before it was accepted.
        """
        before, after = self.nodes[position - 1], self.nodes[position]
        chain, earlier = self.pairs.case.tree is None, np.zeros_like(reached)
        for place in range(self._most_siblings):
            child = self._child(place)[before]
            accepted = goes_on if chain else goes_on & (after == child)
            tested = reached & (child >= 0) & ~earlier
            drafted = self.tokens[self.draft, child]
            for token in range(self.pairs.case.vocab_size):
                given = tested & (drafted == token)
                sibling = None if chain else place
                yield Event("accept", position, given, given & accepted, token, sibling)
            earlier = earlier | accepted

    @property
    def _most_siblings(self) -> int:
        nodes = range(ROOT, self.tree.nodes)
        return max(len(self.tree.children(node)) for node in nodes)

    def _child(self, place: int) -> Labels:
        """Returns the child at a place, indexed by node (_LOST and ROOT last); -1 for none."""
        children = [self.tree.children(node) for node in (*range(self.tree.nodes), _LOST, ROOT)]
        return np.array([found[place] if place < len(found) else -1 for found in children])

    def _drawn(self, step: Step, position: int, given: Mask) -> Iterator[Event]:
        for token in range(self.pairs.case.vocab_size):
            yield Event(step, position, given, given & (self.last == token), token=token)


def _nodes(tree: Tree, drafted: Labels, code: Labels, length: Labels, size: int) -> Labels:
    """Returns int64 [gamma + 1, cells]: the node reached before each position.

    Of siblings with the same token the first is meant. drafted: int64 [cells, drafted].
    """
    nodes = [np.full(len(code), ROOT)]
    for position in range(1, tree.depth + 1):
        emitted = code // size ** np.maximum(length - position, 0) % size
        before, after = nodes[-1], np.full(len(code), _LOST)
        for child in reversed(range(tree.nodes)):
            hit = (before == tree.parents[child]) & (drafted[:, child] == emitted)
            after[hit & (length > position)] = child
        nodes.append(after)
    return np.array(nodes)
