"""The law that the maps of all blocks amount to, in fractions, and what it says of the sampler.

An outcome is the tuple of emitted tokens. One that no round may have stays as it is: RAISED for an
exception, () for an empty row, ids outside of the vocabulary, tokens after the end.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from audit.case import Case, Prefix
from audit.errors import CaseError
from audit.exact.rule import Rule
from audit.exact.tables import joint_table

Outcome = tuple[int, ...]
Masses = Mapping[Outcome, Fraction]
RAISED: Outcome = (-9,)


@dataclass(frozen=True)
class Accepted:
    """How often `token` passes its test after the accepted tokens `prefix`, exactly.

    reached: the probability that this test is made. ideal: min(1, p / q). A token counts as
    accepted where the round goes on, so that a recovered token equal to it does not.
    """

    prefix: Prefix
    token: int
    reached: Fraction
    chance: Fraction
    ideal: Fraction


@dataclass(frozen=True)
class Final:
    """The law of the last token of a round after the accepted tokens `prefix`, by token.

    rejected: the drafted token that failed, None for the bonus token. reached: the probability of
    getting here. ideal: max(p - q, 0) normalised, or p for the bonus token; () where p = q.
    """

    prefix: Prefix
    rejected: int | None
    reached: Fraction
    law: tuple[Fraction, ...]
    ideal: tuple[Fraction, ...]

    @property
    def distance(self) -> Fraction:
        """The total variation to the ideal law, 0 where there is none."""
        pairs = zip(self.law, self.ideal or self.law, strict=True)
        return sum((abs(a - b) for a, b in pairs), Fraction(0)) / 2


@dataclass(frozen=True, eq=False)
class JointLaw:
    """The law of the draft block and what is emitted on a case (of the rows handed over).

    chances: the probability of each draft block; by_block: the law of the outcome given the block.
    """

    case: Case
    chances: Mapping[Prefix, Fraction]
    by_block: Mapping[Prefix, Masses]

    @cached_property
    def emitted(self) -> Masses:
        """The law of the outcomes."""
        pairs = ((b, o, mass) for b, law in self.by_block.items() for o, mass in law.items())
        return _summed((outcome, self.chances[block] * mass) for block, outcome, mass in pairs)

    @cached_property
    def completed(self) -> Masses:
        """The law of the outcomes, the possible ones extended to gamma + 1 tokens by the target."""
        return _completed(self.case, self.emitted)

    @cached_property
    def to_target(self) -> Fraction:
        """The total variation of the completed law to the target's."""
        return distance(self.completed, _completed(self.case, {(): Fraction(1)}, start=True))

    @property
    def broken(self) -> Masses:
        """The outcomes that no round may have, with their probabilities."""
        return {o: mass for o, mass in self.emitted.items() if not possible(self.case, o)}

    def to_rule(self, rule: str | Rule, case: Case | None = None) -> float:
        """Returns the total variation of draft block and outcome to the law of a rule, in float64.

        case: where the rule is read; by default the rows handed over.
        """
        read = case or self.case
        V, gamma = read.vocab_size, read.num_speculative_tokens
        own = [np.zeros((V**read.drafted, V ** (i + 1))) for i in range(gamma + 1)]
        beyond = 0.0
        for block, law in self.by_block.items():
            for outcome, mass in law.items():
                weight = float(self.chances[block] * mass)
                if possible(read, outcome):
                    own[len(outcome) - 1][_code(block, V), _code(outcome, V)] += weight
                else:
                    beyond += weight
        tables = joint_table(read, rule)
        apart = sum(float(np.abs(a - b).sum()) for a, b in zip(own, tables, strict=True))
        missing = abs(beyond - (1 - sum(float(table.sum()) for table in tables)))
        return (apart + missing) / 2

    def tests(self) -> list[Accepted]:
        """Returns every acceptance test that can be reached, for a chain of drafts."""
        counts: dict[tuple[Prefix, int], list[Fraction]] = defaultdict(lambda: [Fraction(0)] * 2)
        for block, outcome, mass in self._rounds():
            for position in range(min(len(outcome), len(block))):
                both = counts[block[:position], block[position]]
                both[0] += mass
                both[1] += mass if len(outcome) > position + 1 else 0
        return [self._test(*key, *both) for key, both in sorted(counts.items())]

    def _test(self, prefix: Prefix, token: int, reached: Fraction, passed: Fraction) -> Accepted:
        p, q = self.case.target[prefix][token], self.case.draft[prefix][token]
        return Accepted(prefix, token, reached, passed / reached, min(Fraction(1), p / q))

    def finals(self) -> list[Final]:
        """Returns the law of every recovered and bonus token that can be reached, for a chain."""
        laws: dict[tuple[Prefix, int | None], list[Fraction]] = {}
        for block, outcome, mass in self._rounds():
            accepted = len(outcome) - 1
            rejected = block[accepted] if accepted < len(block) else None
            none = [Fraction(0)] * self.case.vocab_size
            laws.setdefault((block[:accepted], rejected), none)[outcome[-1]] += mass
        order = sorted(
            laws, key=lambda key: (len(key[0]), key[0], -1 if key[1] is None else key[1])
        )
        return [self._final(*key, laws[key]) for key in order]

    def _final(self, prefix: Prefix, rejected: int | None, masses: list[Fraction]) -> Final:
        reached = sum(masses, Fraction(0))
        p = self.case.target[prefix]
        ideal = list(p)
        if rejected is not None:
            excess = [
                max(a - b, Fraction(0)) for a, b in zip(p, self.case.draft[prefix], strict=True)
            ]
            ideal = [value / sum(excess) for value in excess] if any(excess) else []
        law = tuple(mass / reached for mass in masses)
        return Final(prefix, rejected, reached, law, tuple(ideal))

    def _rounds(self) -> list[tuple[Prefix, Outcome, Fraction]]:
        """Returns the rounds that are possible and keep to their draft up to their last token."""
        if self.case.tree is not None:
            return []
        return [
            (block, outcome, self.chances[block] * mass)
            for block, law in self.by_block.items()
            for outcome, mass in law.items()
            if mass and possible(self.case, outcome) and block[: len(outcome) - 1] == outcome[:-1]
        ]


def possible(case: Case, outcome: Outcome) -> bool:
    """Returns whether an outcome is 1 to gamma + 1 ids of the vocabulary."""
    short = 0 < len(outcome) <= case.num_speculative_tokens + 1
    return short and all(0 <= token < case.vocab_size for token in outcome)


def distance(one: Masses, other: Masses) -> Fraction:
    """Returns the total variation between two laws."""
    outcomes = one.keys() | other.keys()
    none = Fraction(0)
    return sum((abs(one.get(o, none) - other.get(o, none)) for o in outcomes), none) / 2


def _completed(case: Case, masses: Masses, *, start: bool = False) -> Masses:
    """Returns the masses after every possible outcome was extended by the target's rows.

    start: () stands for a round that has not begun. A prefix of target probability 0 that has no
    row in the case stays as it is.
    """
    level = dict(masses)
    for length in range(0 if start else 1, case.num_speculative_tokens + 1):
        for outcome in [o for o in level if len(o) == length and (possible(case, o) or not o)]:
            try:
                row = case.target[outcome]
            except CaseError:
                continue
            mass = level.pop(outcome)
            for token, chance in enumerate(row):
                if chance:
                    longer = (*outcome, token)
                    level[longer] = level.get(longer, Fraction(0)) + mass * chance
    return level


def _summed(pairs: Iterable[tuple[Outcome, Fraction]]) -> Masses:
    total: dict[Outcome, Fraction] = defaultdict(Fraction)
    for outcome, mass in pairs:
        total[outcome] += mass
    return total


def _code(tokens: Outcome, base: int) -> int:
    code = 0
    for token in tokens:
        code = code * base + token
    return code
