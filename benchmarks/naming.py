"""How often a fault is given its name, what is outside the catalogue none, and a correct rule none.

Rounds are drawn from exact laws of (draft block, emitted block); no sampler is run. A name counts
as right where the likeliest suspect is the fault or an alias of it, at whatever strength and
constant; "listed" where it is one of the suspects. Seeds come from the operating system; the first
one is printed, and --first-seed repeats a run.
"""

from __future__ import annotations

import argparse
import os
import secrets
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache, partial

import numpy as np
from common import spread
from scipy import special

from audit.diagnosis.field import Field
from audit.diagnosis.naming import named
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
from audit.statistics.binomial import lower_limit, upper_limit

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


@dataclass(frozen=True)
class Answer:
    """What a run was named: the ids of each suspect, and whether a correct rule fits instead."""

    suspects: tuple[tuple[str, ...], ...]
    fits: bool

    def leads(self, name: str) -> bool:
        """Returns whether this is the name given; "": none is."""
        return name in self.suspects[0] if self.suspects else not name

    def lists(self, name: str) -> bool:
        """Returns whether this is one of the suspects."""
        return any(name in ids for ids in self.suspects)


@cache
def pairs_of(group: str) -> tuple[Pairs, ...]:
    """Returns the cases of a group, which keep the laws worked out so far."""
    return tuple(Pairs(case, TOLERANCE) for case in select_cases(GROUPS[group]))


@cache
def field_of(group: str) -> Field:
    """Returns the entries that compete on the cases of a group."""
    return Field.of([pairs.case for pairs in pairs_of(group)])


def answer(number: int, *, names: Sequence[str], seed: int, runs: int, rounds: int) -> Answer:
    """Returns what rounds drawn from a law are named: that of the question number // runs."""
    rng, asked = np.random.default_rng(seed + number), QUESTIONS[names[number // runs]]
    seen = []
    for pairs in pairs_of(asked.group):
        counts = rng.multinomial(rounds, given(pairs, asked.rule))
        seen.append(Seen(pairs, counts, counts * 0))
    naming = named(seen, field_of(asked.group))
    return Answer(tuple(one.ids for one in naming.suspects), bool(naming.fits))


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
OUTSIDE: dict[str, RoundLaw] = {
    "whole target row and bonus from q": replace(BONUS_FROM_DRAFT, fallback=target),
    "squared ratio and whole target row": Chain(accept=squared_ratio, fallback=target),
    "uniform fallback after token 0 only": after_token_0(RULES["uniform-fallback"].law),
    "p cubed in the test, not normalised": Chain(accept=cubed_in_test),
    "bonus from q, and whole target row in a tenth": one_or_other(
        replace(BONUS_FROM_DRAFT, fallback=target), BONUS_FROM_DRAFT, Fraction(1, 10)
    ),
    "draft row or swapped ratio, half each": one_or_other(
        RULES["draft-fallback"].law, RULES["swapped-ratio"].law, Fraction(1, 2)
    ),
}
NEAR_THE_CATALOGUE: dict[str, RoundLaw] = {  # too near for 500 rounds, and shown for that
    "residual squared": Chain(fallback=squared_residual),
    "whole target row or always accept, half each": one_or_other(
        RULES["full-target-fallback"].law, RULES["always-accept"].law, Fraction(1, 2)
    ),
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
    ratio = sum(float(special.rel_entr(p, (1 - TOLERANCE) * q + TOLERANCE / len(q)).sum())
                for p, q in laws)  # fmt: skip
    return ratio, max(float(np.abs(p - q).sum() / 2) for p, q in laws)


def given(pairs: Pairs, rule: Rule) -> np.ndarray:
    """Returns a rule's law of the rounds in which it emits something."""
    law = pairs.law(rule)
    return law / law.sum()


def outside() -> Iterator[Question]:
    """Yields a question for every behaviour outside the catalogue."""
    for name, law in (OUTSIDE | NEAR_THE_CATALOGUE).items():
        yield Question(Rule(name, "fault", name, "", "", law), "chain", "")


def questions() -> dict[str, Question]:
    """Returns all questions by name."""
    asked = [*catalogued(), *outside()]
    return {f"{one.rule.id} ({one.group})": one for one in asked}


QUESTIONS = questions()


def main() -> None:
    """Prints a line for every question that is not always answered rightly, and the shares."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=100, help="runs of each question")
    parser.add_argument("--rounds", type=int, default=500, help="rounds of each case")
    parser.add_argument("--only", default="", help="questions whose kind or name holds this")
    parser.add_argument("--processes", type=int, default=os.cpu_count())
    parser.add_argument("--first-seed", type=int, default=secrets.randbits(48))
    options = parser.parse_args()
    print(f"first seed {options.first_seed}, {options.rounds} rounds a case")
    shares: dict[str, list[bool]] = {}
    names = [n for n, asked in QUESTIONS.items() if options.only in f"{kind_of(asked)}: {n}"]
    runs, seed = options.runs, options.first_seed
    work = partial(answer, names=names, seed=seed, runs=runs, rounds=options.rounds)
    answers = spread(work, range(len(names) * runs), processes=options.processes)
    for place, name in enumerate(names):
        report(name, answers[place * runs : (place + 1) * runs], shares, options.rounds)
    for kind, right in shares.items():
        print(f"{kind:<32}{share(right)}")


def report(
    name: str, answers: Sequence[Answer], shares: dict[str, list[bool]], rounds: int
) -> None:
    """Adds the answers to a question to the shares, and prints them where any is wrong."""
    asked = QUESTIONS[name]
    right = [one.leads(asked.wanted) for one in answers]
    kind = kind_of(asked)
    shares.setdefault(kind, []).extend(right)
    if asked.wanted:
        listed = [one.lists(asked.wanted) for one in answers]
        shares.setdefault(f"{kind}, listed", []).extend(listed)
    if not all(right):
        wrong = Counter(one.suspects or one.fits for one in answers if not one.leads(asked.wanted))
        print(f"{name}: {share(right)}; instead {wrong.most_common(2)}")
        if asked.wanted:
            print(f"    {nearest(asked, rounds)}", flush=True)


def nearest(asked: Question, rounds: int) -> str:
    """Returns which entry's law is nearest to that in question, and how near."""
    others = [rule for rule in rules_of(asked.group) if rule.id != asked.rule.id]
    distances = {rule.id: apart(asked.rule, rule, asked.group) for rule in others}
    name = min(distances, key=distances.__getitem__)
    ratio, far = distances[name]
    return f"nearest: {name}, TV {far:.3f}, mean log-likelihood ratio {rounds * ratio:.1f}"


def kind_of(asked: Question) -> str:
    """Returns which of the goals a question is about."""
    if asked.rule.id in OUTSIDE:
        return "outside the catalogue"
    if asked.rule.id in NEAR_THE_CATALOGUE:
        return "outside, but near it"
    return f"faults, {asked.group}" if asked.wanted else "correct rules"


def share(right: Sequence[bool]) -> str:
    """Returns a share with its 95 % interval."""
    k, n = sum(right), len(right)
    low, high = lower_limit(k, n, 0.025), upper_limit(k, n, 0.025)
    return f"{k / n:8.2%}  ({low:.2%} to {high:.2%}, {n} runs)"


if __name__ == "__main__":
    main()
