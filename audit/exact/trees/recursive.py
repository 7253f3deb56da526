"""Recursive rejection: siblings are tested one after another, each against what is left of p.

After a rejection the target row becomes its own residual max(p - q, 0), normalised; the last of
these rows is drawn from when no sibling is left. Where siblings are drawn without replacement, a
rejected token also leaves q.

References: Miao et al. (2024), SpecInfer, for independent siblings; Chen et al. (2024), Sequoia,
and Jeon et al. (2024) for distinct ones.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from audit.exact.ratios import Ratios, Tokens, clipped_ratio, whole
from audit.exact.rule import Rule
from audit.exact.trees.walk import Siblings, Walk

RowsSoFar = Sequence[Ratios]


def latest(rows: RowsSoFar, siblings: Siblings) -> Ratios:
    """Returns what the rejections so far have left of the target row."""
    return rows[-1]


def residual(p: Ratios, q: Ratios, repeated: npt.NDArray[np.bool_]) -> Ratios:
    """Returns max(p - q, 0), normalised: what a rejection leaves of p."""
    return (p - q).positive().normalised().reduced()


def unchanged(q: Ratios, token: Tokens) -> Ratios:
    """Returns the draft row as it was: the next sibling comes from it too."""
    return q


def without_rejected(q: Ratios, token: Tokens) -> Ratios:
    """Returns the draft row that is left for the siblings of a drawn token."""
    return q.without(token).normalised().reduced()


def own_coins(open_: Ratios, fails: Ratios) -> Ratios:
    """Returns P(none accepted) after a test that has a coin of its own."""
    return open_ * fails


@dataclass(frozen=True)
class Recursive:
    """The law of recursive rejection among siblings.

    left: what a rejection leaves of p, from p, q, and whether the token is a repeated one. spent:
    what it leaves of q. tested: the row that a sibling is tested against, last: the weights of the
    draw when none is accepted, both from p after 0, 1, ... rejections. coins: how tests share
    coins, as the chance that all have failed so far.
    """

    left: Callable[[Ratios, Ratios, npt.NDArray[np.bool_]], Ratios] = residual
    spent: Callable[[Ratios, Tokens], Ratios] = unchanged
    tested: Callable[[RowsSoFar, Siblings], Ratios] = latest
    last: Callable[[RowsSoFar, Siblings], Ratios] = latest
    coins: Callable[[Ratios, Ratios], Ratios] = own_coins

    def __call__(self, siblings: Siblings) -> tuple[list[Ratios], Ratios]:
        """Returns the chance that each sibling is accepted, and the weights if none is."""
        rows, q = [siblings.p], siblings.q
        open_, chances = whole([1]), []
        for token, repeated in zip(siblings.tokens.T, siblings.repeated.T, strict=True):
            accept = clipped_ratio(self.tested(rows, siblings).at(token), q.at(token))
            still = self.coins(open_, accept.complement()).reduced()
            chances.append((open_ - still).reduced())
            rows.append(self.left(rows[-1], q, repeated))
            q, open_ = self.spent(q, token), still
        return chances, self.last(rows, siblings)


WITHOUT = Recursive(spent=without_rejected)

ENTRIES = (
    Rule(
        id="recursive-rejection",
        family="lossless",
        meaning="tests independent siblings in turn, each against what is left of the target row",
        formula="accepts c with min(1, p/q), then p becomes max(p - q, 0), normalised",
        happens="the standard rule for siblings drawn independently; a repeated one is tested too",
        law=Walk(Recursive()),
        reports=("MCSD #5",),
        reference="Miao et al. (2024), SpecInfer, multi-step speculative sampling",
        lossless=True,
        code="T00w",
        trees=("independent",),
    ),
    Rule(
        id="recursive-rejection-distinct",
        family="lossless",
        meaning="tests siblings drawn without replacement, taking rejected tokens out of q as well",
        formula="as recursive-rejection, and q becomes q without c, normalised",
        happens="the standard rule for siblings that all differ; tests must keep the draws' order",
        law=Walk(WITHOUT),
        reference="Chen et al. (2024), Sequoia; Jeon et al. (2024), RSD",
        lossless=True,
        code="T00o",
        trees=("distinct",),
    ),
)
