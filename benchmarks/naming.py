"""How often a fault is given its name, what is outside the catalogue none, and a correct rule none.

Names are given after a FAIL only. The rounds of a fault, and of a behaviour outside the catalogue,
are therefore taken to be those of an audit that has shown a bias, however few they are; those of a
correct rule to be those of an audit in which a declared rule was not followed, where correct rules
compete with the faults (`--open`: all rounds are). A name counts as right where the likeliest
suspect is the fault or an alias of it, at whatever strength and constant: "alone" where there is no
other suspect, "of 3" where it is one of three suspects at most, likeliest or not. "none" says that
no fault is named. "bound" is what nobody can do better than (`naming_bounds.py`); behaviours
outside the catalogue that a catalogued law imitates, with a bound below 99 %, have their own line.

Seeds come from the operating system; the first one is printed, and --first-seed repeats a run.
"""

from __future__ import annotations

import argparse
import os
import secrets
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from common import spread
from naming_bounds import bound
from naming_questions import QUESTIONS, Question, apart, field_of, rules_of

from audit.diagnosis.naming import named
from audit.statistics.binomial import lower_limit, upper_limit

GOAL = 0.99
FEW = 3  # suspects, among which a right name still helps
SURE = 10.8  # mean log-likelihood ratio at which two laws are told apart in 99 % of runs


@dataclass(frozen=True)
class Answer:
    """What a run was named: the ids of each suspect, and whether a correct rule fits instead."""

    suspects: tuple[tuple[str, ...], ...]
    fits: bool

    def right(self, asked: Question) -> bool:
        """Returns whether this is the right answer: the likeliest suspect, or that there is none.

        That a correct rule fits is the right answer to a correct rule only.
        """
        if asked.wanted:
            return bool(self.suspects) and asked.wanted in self.suspects[0]
        return not self.suspects and not (self.fits and asked.failed)

    def alone(self, asked: Question) -> bool:
        """Returns whether the right answer is the only one."""
        return self.right(asked) and len(self.suspects) <= 1

    def helps(self, asked: Question) -> bool:
        """Returns whether the right answer is among few."""
        if not asked.wanted:
            return self.right(asked)
        return len(self.suspects) <= FEW and any(asked.wanted in ids for ids in self.suspects)

    def wrong(self, asked: Question) -> bool:
        """Returns whether the likeliest suspect is a wrong one."""
        return bool(self.suspects) and not self.right(asked)


@dataclass(frozen=True)
class Asked:
    """A question, its answers, and the largest share of them that can be right."""

    question: Question
    answers: Sequence[Answer]
    bound: float

    @property
    def kind(self) -> str:
        """Which line of the table it belongs to."""
        outside = self.question.failed and not self.question.wanted
        like = outside and self.bound < GOAL
        return f"{self.question.kind}, but like it" if like else self.question.kind

    def share(self, *, of: str) -> list[bool]:
        """Returns of every answer whether it is "right", "alone", "helps" or "wrong"."""
        return [getattr(one, of)(self.question) for one in self.answers]


def answer(
    number: int, *, names: Sequence[str], seed: int, runs: int, rounds: int, opened: bool
) -> Answer:
    """Returns what rounds drawn from a law are named: that of the question number // runs."""
    asked = QUESTIONS[names[number // runs]]
    seen = asked.drawn(rounds, np.random.default_rng([seed, 0, number]))
    found = named(seen, field_of(asked.group, biased=asked.failed and not opened))
    return Answer(tuple(one.ids for one in found.suspects), bool(found.fits))


def bound_of(number: int, *, names: Sequence[str], seed: int, rounds: int, opened: bool) -> float:
    """Returns the bound of the question of this number."""
    rng = np.random.default_rng([seed, 1, number])
    return bound(QUESTIONS[names[number]], rounds, rng, biased=not opened)


def main() -> None:
    """Prints a line for every question that is not always answered rightly, and the table."""
    options = arguments()
    rounds, seed, runs = options.rounds, options.first_seed, options.runs
    print(f"first seed {seed}, {rounds} rounds a case")
    names = [name for name, one in QUESTIONS.items() if options.only in f"{one.kind}: {name}"]
    work = partial(answer, names=names, seed=seed, runs=runs, rounds=rounds, opened=options.open)
    answers = spread(work, range(len(names) * runs), processes=options.processes)
    limit = partial(bound_of, names=names, seed=seed, rounds=rounds, opened=options.open)
    bounds = spread(limit, range(len(names)), processes=options.processes)
    asked = [
        Asked(QUESTIONS[name], answers[place * runs : (place + 1) * runs], bounds[place])
        for place, name in enumerate(names)
    ]
    for one in asked:
        if not all(one.share(of="right")):
            print("\n".join(missed(one, rounds)))
    print("\n".join(table(asked)))


def arguments() -> argparse.Namespace:
    """Returns the options."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=100, help="runs of each question")
    parser.add_argument("--rounds", type=int, default=500, help="rounds of each case")
    parser.add_argument("--only", default="", help="questions whose kind or name holds this")
    parser.add_argument("--open", action="store_true", help="no bias is taken for shown")
    parser.add_argument("--processes", type=int, default=os.cpu_count())
    parser.add_argument("--first-seed", type=int, default=secrets.randbits(48))
    return parser.parse_args()


def missed(asked: Asked, rounds: int) -> list[str]:
    """Returns what was answered instead, and why it may have been."""
    question = asked.question
    wrong = Counter(one.suspects or one.fits for one in asked.answers if not one.right(question))
    lines = [
        f"{question.name}: {share(asked.share(of='right'))} of {len(asked.answers)}, at best "
        f"{asked.bound:.1%}; instead {wrong.most_common(2)}"
    ]
    return [*lines, f"    {nearest(question, rounds)}"] if question.wanted else lines


def nearest(asked: Question, rounds: int) -> str:
    """Returns which entry's law is nearest to that in question, and how near."""
    others = [rule for rule in rules_of(asked.group) if rule.id != asked.rule.id]
    distances = {rule.id: apart(asked.rule, rule, asked.group) for rule in others}
    name = min(distances, key=distances.__getitem__)
    ratio, far = distances[name]
    return (
        f"nearest: {name}, TV {far:.3f}, mean log-likelihood ratio {rounds * ratio:.1f}; told "
        f"apart in {GOAL:.0%} after about {SURE / ratio:,.0f} rounds a case"
    )


def table(asked: Iterable[Asked]) -> list[str]:
    """Returns the shares by kind of question, a line each."""
    kinds: dict[str, list[Asked]] = {}
    for one in asked:
        kinds.setdefault(one.kind, []).append(one)
    head = f"{'kind':<32}{'asked':>6}{'runs':>7}{'right':>28}"
    head += "".join(f"{word:>9}" for word in ("alone", "of 3", "wrong", "none", "bound"))
    return [head, *(line(kind, group) for kind, group in kinds.items())]


def line(kind: str, asked: Sequence[Asked]) -> str:
    """Returns the line of one kind of question."""
    right, alone, helps, wrong = (
        [answer for one in asked for answer in one.share(of=word)]
        for word in ("right", "alone", "helps", "wrong")
    )
    none = [not one.suspects for group in asked for one in group.answers]
    shares = (np.mean(part) for part in (alone, helps, wrong, none))
    best = np.mean([one.bound for one in asked])
    cells = "".join(f"{part:>9.1%}" for part in (*shares, best))
    return f"{kind:<32}{len(asked):>6}{len(right):>7}{share(right):>28}{cells}"


def share(right: Sequence[bool]) -> str:
    """Returns a share with its 95 % interval."""
    k, n = sum(right), len(right)
    low, high = lower_limit(k, n, 0.025), upper_limit(k, n, 0.025)
    return f"{k / n:.2%} ({low:.2%} to {high:.2%})"


if __name__ == "__main__":
    main()
