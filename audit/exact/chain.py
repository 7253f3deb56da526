"""Rules that test the drafted tokens one after another, written as their three ingredients.

A chain rule accepts drafted tokens from the left until the first rejection; then it draws one
token from a fallback row, or, when everything was accepted, one bonus token.

References: Leviathan, Kalman, Matias (2023), Algorithm 1; Chen et al. (2023).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from audit.exact.paths import Rounds, Step
from audit.exact.ratios import Ratios, clipped_ratio, minimum, whole

RowSequence = Sequence[Ratios]


@dataclass(frozen=True)
class Branch:
    """One way a round can end: `kept` drafted tokens, then one independent draw from each row.

    chance [paths] is the probability of this end given the path; rows hold [paths, vocab] laws,
    0 where the code draws from nothing. `late` counts drafted tokens accepted after a rejection.
    """

    kept: int
    chance: Ratios
    rows: tuple[Ratios, ...]
    late: int = 0

    def mass(self, rounds: Rounds) -> Ratios:
        """Returns the probability [paths] that the path is drafted and ends this way."""
        return (rounds.weight * self.chance).reduced()

    @property
    def accepted(self) -> int:
        """The number of drafted tokens that passed their test."""
        return self.kept + self.late

    @property
    def length(self) -> int:
        """The number of emitted tokens."""
        return self.kept + len(self.rows)


def residual(step: Step) -> Ratios:
    """Returns max(p - q, 0), not normalised, as the token to draw after a rejection."""
    return (step.p - step.q).positive()


def target_over_draft(step: Step) -> Ratios:
    """Returns min(1, p(x) / q(x)), the acceptance probability of Algorithm 1."""
    return clipped_ratio(step.px, step.qx)


def own_coins(accepts: Sequence[Ratios]) -> list[Ratios]:
    """Returns P(first i tokens accepted) for i = 0..gamma when each test has its own coin."""
    reach = [whole([1])]
    for accept in accepts:
        reach.append((reach[-1] * accept).reduced())
    return reach


def one_coin(accepts: Sequence[Ratios]) -> list[Ratios]:
    """Returns P(first i tokens accepted) for i = 0..gamma when all tests share one coin."""
    reach = [whole([1])]
    for accept in accepts:
        reach.append(minimum(reach[-1], accept).reduced())
    return reach


def last_target_row(target: RowSequence, draft: RowSequence) -> Ratios | None:
    """Returns the target row after the whole draft block, the proper bonus row."""
    return target[-1]


@dataclass(frozen=True)
class Chain:
    """The law of a chain rule.

    accept: probability [rows] that a drafted token passes. fallback: weights [rows, vocab] of the
    draw after a rejection, without the rejected token if `without_rejected`. bonus: the row of the
    bonus token from the rows along the path, None for no bonus token. reach: how the tests share
    coins. causal: a token's law depends on nothing but the rows after its own prefix.
    """

    accept: Callable[[Step], Ratios] = target_over_draft
    fallback: Callable[[Step], Ratios] = residual
    without_rejected: bool = False
    bonus: Callable[[RowSequence, RowSequence], Ratios | None] = last_target_row
    reach: Callable[[Sequence[Ratios]], list[Ratios]] = own_coins
    causal: bool = True

    def __call__(self, rounds: Rounds) -> list[Branch]:
        """Returns the ways a round can end, by number of accepted tokens."""
        reach = self.reach([self.accept(step) for step in rounds.steps])
        branches = [
            Branch(n, reach[n] - reach[n + 1], (self._recovered(step),))
            for n, step in enumerate(rounds.steps)
        ]
        bonus = self.bonus(rounds.target, rounds.draft)
        rows = () if bonus is None else (bonus,)
        return [*branches, Branch(rounds.gamma, reach[-1], rows)]

    def _recovered(self, step: Step) -> Ratios:
        weights = self.fallback(step)
        return (weights.without(step.token) if self.without_rejected else weights).normalised()
