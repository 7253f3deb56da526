"""Exact laws of what a rule emits on a case.

Completed means that every emitted block is extended to gamma + 1 tokens by the target's own rows;
a rule is lossless on a case exactly if its completed law is the target's. Laws are kept per Case
object: a case is frozen, so that a second call returns the same law.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from functools import lru_cache

from audit.case import Case
from audit.exact import catalogue
from audit.exact.chain import Branch
from audit.exact.law import Law
from audit.exact.paths import Rounds, cells_of, levels, refuse_beyond_limit, rounds_of
from audit.exact.ratios import Ratios, constant, summed, whole
from audit.exact.rule import Rule

Masses = Iterator[tuple[int, Ratios]]


@lru_cache(maxsize=64)
def block_law(case: Case, rule: str | Rule) -> Law:
    """Returns the law of the emitted blocks, `()` for an undefined outcome or an empty block.

    Raises:
        UsageError: the rule is unknown or the case is beyond CELL_LIMIT.
    """
    rounds, branches = branches_of(case, rule)
    parts = ((branch.length, _emitted(rounds, branch)) for branch in branches)
    return Law.of(parts, vocab_size=case.vocab_size)


@lru_cache(maxsize=64)
def completed_law(case: Case, rule: str | Rule) -> Law:
    """Returns the law of the emitted blocks, each extended to gamma + 1 tokens by the target.

    Undefined outcomes stay `()`, an empty block is continued. A block whose prefix has target
    probability 0 and no row in the case has no continuation: its mass stays on the block itself.
    """
    rounds, branches = branches_of(case, rule)
    empty = sum(
        (summed(b.mass(rounds), case.vocab_size) for b in branches if not b.length), Fraction(0)
    )
    emitted = {**block_law(case, rule).tables, 0: constant(empty)}
    return Law.of(_extended(case, emitted), vocab_size=case.vocab_size)


@lru_cache(maxsize=64)
def target_law(case: Case) -> Law:
    """Returns the target's law of gamma + 1 tokens.

    Raises:
        UsageError: the case is beyond CELL_LIMIT.
    """
    refuse_beyond_limit(cells_of(case), of=f'case "{case.id}"')
    return Law.of(_extended(case, {0: whole([1])}), vocab_size=case.vocab_size)


@lru_cache(maxsize=32)
def rounds_of_case(case: Case) -> Rounds:
    """Returns all rounds of a case, kept for the next rule."""
    return rounds_of(case)


@lru_cache(maxsize=32)
def branches_of(case: Case, rule: str | Rule) -> tuple[Rounds, list[Branch]]:
    """Returns the rounds of a case and the ways they can end under a rule.

    Raises:
        UsageError: the rule is unknown or verifies drafts of another shape than the case's.
    """
    entry = catalogue.rule_for(case, rule)
    rounds = rounds_of_case(case)
    return rounds, entry.law(rounds)


def given_path(rounds: Rounds, branch: Branch) -> Ratios:
    """Returns the masses [paths, vocab ** draws] of a path and the branch's draws after it."""
    cells = len(rounds.tokens) * rounds.vocab_size ** len(branch.rows)
    refuse_beyond_limit(cells, of="the law of all emitted tokens")
    mass = branch.mass(rounds).column()
    for row in branch.rows:
        mass = mass.spread(row)
    return mass


def _emitted(rounds: Rounds, branch: Branch) -> Ratios:
    """Returns the masses [vocab ** length] of a branch's emitted blocks."""
    if branch.seen is not None:
        return _decided_early(rounds, branch, branch.seen)
    return rounds.summed_by(branch.kept_nodes, given_path(rounds, branch)).flat()


def _decided_early(rounds: Rounds, branch: Branch, seen: int) -> Ratios:
    """Returns the same where the first `seen` tokens decide: what is drafted later adds up to 1."""
    paths = rounds.one_a_prefix(seen)
    mass = (rounds.weights[seen] * branch.chance).taken(paths).reduced().column()
    for row in branch.rows:
        mass = mass.spread(row.taken(paths))
    return mass.grouped(rounds.vocab_size, times=seen - branch.kept).flat()


def _extended(case: Case, emitted: Mapping[int, Ratios]) -> Masses:
    """Yields the masses by length after every block was extended by the target's rows."""
    carried = emitted.get(0, whole([0]))
    for length, rows in enumerate(_target_levels(case)):
        no_row = rows.total().numerators == 0
        yield length, Ratios(carried.numerators * no_row, carried.denominators)
        carried = carried.column().spread(rows).flat()
        if length + 1 in emitted:
            carried = (carried + emitted[length + 1]).reduced()
    yield case.num_speculative_tokens + 1, carried


@lru_cache(maxsize=32)
def _target_levels(case: Case) -> list[Ratios]:
    return levels(case, case.target, case.num_speculative_tokens)
