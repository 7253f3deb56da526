"""The lossless rules as exact laws of one round.

References: Leviathan, Kalman, Matias (2023), Algorithm 1, and Chen et al. (2023) for `RATIO`;
Sun et al. (2025) for `BLOCK`; Daliri, Musco, Suresh (2024) for `GUMBEL_COUPLED`.
"""

from __future__ import annotations

from audit.exact.block import Block
from audit.exact.chain import Chain, RowSequence
from audit.exact.paths import Step
from audit.exact.race import second_race
from audit.exact.ratios import Ratios, whole
from audit.exact.rowwise import argmax, most_probable


def target_prob(step: Step) -> Ratios:
    """Returns p(x)."""
    return step.px


def target(step: Step) -> Ratios:
    """Returns the whole target row."""
    return step.p


def is_argmax(step: Step) -> Ratios:
    """Returns 1 where the drafted token is the target's most probable one, else 0."""
    return whole(step.token == argmax(step.p))


def argmax_target(step: Step) -> Ratios:
    """Returns the target row made one-hot."""
    return most_probable(step.p)


def argmax_bonus(target: RowSequence, draft: RowSequence) -> Ratios:
    """Returns the bonus row made one-hot."""
    return most_probable(target[-1])


def second_draw(step: Step) -> Ratios:
    """Returns the law of the draw from p by the exponential noise that drew x from q."""
    return second_race(step.q, step.p, step.token)


def stays(step: Step) -> Ratios:
    """Returns the probability that the noise which drew x from q draws x from p as well."""
    return second_draw(step).at(step.token)


RATIO = Chain()
GREEDY = Chain(accept=is_argmax, fallback=argmax_target, bonus=argmax_bonus)
POINT_MASS = Chain(accept=target_prob, fallback=target, without_rejected=True)
# Drawing y from p and keeping x while y = x accepts with p(x) and, given y != x, leaves y with
# p without x: the law of POINT_MASS, reached by other code.
SAMPLER_MATCH = POINT_MASS
BLOCK = Block()
GUMBEL_COUPLED = Chain(accept=stays, fallback=second_draw, without_rejected=True, causal=False)
