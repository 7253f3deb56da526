"""What `naming.py` asks: every correct rule and every fault, and behaviours that nobody catalogued.

A question is rounds by a rule, drawn from exact laws of (draft block, emitted block); no sampler is
run.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache

import numpy as np
from scipy import special

from audit.diagnosis.field import Field
from audit.diagnosis.observed import Pairs, Seen
from audit.exact.catalogue import RULES
from audit.exact.chain import Branch, Chain, residual
from audit.exact.faults import block_laws
from audit.exact.faults.acceptance import squared_ratio
from audit.exact.paths import Rounds, Step
from audit.exact.ratios import Ratios, clipped_ratio, constant, whole
from audit.exact.rule import RoundLaw, Rule
from audit.exact.rules import RATIO, target
from audit.selection import select_cases
from audit.statistics.results import Array

TOLERANCE = 3e-6
GROUPS = {
    "chain": ("basis-1", "basis-2"),
    "block": ("block-basis",),
    "independent": ("tree-basis",),
    "independent, deeper": ("tree-two-paths",),
    "distinct": ("tree-basis-distinct",),
    "distinct, deeper": ("tree-two-levels",),
    "fixed": ("tree-fixed",),
}
BASES = {"chain": "ratio", "block": "block"}  # in the other groups every fault is asked about
EMITS_NOTHING = "correction-missing"  # an empty row is an error, and is never counted


@dataclass(frozen=True)
class Question:
    """Rounds by a rule, on the cases of a group; `wanted` is the right name, "" for none."""

    rule: Rule
    group: str
    wanted: str

    @property
    def name(self) -> str:
        """What the question is called."""
        return f"{self.rule.id} ({self.group})"

    @property
    def kind(self) -> str:
        """Which of the goals the question is about."""
        if self.rule.id in OUTSIDE:
            return "outside the catalogue"
        return f"faults, {self.group}" if self.wanted else "correct rules"

    @property
    def failed(self) -> bool:
        """Whether its rounds are taken to be those of an audit that has shown a bias."""
        return self.kind != "correct rules"

    def drawn(self, rounds: int, rng: np.random.Generator) -> list[Seen]:
        """Returns what so many rounds of each case show."""
        pairs = pairs_of(self.group)
        counts = [rng.multinomial(rounds, given(one, self.rule)) for one in pairs]
        return [Seen(one, n, n * 0) for one, n in zip(pairs, counts, strict=True)]


@cache
def pairs_of(group: str) -> tuple[Pairs, ...]:
    """Returns the cases of a group, which keep the laws worked out so far."""
    return tuple(Pairs(case, TOLERANCE) for case in select_cases(GROUPS[group]))


@cache
def field_of(group: str, *, biased: bool = False) -> Field:
    """Returns the entries that compete on the cases of a group."""
    return Field.of([pairs.case for pairs in pairs_of(group)], biased=biased)


def given(pairs: Pairs, rule: Rule) -> Array:
    """Returns a rule's law of the rounds in which it emits something."""
    law = pairs.law(rule)
    return law / law.sum()


def after_token_0(wrong: RoundLaw) -> RoundLaw:
    """Returns the ratio rule with another fallback where the first drafted token is 0."""

    def law(rounds: Rounds) -> list[Branch]:
        first, second, *others = RATIO(rounds)
        there = whole(rounds.tokens[:, 0] == 0).column()
        rows = there * wrong(rounds)[1].rows[0] + there.complement() * second.rows[0]
        return [first, replace(second, rows=(rows,)), *others]

    return law


def one_or_other(one: RoundLaw, other: RoundLaw, share: Fraction) -> RoundLaw:
    """Returns the rule that follows one rule in a share of the rounds, and else the other."""

    def law(rounds: Rounds) -> list[Branch]:
        parts = ((one, constant(share)), (other, constant(1 - share)))
        return [
            replace(branch, chance=branch.chance * weight)
            for rule, weight in parts
            for branch in rule(rounds)
        ]

    return law


def cubed_in_test(step: Step) -> Ratios:
    """Returns min(1, p^3 / q), the cube not normalised."""
    return clipped_ratio(step.px * step.px * step.px, step.qx)


def squared_residual(step: Step) -> Ratios:
    """Returns max(p - q, 0) squared."""
    return residual(step) * residual(step)


BONUS_FROM_DRAFT = Chain(bonus=block_laws.last_draft_row)
HALF = Fraction(1, 2)
OUTSIDE: dict[str, RoundLaw] = {
    "whole target row and bonus from q": replace(BONUS_FROM_DRAFT, fallback=target),
    "squared ratio and whole target row": Chain(accept=squared_ratio, fallback=target),
    "uniform fallback after token 0 only": after_token_0(RULES["uniform-fallback"].law),
    "p cubed in the test, not normalised": Chain(accept=cubed_in_test),
    "bonus from q, and whole target row in a tenth": one_or_other(
        replace(BONUS_FROM_DRAFT, fallback=target), BONUS_FROM_DRAFT, Fraction(1, 10)
    ),
    "draft row or swapped ratio, half each": one_or_other(
        RULES["draft-fallback"].law, RULES["swapped-ratio"].law, HALF
    ),
    "whole target row or always accept, half each": one_or_other(
        RULES["full-target-fallback"].law, RULES["always-accept"].law, HALF
    ),
    "residual squared": Chain(fallback=squared_residual),
}


def catalogued() -> Iterator[Question]:
    """Yields a question for every correct rule of each group, and for every fault in the first
    group that tells it from them.
    """
    asked: set[str] = set()
    for group in GROUPS:
        right = field_of(group).correct
        yield from (Question(rule, group, "") for rule in right)
        for rule in faults(group):
            if rule.id not in asked and min(apart(rule, other, group)[1] for other in right) > 0:
                asked.add(rule.id)
                yield Question(rule, group, rule.id)


def outside() -> Iterator[Question]:
    """Yields a question for every behaviour outside the catalogue."""
    for name, law in OUTSIDE.items():
        yield Question(Rule(name, "fault", name, "", "", law), "chain", "")


def rules_of(group: str) -> list[Rule]:
    """Returns the entries whose rounds can be counted on the cases of a group."""
    return [rule for rule in field_of(group).entries if rule.id != EMITS_NOTHING]


def faults(group: str) -> list[Rule]:
    """Returns the faults that are asked about in a group."""
    base = BASES.get(group)
    listed = (rule for rule in rules_of(group) if rule.family != "lossless")
    return [rule for rule in listed if base in (None, rule.base)]


def apart(one: Rule, other: Rule, group: str) -> tuple[float, float]:
    """Returns how far two laws are apart on the cases of a group.

    First the log-likelihood ratio that a round of each case gives on the average, in natural
    logarithms, under the first rule; then the largest total variation.
    """
    laws = [(given(pairs, one), given(pairs, other)) for pairs in pairs_of(group)]
    ratio = sum(float(special.rel_entr(p, widened(q)).sum()) for p, q in laws)
    return ratio, max(float(np.abs(p - q).sum() / 2) for p, q in laws)


def widened(law: Array) -> Array:
    """Returns a law with the numerical tolerance spread over its cells."""
    return (1 - TOLERANCE) * law + TOLERANCE / len(law)


QUESTIONS = {one.name: one for one in (*catalogued(), *outside())}
