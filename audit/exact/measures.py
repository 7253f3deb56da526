"""Exact figures of a pair of rows, and of a rule on a case.

p is the target row, q the draft row.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction

import numpy as np

from audit.case import Case
from audit.exact.chain import Branch
from audit.exact.engine import block_law, branches_of
from audit.exact.law import Law
from audit.exact.paths import Rounds
from audit.exact.ratios import Ratios, minimum, of_row, summed, whole
from audit.exact.rule import Rule
from audit.row import Row
from audit.tree import ROOT


def acceptance_rate(p: Row, q: Row) -> Fraction:
    """Returns sum min(p, q) = 1 - TV(p, q), the best acceptance that one draft allows.

    >>> acceptance_rate(Row.normalised([2, 5, 3]), Row.normalised([5, 3, 2]))
    Fraction(7, 10)
    """
    return minimum(of_row(p), of_row(q)).total().fractions()[0]


def kept(p: Row, q: Row) -> list[Fraction]:
    """Returns min(p, q) by token, the mass that the ratio rule accepts."""
    return minimum(of_row(p), of_row(q)).fractions()


def residual(p: Row, q: Row) -> Row | None:
    """Returns max(p - q, 0) normalised, None if and only if p = q.

    >>> [str(v) for v in residual(Row.normalised([2, 5, 3]), Row.normalised([5, 3, 2]))]
    ['0', '2/3', '1/3']
    """
    weights = (of_row(p) - of_row(q)).positive().numerators
    return Row.normalised(weights.ravel().tolist()) if weights.any() else None


def expected_tokens(case: Case, rule: str | Rule) -> Fraction:
    """Returns the mean number of tokens that a round emits; an undefined outcome counts as 0."""
    law = block_law(case, rule)
    return sum((length * law.of_length(length) for length in law.tables), start=Fraction(0))


def number_accepted_law(case: Case, rule: str | Rule) -> tuple[Fraction, ...]:
    """Returns P(n drafted tokens pass their test) for n = 0..gamma."""
    rounds, branches = branches_of(case, rule)
    chances = [Fraction(0)] * (rounds.gamma + 1)
    for branch in branches:
        chances[branch.accepted] += summed(branch.mass(rounds), rounds.vocab_size)
    return tuple(chances)


def kept_masses(case: Case, rule: str | Rule) -> list[Fraction]:
    """Returns P(x is kept as the first drafted token) by token x."""
    rounds, branches = branches_of(case, rule)
    masses = [Fraction(0)] * rounds.vocab_size
    for branch in (branch for branch in branches if branch.kept):
        by_token = rounds.summed_by(branch.kept_nodes[:1], branch.mass(rounds).column())
        masses = [a + b for a, b in zip(masses, by_token.fractions(), strict=True)]
    return masses


def acceptance_by_token(case: Case, rule: str | Rule) -> list[Fraction | None]:
    """Returns P(x is kept | x is drafted at the first place) by token x, None if x never is."""
    rounds, branches = branches_of(case, rule)
    first = rounds.tokens[:, rounds.tree.children(ROOT)]
    drafted = [Fraction(0)] * rounds.vocab_size
    for mass in (branch.mass(rounds) for branch in branches):
        for token in range(rounds.vocab_size):
            drafted[token] += summed(mass * whole((first == token).any(1)), rounds.vocab_size)
    pairs = zip(kept_masses(case, rule), drafted, strict=True)
    return [kept / mass if mass else None for kept, mass in pairs]


def recovered_law(case: Case, rule: str | Rule, *, accepted: int = 0) -> Law | None:
    """Returns the law of the token drawn after a rejection that follows `accepted` kept tokens.

    None where that never happens; `()` holds the mass of draws from nothing.
    """
    rounds, branches = branches_of(case, rule)
    ends = (b for b in branches if b.leading == accepted and not _complete(rounds, b))
    return _draw(rounds, (branch for branch in ends if branch.rows))


def bonus_law(case: Case, rule: str | Rule) -> Law | None:
    """Returns the law of the token drawn after full acceptance, None where there is none."""
    rounds, branches = branches_of(case, rule)
    return _draw(rounds, (b for b in branches if _complete(rounds, b) and b.rows))


def _complete(rounds: Rounds, branch: Branch) -> bool:
    """Returns whether no drafted token continues those that passed."""
    in_chain = branch.leading - 1
    last = in_chain if branch.nodes is None else (ROOT, *branch.nodes)[-1]
    return not rounds.tree.children(last)


def _draw(rounds: Rounds, branches: Iterable[Branch]) -> Law | None:
    """Returns the law of the first draw given that one of the branches happens."""
    size = rounds.vocab_size
    masses = [(branch.mass(rounds), branch.rows[0]) for branch in branches]
    happens = sum((summed(mass, size) for mass, _ in masses), start=Fraction(0))
    if not happens:
        return None
    given = Ratios(*np.array([[happens.denominator], [happens.numerator]], dtype=object))
    draws = (mass.column().spread(row).grouped(size, times=rounds.drafted) for mass, row in masses)
    return Law.of(((1, draw.flat() * given) for draw in draws), vocab_size=size)
