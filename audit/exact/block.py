"""Rules that test whole prefixes of the draft block and keep the longest one that passes.

They are written as their ingredients, like the chain rules. P_0 = 1 and
P_i = min(1, P_(i-1) p(x_i) / q(x_i)); S_i is the sum of (P_i p - q)+ at the position after prefix
i. A prefix shorter than the block passes with S_i / (S_i + 1 - P_i), where 0/0 is a pass, and the
whole block with P_gamma.

Reference: Sun et al. (2025), Algorithm 2.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from audit.exact.chain import Branch
from audit.exact.paths import Rounds, Step
from audit.exact.ratios import Ratios, clipped_ratio, minimum, whole


@dataclass(frozen=True)
class Prefix:
    """Some leading tokens of a draft block, but not all.

    scale [paths]: P of the prefix. step: the position after it. last: its last position, the
    block's first for the empty prefix.
    """

    scale: Ratios
    step: Step
    last: Step


def clamped(scale: Ratios, step: Step) -> Ratios:
    """Returns P after one more drafted token: min(1, P p(x) / q(x))."""
    return clipped_ratio(scale * step.px, step.qx)


def excess(scale: Ratios, step: Step) -> Ratios:
    """Returns (P p - q)+, not normalised."""
    return (scale.column() * step.p - step.q).positive()


def excess_after(prefix: Prefix) -> Ratios:
    """Returns (P p - q)+ at the position after the prefix, as the token to draw there."""
    return excess(prefix.scale, prefix.step)


def failure(mass: Ratios, scale: Ratios) -> Ratios:
    """Returns (1 - P) / (S + 1 - P), the probability that a prefix fails; 0 for 0/0."""
    short = minimum(scale, whole([1])).complement()
    return clipped_ratio(short, mass + short)


def prefix_fails(prefix: Prefix) -> Ratios:
    """Returns the probability [paths] that a prefix shorter than the block fails."""
    return failure(excess_after(prefix).total(), prefix.scale)


def longest_passing(fails: Sequence[Ratios]) -> list[Ratios]:
    """Returns P(prefix i is the longest that passes) for i = 0..gamma, each with its own coin."""
    chances, longer_fail = [], whole([1])
    for fail in reversed(fails):
        chances.append(fail.complement() * longer_fail)
        longer_fail = (longer_fail * fail).reduced()
    return chances[::-1]


@dataclass(frozen=True)
class Block:
    """The law of a rule that keeps a prefix of the draft block by tests on whole prefixes.

    scale: P of a prefix from that of the prefix before. fails: the probability [paths] that a
    prefix of 1..gamma - 1 tokens fails. fallback: weights [paths, vocab] of the draw after a
    prefix. kept: P(i tokens are kept) from the probabilities to fail, i = 0..gamma.
    """

    scale: Callable[[Ratios, Step], Ratios] = clamped
    fails: Callable[[Prefix], Ratios] = prefix_fails
    fallback: Callable[[Prefix], Ratios] = excess_after
    kept: Callable[[Sequence[Ratios]], list[Ratios]] = longest_passing

    def __call__(self, rounds: Rounds) -> list[Branch]:
        """Returns the ways a round can end, by number of kept tokens."""
        steps, scale, prefixes = rounds.steps, whole([1]), []
        for last, step in zip((steps[0], *steps), steps, strict=False):
            prefixes.append(Prefix(scale, step, last))
            scale = self.scale(scale, step)
        between = [self.fails(prefix) for prefix in prefixes[1:]]
        whole_block = minimum(scale, whole([1])).complement()
        rows = [*(self.fallback(prefix).normalised() for prefix in prefixes), rounds.target[-1]]
        chances = self.kept([whole([0]), *between, whole_block])
        return [Branch(n, c, (row,)) for n, (c, row) in enumerate(zip(chances, rows, strict=True))]
