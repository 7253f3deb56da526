"""The faults as exact laws of one round: the ratio rule with one thing wrong.

Each `Chain` names only what differs from `Chain()`, which is the ratio rule. p is the target row,
q the draft row, x the drafted token.
"""

from __future__ import annotations

import itertools

import numpy as np

from audit.exact.chain import (
    Branch,
    Chain,
    RowSequence,
    one_coin,
    residual,
    target_over_draft,
)
from audit.exact.paths import Rounds, Step
from audit.exact.ratios import Ratios, clipped_ratio, one_hot, whole
from audit.exact.rules import target


def absolute_difference(step: Step) -> Ratios:
    """Returns |p - q|."""
    return (step.p - step.q).absolute()


def draft(step: Step) -> Ratios:
    """Returns the whole draft row."""
    return step.q


def always(step: Step) -> Ratios:
    """Returns 1: every drafted token passes."""
    return whole(np.ones_like(step.token))


def draft_over_target(step: Step) -> Ratios:
    """Returns min(1, q(x) / p(x)), the ratio upside down."""
    return clipped_ratio(step.qx, step.px)


def lenient(step: Step) -> Ratios:
    """Returns min(1, p(x) / (q(x) / 2))."""
    return clipped_ratio(step.px * whole([2]), step.qx)


def later_residual(step: Step) -> Ratios:
    """Returns max(p' - q, 0) with p' the target row after the rejected token."""
    return (step.later - step.q).positive()


def overflowing_residual(step: Step) -> Ratios:
    """Returns max(p - q, 0) with what is missing to 1 on the last id.

    That is what inverting the running sum of an unnormalised row gives.
    """
    missing = residual(step).total().complement().column()
    size = step.p.numerators.shape[-1]
    return residual(step) + missing * one_hot(np.array([size - 1]), size)


def last_draft_row(target: RowSequence, draft: RowSequence) -> Ratios:
    """Returns the last draft row, the only one at hand when a bonus token is drawn from q."""
    return draft[-1]


def earlier_target_row(target: RowSequence, draft: RowSequence) -> Ratios:
    """Returns the target row before the last drafted token."""
    return target[-2]


def no_bonus(target: RowSequence, draft: RowSequence) -> None:
    """Returns None: the round ends after the draft block."""


FULL_TARGET_FALLBACK = Chain(fallback=target)
ABSOLUTE_RESIDUAL = Chain(fallback=absolute_difference)
DRAFT_FALLBACK = Chain(fallback=draft)
ALWAYS_ACCEPT = Chain(accept=always)
SWAPPED_RATIO = Chain(accept=draft_over_target)
TARGET_WITHOUT_REJECTED = Chain(fallback=target, without_rejected=True)
BONUS_FROM_DRAFT = Chain(bonus=last_draft_row)
BONUS_ONE_ROW_EARLY = Chain(bonus=earlier_target_row)
BONUS_MISSING = Chain(bonus=no_bonus)
TARGET_ROW_LATE = Chain(fallback=later_residual, causal=False)
SHARED_COIN = Chain(reach=one_coin, causal=False)
LENIENCE_HALF = Chain(accept=lenient)
UNNORMALISED_RESIDUAL = Chain(fallback=overflowing_residual)


def continues_after_rejection(rounds: Rounds) -> list[Branch]:
    """Returns the ways a round can end when a rejection does not stop it.

    Every position emits its drafted token or, on rejection, a draw from its residual; then the
    bonus token follows in any case. Each pattern of accepted and rejected tokens is one branch.
    """
    patterns = itertools.product((True, False), repeat=rounds.gamma)
    return [_pattern(rounds, pattern) for pattern in patterns]


def _pattern(rounds: Rounds, accepted: tuple[bool, ...]) -> Branch:
    chance, rows = whole([1]), []
    for step, passed in zip(rounds.steps, accepted, strict=True):
        accept = target_over_draft(step)
        chance = chance * (accept if passed else accept.complement())
        drafted = one_hot(step.token, rounds.vocab_size)
        rows.append(drafted if passed else residual(step).normalised())
    kept = (*accepted, False).index(False)
    return Branch(kept, chance, (*rows[kept:], rounds.target[-1]), late=sum(accepted[kept:]))
