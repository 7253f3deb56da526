"""The linear program of the best lossless rule, and bounds on its value that need no trust.

A rule accepts one of the drafted paths v, () for none, and then emits one more token. A(u) is the
probability that u is accepted or passed through, A(()) = 1. The emitted tokens follow the target
exactly if the token after u has the law p(.|u) whenever the round goes beyond u. The last token
can be drawn from whatever law is missing, so that all it takes is A(ua) <= p(a|u) A(u). The
program: share out the mass of every set D of drafted paths over D and (), so that this holds and
the mean length of the accepted path is largest.

Its dual puts a price y(w) >= 0 on every path: v is then worth |v| - sum_w y(w) use(w, v), where
use(ua, v) = [ua leads to v] - p(a|u) [u leads to v], and for any prices
sum_D P(D) max(worth of D and ()) is an upper bound. scipy's HiGHS finds plan and prices in
floating point; both are solved for again in fractions from the constraints that are tight, and
whatever comes out is made feasible. So both bounds hold whatever HiGHS did, and where they are
equal they are the value.

References: Sun et al. (2023), SpecTr, for the program of one level; Dantzig (1963) for duality.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from audit.case import Case, Prefix
from audit.errors import CaseError
from audit.exact.elimination import CONSTANT, Form, solved
from audit.exact.engine import rounds_of_case
from audit.exact.paths import refuse_beyond_limit

Paths = frozenset[Prefix]
Share = tuple[Paths, Prefix]  # a drafted set, and the path of it that is accepted
Plan = Mapping[Share, Fraction]
Prices = Mapping[Prefix, Fraction]
_ROOT: Prefix = ()
_NONE = Fraction(0)
_TIGHT = 1e-9


@dataclass(frozen=True, eq=False)
class Program:
    """drafts: P(D). chances: p(last token | tokens before it) of every path in some D."""

    drafts: Mapping[Paths, Fraction]
    chances: Mapping[Prefix, Fraction]

    @classmethod
    def of(cls, case: Case) -> Program:
        """Returns the program of a case. Raises UsageError where it would be too large."""
        drafts = drafted_paths(case)
        paths = sorted({path for paths in drafts for path in paths}, key=lambda u: (len(u), u))
        refuse_beyond_limit(len(drafts) * len(paths), of=f'the linear program of case "{case.id}"')
        return cls(drafts, {path: _chance(case, path) for path in paths})

    @cached_property
    def shares(self) -> list[Share]:
        """What a plan has to share out, set by set."""
        return [(paths, v) for paths in self.drafts for v in (_ROOT, *sorted(paths))]

    @cached_property
    def uses(self) -> dict[Prefix, dict[Prefix, Fraction]]:
        """use(w, v) by v and w, where it is not 0."""
        return {v: dict(self._uses(v)) for v in (_ROOT, *self.chances)}

    def _uses(self, v: Prefix) -> Iterator[tuple[Prefix, Fraction]]:
        for w, chance in self.chances.items():
            if v[: len(w) - 1] == w[:-1]:
                yield w, (v[: len(w)] == w) - chance

    def worth(self, v: Prefix, prices: Prices) -> Fraction:
        """Returns what accepting v is worth at these prices."""
        return len(v) - sum((use * prices[w] for w, use in self.uses[v].items()), start=_NONE)

    def upper(self, prices: Prices) -> Fraction:
        """Returns an upper bound on the mean accepted length, from any prices."""
        allowed = {w: max(price, _NONE) for w, price in prices.items()}
        worth = {v: self.worth(v, allowed) for v in self.uses}
        best = (mass * max(worth[v] for v in (_ROOT, *d)) for d, mass in self.drafts.items())
        return sum(best, start=_NONE)

    def lower(self, plan: Plan) -> Fraction:
        """Returns a lower bound on the mean accepted length, from any plan.

        What A(ua) has beyond p(a|u) A(u) is accepted up to u only, from the first token on.
        """
        given = self._shared_out(plan)
        for w, chance in self.chances.items():
            passed = sum((m for (_, v), m in given.items() if v[: len(w) - 1] == w[:-1]), _NONE)
            through = [share for share in given if share[1][: len(w)] == w]
            excess = sum((given[share] for share in through), _NONE) - chance * passed
            for share in through:
                moved = max(_NONE, min(given[share], excess))
                given[share] -= moved
                given[share[0], w[:-1]] += moved
                excess -= moved
        return sum((len(v) * mass for (_, v), mass in given.items()), start=_NONE)

    def _shared_out(self, plan: Plan) -> dict[Share, Fraction]:
        """Returns the plan with shares from 0 on that add up to what is drafted."""
        given: dict[Share, Fraction] = {}
        for paths, mass in self.drafts.items():
            left = mass
            for v in sorted(paths):
                given[paths, v] = max(_NONE, min(plan.get((paths, v), _NONE), left))
                left -= given[paths, v]
            given[paths, _ROOT] = left
        return given


def drafted_paths(case: Case) -> dict[Paths, Fraction]:
    """Returns the probability of every set of paths that a round can draft.

    A path is the tuple of its tokens: in which order siblings were drawn, and that two of them
    are the same token, makes no difference to what can be accepted.

    Raises:
        UsageError: the rounds of the case are beyond CELL_LIMIT.
    """
    rounds, law = rounds_of_case(case), dict[Paths, Fraction]()
    places = [rounds.tree.path(node) for node in range(rounds.tree.nodes)]
    for tokens, chance in zip(rounds.tokens.tolist(), rounds.weight.fractions(), strict=True):
        if chance:
            paths = frozenset(tuple(tokens[node] for node in place) for place in places)
            law[paths] = law.get(paths, _NONE) + chance
    return law


def _chance(case: Case, path: Prefix) -> Fraction:
    """Returns p(last token | the tokens before it), 0 after tokens that the target never emits."""
    try:
        return case.target[path[:-1]][path[-1]]
    except CaseError:  # such a prefix alone may lack its row; the rounds were made before
        return _NONE


def certified_bounds(program: Program) -> tuple[Fraction, Fraction]:
    """Returns a lower and an upper bound on the accepted tokens a round of the best lossless rule.

    Equal bounds are the exact value.
    """
    plan, prices = solution(program)
    return (
        program.lower(solved(_plan_equations(program, plan), plan)),
        program.upper(solved(_price_equations(program, prices), prices)),
    )


def solution(program: Program) -> tuple[Plan, Prices]:
    """Returns plan (its positive shares) and prices as HiGHS has them, a vertex of each."""
    from scipy.optimize import linprog
    from scipy.sparse import csr_array

    paths, shares = list(program.chances), program.shares
    number = {drafted: i for i, drafted in enumerate(program.drafts)}
    capped = {v: [float(uses.get(w, 0)) for w in paths] for v, uses in program.uses.items()}
    places = [number[drafted] for drafted, _ in shares], range(len(shares))
    sums: Any = csr_array((np.ones(len(shares)), places))
    options: Any = dict.fromkeys(
        ("primal_feasibility_tolerance", "dual_feasibility_tolerance"), _TIGHT / 10
    )
    found = linprog(
        [-len(v) for _, v in shares],
        A_ub=np.array([capped[v] for _, v in shares]).T,
        b_ub=np.zeros(len(paths)),
        A_eq=sums,
        b_eq=[float(mass) for mass in program.drafts.values()],
        method="highs-ds",
        options=options,
    )
    if found.x is None:  # no vertex: the bounds will be those of no plan and no prices
        return {}, dict.fromkeys(paths, _NONE)
    masses, marginals = found.x.tolist(), found.ineqlin.marginals.tolist()
    plan = {
        share: Fraction(mass) for share, mass in zip(shares, masses, strict=True) if mass > _TIGHT
    }
    return plan, {w: Fraction(-y) for w, y in zip(paths, marginals, strict=True)}


def _plan_equations(program: Program, plan: Plan) -> Iterator[Form]:
    """Yields that every set is shared out, and the caps on A that are reached."""
    for paths, mass in program.drafts.items():
        shared: Form = {(paths, v): Fraction(1) for v in (_ROOT, *paths) if (paths, v) in plan}
        yield shared | {CONSTANT: -mass}
    for w in program.chances:
        uses = {share: program.uses[share[1]].get(w, _NONE) for share in plan}
        if abs(sum((use * plan[share] for share, use in uses.items()), _NONE)) < _TIGHT:
            yield {share: use for share, use in uses.items() if use}


def _price_equations(program: Program, prices: Prices) -> Iterator[Form]:
    """Yields the prices that are 0, and that the best paths of a set are worth the same."""
    for w, price in prices.items():
        if price < _TIGHT:
            yield {w: Fraction(1)}
    worth = {v: program.worth(v, prices) for v in program.uses}
    for paths in program.drafts:
        best, *others = sorted((_ROOT, *paths), key=lambda v: -worth[v])
        for other in others:
            if worth[best] - worth[other] < _TIGHT:
                yield _difference(program, best, other)


def _difference(program: Program, v: Prefix, other: Prefix) -> Form:
    """Returns the worth of v less that of the other path, as a form in the prices."""
    mine, theirs = program.uses[v], program.uses[other]
    prices: Form = {w: theirs.get(w, _NONE) - mine.get(w, _NONE) for w in (*mine, *theirs)}
    return prices | {CONSTANT: Fraction(len(v) - len(other))}
