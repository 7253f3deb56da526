"""Rules that test the drafted tokens one after another, written as their three ingredients.

A chain rule accepts drafted tokens from the left until the first rejection; then it draws one
token from a fallback row, or, when everything was accepted, one bonus token.

References: Leviathan, Kalman, Matias (2023), Algorithm 1; Chen et al. (2023).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from audit.exact.paths import Rounds, Step, weight_of
from audit.exact.ratios import Ratios, clipped_ratio, minimum, whole

RowSequence = Sequence[Ratios]


@dataclass(frozen=True)
class Branch:
    """One way a round can end: `kept` drafted tokens, then one independent draw from each row.

    chance [paths] is the probability of this end given the path; rows hold [paths, vocab] laws,
    0 where the code draws from nothing. `late` counts drafted tokens accepted after a rejection,
    `shift` the tokens kept beyond those accepted before it. `weight` [paths] is the probability
    of the path where it is not drafted from the recorded rows. nodes: the kept nodes of a draft
    tree, from the first level down; None where drafts form a chain, whose first `kept` they are.
    seen: the first drafted tokens that decide chance and rows, None for all of them.
    """

    kept: int
    chance: Ratios
    rows: tuple[Ratios, ...]
    late: int = 0
    shift: int = 0
    weight: Ratios | None = None
    nodes: tuple[int, ...] | None = None
    seen: int | None = None

    def mass(self, rounds: Rounds) -> Ratios:
        """Returns the probability [paths] that the path is drafted and ends this way."""
        weight = rounds.weight if self.weight is None else self.weight
        return (weight * self.chance).reduced()

    @property
    def kept_nodes(self) -> tuple[int, ...]:
        """The kept nodes, from the first level down."""
        return tuple(range(self.kept)) if self.nodes is None else self.nodes

    @property
    def leading(self) -> int:
        """The number of drafted tokens that passed before the first rejection."""
        return self.kept - self.shift

    @property
    def accepted(self) -> int:
        """The number of drafted tokens that passed their test."""
        return self.leading + self.late

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


def as_handed_over(step: Step) -> Step:
    """Returns the step itself: the code reads the rows that belong to it."""
    return step


@dataclass(frozen=True)
class Chain:
    """The law of a chain rule.

    accept: probability [rows] that a drafted token passes. fallback: weights [rows, vocab] of the
    draw after a rejection, without the rejected token if `without_rejected`. bonus: the row of the
    bonus token from the rows along the path, None for no bonus token. reach: how the tests share
    coins. tested and drawn: the rows as the test and as the fallback read them. drafts: the rows
    [paths, vocab] that tokens are really drafted from, None for the recorded ones. causal: a
    token's law follows from the rows after its own prefix, by one fallback row for every drafted
    token.
    """

    accept: Callable[[Step], Ratios] = target_over_draft
    fallback: Callable[[Step], Ratios] = residual
    without_rejected: bool = False
    bonus: Callable[[RowSequence, RowSequence], Ratios | None] = last_target_row
    reach: Callable[[Sequence[Ratios]], list[Ratios]] = own_coins
    tested: Callable[[Step], Step] = as_handed_over
    drawn: Callable[[Step], Step] = as_handed_over
    drafts: Callable[[Rounds], RowSequence] | None = None
    causal: bool = True

    def __call__(self, rounds: Rounds) -> list[Branch]:
        """Returns the ways a round can end, by number of accepted tokens."""
        reach = self.reach([self.passes(step) for step in rounds.steps])
        weight = None if self.drafts is None else weight_of(rounds.tokens, self.drafts(rounds))
        local = self.causal and weight is None
        branches = [
            Branch(
                n,
                reach[n] - reach[n + 1],
                (self._recovered(step),),
                weight=weight,
                seen=n + 1 if local else None,
            )
            for n, step in enumerate(rounds.steps)
        ]
        bonus = self.bonus(rounds.target, rounds.draft)
        rows = () if bonus is None else (bonus,)
        return [*branches, Branch(rounds.gamma, reach[-1], rows, weight=weight)]

    def passes(self, step: Step) -> Ratios:
        """Returns the probability [rows] that the drafted token passes its test."""
        return self.accept(self.tested(step))

    def weights(self, step: Step) -> Ratios:
        """Returns the weights [rows, vocab] of the draw after a rejection, not normalised."""
        return self.fallback(self.drawn(step))

    def _recovered(self, step: Step) -> Ratios:
        weights = self.weights(step)
        return (weights.without(step.token) if self.without_rejected else weights).normalised()
