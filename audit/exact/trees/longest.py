"""Paths verified one by one, of which the longest accepted one is kept."""

from __future__ import annotations

import itertools

from audit.exact.chain import Branch
from audit.exact.paths import Rounds
from audit.exact.ratios import Ratios, clipped_ratio, whole
from audit.exact.trees.walk import ending
from audit.tree import ROOT, Tree


def longest_path(rounds: Rounds) -> list[Branch]:
    """Returns the ends where every node has its own p / q test and the deepest path that passes
    is kept, the first one in a tie; then the residual, or the bonus row after a leaf.
    """
    tree, accepts = rounds.tree, _accepts(rounds)
    chances = {node: whole([0]) for node in range(ROOT, tree.nodes)}
    for passed in itertools.product((True, False), repeat=tree.nodes):
        chance = whole([1])
        for accept, one in zip(accepts, passed, strict=True):
            chance = (chance * (accept if one else accept.complement())).reduced()
        kept = _deepest(tree, passed)
        chances[kept] = (chances[kept] + chance).reduced()
    return [ending(tree, node, chance, _last_row(rounds, node)) for node, chance in chances.items()]


def _accepts(rounds: Rounds) -> list[Ratios]:
    """Returns min(1, p / q) of every drafted token."""
    rows = zip(rounds.tokens.T, rounds.tree.parents, rounds.draft, strict=True)
    return [clipped_ratio(rounds.target[parent + 1].at(x), q.at(x)) for x, parent, q in rows]


def _deepest(tree: Tree, passed: tuple[bool, ...]) -> int:
    """Returns the deepest node whose whole path passed, the first one in a tie."""
    whole_paths = [n for n in range(ROOT, tree.nodes) if all(passed[i] for i in tree.path(n))]
    return max(whole_paths, key=tree.level)


def _last_row(rounds: Rounds, node: int) -> Ratios:
    p, children = rounds.target[node + 1], rounds.tree.children(node)
    return (p - rounds.draft[children[0]]).positive().normalised() if children else p
