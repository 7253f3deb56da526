"""The steps that go wrong in recursive rejection, as ingredients of `Recursive` and `Walk`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from audit.exact.paths import Rounds
from audit.exact.ratios import Ratios, Tokens, clipped_ratio, minimum, whole
from audit.exact.trees.recursive import RowsSoFar, residual
from audit.exact.trees.walk import SiblingLaw, Siblings


def original(rows: RowsSoFar, siblings: Siblings) -> Ratios:
    """Returns the target row as it was before any rejection."""
    return rows[0]


def first_residual(rows: RowsSoFar, siblings: Siblings) -> Ratios:
    """Returns what the first rejection left of the target row."""
    return rows[1]


def target_without_tokens(rows: RowsSoFar, siblings: Siblings) -> Ratios:
    """Returns the target row without the rejected tokens."""
    return siblings.p_without_tokens


def masked(q: Ratios, token: Tokens) -> Ratios:
    """Returns the draft row without a rejected token, not normalised."""
    return q.without(token)


def left_once(p: Ratios, q: Ratios, repeated: npt.NDArray[np.bool_]) -> Ratios:
    """Returns p itself where the rejected token is a repeated one, else the residual."""
    skipped = whole(repeated).column()
    return (skipped * p + skipped.complement() * residual(p, q, repeated)).reduced()


def one_coin(open_: Ratios, fails: Ratios) -> Ratios:
    """Returns P(none accepted) after a test that looks at the coin of the tests before it."""
    return minimum(open_, fails)


def last_test_decides(siblings: Siblings) -> tuple[Sequence[Ratios], Ratios]:
    """Returns the law that tests the last sibling against p and q, and emits the first one."""
    last = siblings.tokens[:, -1]
    accept = clipped_ratio(siblings.p.at(last), siblings.q.at(last))
    others = [whole([0])] * (siblings.tokens.shape[1] - 1)
    return [accept, *others], (siblings.p - siblings.q).positive()


def row_after_first_path(rounds: Rounds, leaf: int) -> Ratios:
    """Returns the target row after the first node of an accepted leaf's level."""
    tree = rounds.tree
    level = (node for node in range(tree.nodes) if tree.level(node) == tree.level(leaf))
    return rounds.target[next(level) + 1]


def target_row(siblings: Siblings) -> Ratios:
    """Returns p."""
    return siblings.p


def draft_row(siblings: Siblings) -> Ratios:
    """Returns q."""
    return siblings.q


def in_order_of(row: Callable[[Siblings], Ratios], law: SiblingLaw) -> SiblingLaw:
    """Returns the law that tests siblings by falling probability in a row, ties as they stand."""

    def sorted_law(siblings: Siblings) -> tuple[list[Ratios], Ratios]:
        tokens = siblings.tokens
        keys = np.take_along_axis(row(siblings).numerators, tokens, axis=-1)
        order = np.argsort(-keys, axis=-1, kind="stable")
        moved = replace(siblings, tokens=np.take_along_axis(tokens, order, axis=-1))
        chances, weights = law(moved)
        return [_placed(chances, order == j) for j in range(tokens.shape[1])], weights

    return sorted_law


def _placed(chances: Sequence[Ratios], here: npt.NDArray[np.bool_]) -> Ratios:
    """Returns the chance of one sibling, which stands `here` in the order of the tests."""
    placed = whole([0])
    for chance, mask in zip(chances, here.T, strict=True):
        placed = (placed + chance * whole(mask)).reduced()
    return placed
