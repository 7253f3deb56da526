"""Recursive rejection in torch, and its faults: one step of `recursive` done wrong.

`rows` are the target row after 0, 1, ... rejections.

References: Miao et al. (2024) for independent siblings; Chen et al. (2024) and Jeon et al. (2024)
for distinct ones.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

import torch
from torch import Tensor

from audit.samplers.interface import Sampler, TreeBatch
from audit.samplers.rowwise import normalised
from audit.samplers.trees.walk import SiblingRule, Siblings, first, row_after, walk
from audit.tree import Tree


def latest(rows: Sequence[Tensor], siblings: Siblings) -> Tensor:
    """Returns what the rejections so far have left of the target row."""
    return rows[-1]


def original(rows: Sequence[Tensor], siblings: Siblings) -> Tensor:
    """Returns the target row as it was before any rejection."""
    return rows[0]


def first_residual(rows: Sequence[Tensor], siblings: Siblings) -> Tensor:
    """Returns what the first rejection left of the target row."""
    return rows[1]


def target_without_tokens(rows: Sequence[Tensor], siblings: Siblings) -> Tensor:
    """Returns the target row without the rejected tokens."""
    return siblings.without_tokens()


def residual(p: Tensor, q: Tensor, repeated: Tensor) -> Tensor:
    """Returns max(p - q, 0), normalised; the token is a repeated one where repeated [batch, 1]."""
    return normalised((p - q).clamp_(min=0))


def left_once(p: Tensor, q: Tensor, repeated: Tensor) -> Tensor:
    """Returns p itself where the rejected token is a repeated one, else the residual."""
    return torch.where(repeated, p, residual(p, q, repeated))


def unchanged(q: Tensor, token: Tensor) -> Tensor:
    """Returns the draft row as it was; the rejected token is [batch, 1]."""
    return q


def masked(q: Tensor, token: Tensor) -> Tensor:
    """Returns the draft row with the rejected token set to 0."""
    return q.scatter(1, token, 0.0)


def without_rejected(q: Tensor, token: Tensor) -> Tensor:
    """Returns the draft row that is left for the siblings of a drawn token."""
    return normalised(masked(q, token))


def recursive(
    siblings: Siblings,
    *,
    left: Callable[[Tensor, Tensor, Tensor], Tensor] = residual,
    spent: Callable[[Tensor, Tensor], Tensor] = unchanged,
    tested: Callable[[Sequence[Tensor], Siblings], Tensor] = latest,
    last: Callable[[Sequence[Tensor], Siblings], Tensor] = latest,
) -> tuple[Tensor, Tensor]:
    """Returns n and the last weights, each sibling tested against what is left of p and q.

    left and spent: what a rejection leaves of p and of q. tested: the row that the next sibling is
    tested against; last: the weights of the draw when none is accepted.
    """
    rows, q, ratios = [siblings.p], siblings.q, []
    for j in range(siblings.tokens.shape[1]):
        token = siblings.tokens[:, j : j + 1]
        # 0 / 0 is NaN, which no coin is below: rejected.
        ratios.append(tested(rows, siblings).gather(1, token) / q.gather(1, token))
        repeated = (siblings.tokens[:, :j] == token).any(1, keepdim=True)
        rows.append(left(rows[-1], q, repeated))
        q = spent(q, token)
    return first(siblings.coins < torch.cat(ratios, 1)), last(rows, siblings)


distinct = partial(recursive, spent=without_rejected)


def one_coin(siblings: Siblings, *, rule: SiblingRule) -> tuple[Tensor, Tensor]:
    """Returns what the rule does when every sibling is tested with the first one's coin."""
    return rule(siblings._replace(coins=siblings.coins[:, :1].expand_as(siblings.coins)))


def in_order_of(siblings: Siblings, *, row: int, rule: SiblingRule) -> tuple[Tensor, Tensor]:
    """Returns what the rule does with siblings by falling probability in field `row`."""
    tokens, rows = siblings.tokens, siblings[row]
    order = rows.gather(1, tokens).sort(dim=1, descending=True, stable=True).indices
    n, weights = rule(siblings._replace(tokens=tokens.gather(1, order)))
    none = torch.full_like(order[:, :1], tokens.shape[1])
    return torch.cat([order, none], 1).gather(1, n.unsqueeze(1)).squeeze(1), weights


def last_test_decides(siblings: Siblings) -> tuple[Tensor, Tensor]:
    """Returns n = 0 where the last sibling passes its test."""
    p, q, tokens, coins = siblings
    last = tokens[:, -1:]
    passes = coins[:, :1] < p.gather(1, last) / q.gather(1, last)
    return torch.where(passes.squeeze(1), 0, tokens.shape[1]), (p - q).clamp_(min=0)


def row_after_first_path(batch: TreeBatch, tree: Tree, leaf: int) -> Tensor:
    """Returns the target row after the first node of an accepted leaf's level."""
    level = [node for node in range(tree.nodes) if tree.level(node) == tree.level(leaf)]
    return row_after(batch, tree, level[0])


P, Q = 0, 1  # fields of Siblings


def _rule(siblings: SiblingRule) -> Sampler:
    return partial(walk, siblings=siblings)


RULES: Mapping[str, Sampler] = {
    "recursive-rejection": _rule(recursive),
    "recursive-rejection-distinct": _rule(distinct),
}

FAULTS: Mapping[str, Sampler] = {
    "siblings-target-not-updated": _rule(partial(recursive, tested=original, last=first_residual)),
    "siblings-target-not-updated-full-target": _rule(
        partial(recursive, tested=original, last=original)
    ),
    "distinct-draft-unnormalised": _rule(partial(recursive, spent=masked)),
    "independent-draft-masked": _rule(distinct),
    "siblings-full-target-fallback": _rule(partial(recursive, last=original)),
    "distinct-full-target-fallback": _rule(partial(distinct, last=original)),
    "siblings-first-residual": _rule(partial(recursive, last=first_residual)),
    "distinct-first-residual": _rule(partial(distinct, last=first_residual)),
    "repeated-sibling-skipped": _rule(partial(recursive, left=left_once)),
    "siblings-sorted-by-target": _rule(partial(in_order_of, row=P, rule=recursive)),
    "siblings-sorted-by-draft": _rule(partial(in_order_of, row=Q, rule=recursive)),
    "distinct-sorted-by-draft": _rule(partial(in_order_of, row=Q, rule=distinct)),
    "fixed-drafts-ratio-tested": _rule(distinct),
    "distinct-target-without-rejected": _rule(partial(distinct, last=target_without_tokens)),
    "siblings-one-coin": _rule(partial(one_coin, rule=recursive)),
    "distinct-one-coin": _rule(partial(one_coin, rule=distinct)),
    "last-sibling-decides": _rule(last_test_decides),
    "bonus-from-first-path": partial(walk, siblings=distinct, bonus=row_after_first_path),
}
