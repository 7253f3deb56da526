"""The best that any lossless rule could do with the drafts of a case.

Two figures of one round: the probability that a drafted token is accepted at the first level, and
the mean number of accepted tokens. Lossless means that the completed law is the target's
(engine.py); the rule may know every row of the case. p is the target row, q the draft row.

One level, k siblings: the minimum over token sets T of p(T) + 1 - P(all siblings are in T); 1 -
TV(p, q) for one draft. Where siblings are independent, P = q(T) ** k and some T that holds the
tokens of smallest p / q is the best: with t = q(T) and c = k t ** (k - 1) of the best T, the set
{p / q < c} has the least p - c q, and -s ** k lies below its tangent at t.

One path: by A(ua) <= min(p(a|u) A(u), q(ua)), in the notation of programs.py, no rule can pass
through u with more than P(u) q(u), where P is block verification's; block verification does.

Fixed siblings are there always, so that nothing but A(ua) <= p(a|u) A(u) binds. Everything else
is a linear program.

References: Sun et al. (2023), SpecTr; Khisti et al. (2024) and Hu et al. (2025) for several drafts
of one level; Sun et al. (2025), block verification.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from itertools import combinations
from typing import Literal

from audit.case import Case, Prefix
from audit.errors import UsageError
from audit.exact.measures import acceptance_rate
from audit.exact.paths import levels, refuse_beyond_limit
from audit.exact.programs import Paths, Program, certified_bounds, drafted_paths
from audit.exact.ratios import minimum, summed, whole
from audit.row import Row
from audit.tree import ROOT, Tree

How = Literal[
    "closed form", "linear program, rational certificate", "certified bounds, no certified value"
]
CLOSED: How = "closed form"
PROGRAM: How = "linear program, rational certificate"
BOUNDS: How = "certified bounds, no certified value"
MOST_TOKENS = 10  # in the support of a row whose token sets are all tried


@dataclass(frozen=True)
class Optimum:
    """The largest value that a lossless rule can reach: between two proven bounds, often equal."""

    lower: Fraction
    upper: Fraction
    how: How

    @property
    def value(self) -> Fraction | None:
        """The exact value, None where only the bounds are certified."""
        return self.upper if self.lower == self.upper else None


@lru_cache(maxsize=64)
def best_acceptance(case: Case) -> Optimum:
    """Returns the largest probability that some drafted token of the first level is accepted."""
    tree = case.tree or Tree.chain(case.num_speculative_tokens)
    p, q, siblings = case.target[()], case.draft[()], len(tree.children(ROOT))
    if tree.drafting == "fixed":
        return _closed(_mass(p, _most_probable(q, siblings)))
    if siblings == 1:
        return _closed(acceptance_rate(p, q))
    if tree.drafting == "independent":
        return _closed(_over_leading_sets(p, q, siblings))
    first = Tree((ROOT,) * siblings, tree.drafting)
    return _distinct(replace(case, tree=first, num_speculative_tokens=1))


@lru_cache(maxsize=64)
def best_accepted(case: Case) -> Optimum:
    """Returns the largest mean number of drafted tokens that a round can accept.

    Where that is too large to compute, the bounds are those that one level gives.
    """
    tree = case.tree or Tree.chain(case.num_speculative_tokens)
    try:
        if tree.depth == 1:
            return best_acceptance(case)
        if tree.drafting == "fixed":
            return _closed(_fixed_value(case))
        if tree.nodes == tree.depth:
            return _closed(_block_value(case))
        return _by_program(case)
    except UsageError:
        first = best_acceptance(case)
        return Optimum(first.lower, tree.depth * first.upper, BOUNDS)


def _closed(value: Fraction) -> Optimum:
    return Optimum(value, value, CLOSED)


def _by_program(case: Case) -> Optimum:
    lower, upper = certified_bounds(Program.of(case))
    return Optimum(lower, upper, PROGRAM if lower == upper else BOUNDS)


def _mass(row: Row, tokens: Iterable[int]) -> Fraction:
    return sum((row[token] for token in tokens), start=Fraction(0))


def _support(row: Row) -> list[int]:
    return [token for token, numerator in enumerate(row.numerators.tolist()) if numerator]


def _most_probable(row: Row, count: int) -> list[int]:
    """Returns the most probable tokens, ties to the lower id."""
    numerators = row.numerators.tolist()
    return sorted(range(len(row)), key=lambda token: -numerators[token])[:count]


def _over_leading_sets(p: Row, q: Row, siblings: int) -> Fraction:
    """Returns the minimum over the sets of tokens of smallest p / q, for independent siblings."""
    best, target, draft = Fraction(1), Fraction(0), Fraction(0)
    for token in sorted(_support(q), key=lambda token: p[token] / q[token]):
        target, draft = target + p[token], draft + q[token]
        best = min(best, target + 1 - draft**siblings)
    return best


def _distinct(case: Case) -> Optimum:
    """Returns the best acceptance of one level of distinct siblings, bounds where it is large."""
    p, q = case.target[()], case.draft[()]
    try:
        if len(_support(q)) > MOST_TOKENS:
            return _by_program(case)
        return _closed(_over_all_sets(p, drafted_paths(case)))
    except UsageError:
        return Optimum(acceptance_rate(p, q), Fraction(1), BOUNDS)


def _over_all_sets(p: Row, drafts: Mapping[Paths, Fraction]) -> Fraction:
    """Returns the minimum over all sets of tokens that can be drafted, for any siblings."""
    tokens = sorted({token for paths in drafts for (token,) in paths})
    inside = {paths: frozenset(token for (token,) in paths) for paths in drafts}
    return min(
        _mass(p, chosen)
        + sum((mass for paths, mass in drafts.items() if not inside[paths] <= chosen), Fraction(0))
        for size in range(len(tokens) + 1)
        for chosen in map(frozenset, combinations(tokens, size))
    )


def _fixed_value(case: Case) -> Fraction:
    """Returns the target's probabilities of the paths of a fixed tree, added up."""
    reached: dict[Prefix, Fraction] = {(): Fraction(1)}
    for path, chance in Program.of(case).chances.items():
        reached[path] = reached[path[:-1]] * chance
    return sum(reached.values(), start=Fraction(-1))


def _block_value(case: Case) -> Fraction:
    """Returns the most that can be passed through each prefix, added up.

    Raises:
        UsageError: V ** gamma is beyond CELL_LIMIT.
    """
    gamma = case.num_speculative_tokens
    refuse_beyond_limit(case.vocab_size**gamma, of=f'case "{case.id}"')
    value, passed, drafted = Fraction(0), whole([1]), whole([1])
    rows = (levels(case, given, gamma - 1) for given in (case.target, case.draft))
    for p, q in zip(*rows, strict=True):
        drafted = drafted.column().spread(q).flat()
        passed = minimum(passed.column().spread(p).flat(), drafted).reduced()
        value += summed(passed, case.vocab_size)
    return value
