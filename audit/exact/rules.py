"""The lossless rules as exact laws of one round.

References: Leviathan, Kalman, Matias (2023), Algorithm 1, and Chen et al. (2023) for `RATIO`;
Sun et al. (2025) for `block`.
"""

from __future__ import annotations

from audit.exact.chain import Branch, Chain, RowSequence
from audit.exact.paths import Rounds, Step
from audit.exact.ratios import Ratios, clipped_ratio, whole
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


RATIO = Chain()
GREEDY = Chain(accept=is_argmax, fallback=argmax_target, bonus=argmax_bonus)
POINT_MASS = Chain(accept=target_prob, fallback=target, without_rejected=True)
# Drawing y from p and keeping x while y = x accepts with p(x) and, given y != x, leaves y with
# p without x: the law of POINT_MASS, reached by other code.
SAMPLER_MATCH = POINT_MASS


def block(rounds: Rounds) -> list[Branch]:
    """Returns the ways a round of block verification can end.

    Every prefix i is tested with its own coin and the longest one that passes is kept. With
    P_0 = 1, P_i = min(1, P_(i-1) p(x_i) / q(x_i)) and S_i the sum of (P_i p - q)+ at the next
    position, prefix i fails with probability (1 - P_i) / (S_i + 1 - P_i), and 0/0 is no failure;
    the whole block fails with probability 1 - P_gamma.
    """
    survive, branches, fails = whole([1]), [], []
    for kept, step in enumerate(rounds.steps):
        excess = (survive.column() * step.p - step.q).positive()
        fails.append(clipped_ratio(survive.complement(), excess.total() + survive.complement()))
        branches.append(Branch(kept, fails[-1].complement(), (excess.normalised(),)))
        survive = clipped_ratio(survive * step.px, step.qx)
    fails.append(survive.complement())
    branches.append(Branch(rounds.gamma, survive, (rounds.target[-1],)))
    return _longest_passing(branches, fails)


def _longest_passing(branches: list[Branch], fails: list[Ratios]) -> list[Branch]:
    """Returns the branches with the chance that their prefix passes and no longer one does."""
    found, longer_fail = [], whole([1])
    for branch, fail in zip(reversed(branches), reversed(fails), strict=True):
        found.append(Branch(branch.kept, branch.chance * longer_fail, branch.rows))
        longer_fail = (longer_fail * fail).reduced()
    return found[::-1]
