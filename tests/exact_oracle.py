"""An independent oracle: rules as ordinary sampling programs, enumerated by replay.

The programs follow the prose of the rules and share nothing with the engine: a program draws and
tosses coins, and the oracle reruns it for every sequence of results, multiplying Fractions.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import pairwise

from audit.case import Case

Weights = Sequence[Fraction]
ONE = Fraction(1)


class NoMassError(Exception):
    """Raised where a program draws from weights without mass."""


class Tape:
    """The random choices of one run: replays `script`, then takes first possible results."""

    def __init__(self, script: list[int]) -> None:
        self.script, self.position = script, 0
        self.taken: list[int] = []
        self.possible: list[list[int]] = []
        self.probability = ONE

    def draw(self, weights: Weights) -> int:
        total = sum(weights)
        if total == 0:
            raise NoMassError
        options = [i for i, weight in enumerate(weights) if weight > 0]
        replayed = self.position < len(self.script)
        choice = self.script[self.position] if replayed else options[0]
        self.position += 1
        self.taken.append(choice)
        self.possible.append(options)
        self.probability *= weights[choice] / total
        return choice

    def coin(self, heads: Fraction) -> bool:
        return self.draw([1 - heads, heads]) == 1

    def uniform(self, low: Fraction, high: Fraction, marks: Sequence[Fraction]) -> Fraction:
        """Returns a number between low and high, the middle of one of the parts between marks."""
        ends = [low, *sorted(mark for mark in set(marks) if low < mark < high), high]
        part = self.draw([b - a for a, b in pairwise(ends)])
        return (ends[part] + ends[part + 1]) / 2


Program = Callable[[Tape, Case, list[int]], list[int]]
RowOf = Callable[[Case, list[int]], Weights]


def enumerate_law(
    program: Program, case: Case, drafts: RowOf | None = None
) -> dict[tuple[int, ...], Fraction]:
    """Returns the law of the program's output, () where it is undefined.

    drafts: the rows that tokens are drafted from, the recorded ones by default.
    """
    return replayed(lambda tape: program(tape, case, draft_block(tape, case, drafts or q)))


def replayed(run: Callable[[Tape], list[int]]) -> dict[tuple[int, ...], Fraction]:
    """Returns the law of what `run` returns, () where it draws from nothing."""
    law: dict[tuple[int, ...], Fraction] = defaultdict(Fraction)
    script: list[int] | None = []
    while script is not None:
        tape = Tape(script)
        try:
            outcome = tuple(run(tape))
        except NoMassError:
            outcome = ()
        law[outcome] += tape.probability
        script = following(tape)
    return dict(law)


def following(tape: Tape) -> list[int] | None:
    """Returns the next script in depth-first order, None after the last."""
    for i in reversed(range(len(tape.taken))):
        later = [option for option in tape.possible[i] if option > tape.taken[i]]
        if later:
            return [*tape.taken[:i], later[0]]
    return None


def draft_block(tape: Tape, case: Case, rows: RowOf) -> list[int]:
    """Drafts gamma tokens."""
    block: list[int] = []
    for _ in range(case.num_speculative_tokens):
        block.append(tape.draw(rows(case, block)))
    return block


def completed(tape: Tape, case: Case, block: list[int]) -> list[int]:
    """Continues a block with target draws up to gamma + 1 tokens."""
    while len(block) <= case.num_speculative_tokens:
        block = [*block, tape.draw(p(case, block))]
    return block


def p(case: Case, prefix: list[int]) -> list[Fraction]:
    return list(case.target[tuple(prefix)])


def q(case: Case, prefix: list[int]) -> list[Fraction]:
    return list(case.draft[tuple(prefix)])


def positive_part(a: Weights, b: Weights) -> list[Fraction]:
    return [x - y if x > y else Fraction(0) for x, y in zip(a, b, strict=True)]


def clip(a: Fraction, b: Fraction) -> Fraction:
    if b == 0:
        return ONE if a > 0 else Fraction(0)
    return min(ONE, a / b)


def excluding(weights: Weights, token: int) -> list[Fraction]:
    return [Fraction(0) if i == token else weight for i, weight in enumerate(weights)]


def residual(case: Case, x: list[int], i: int) -> Weights:
    return positive_part(p(case, x[:i]), q(case, x[:i]))


def greedy(tape: Tape, case: Case, x: list[int]) -> list[int]:
    out: list[int] = []
    for token in [*x, None]:
        row = p(case, out)
        out.append(row.index(max(row)))
        if out[-1] != token:
            break
    return out


def sampler_match(tape: Tape, case: Case, x: list[int]) -> list[int]:
    out: list[int] = []
    for token in [*x, None]:
        out.append(tape.draw(p(case, out)))
        if out[-1] != token:
            break
    return out


def block(tape: Tape, case: Case, x: list[int]) -> list[int]:
    gamma, survive = len(x), [ONE]
    for i, token in enumerate(x):
        survive.append(clip(survive[-1] * p(case, x[:i])[token], q(case, x[:i])[token]))
    kept = 0
    for i in range(gamma + 1):
        height = survive[gamma]
        if i < gamma:
            excess = sum(positive_part(scaled(case, x[:i], survive[i]), q(case, x[:i])))
            below = excess + 1 - survive[i]
            height = excess / below if below else ONE
        if tape.coin(height):
            kept = i
    if kept == gamma:
        return [*x, tape.draw(p(case, x))]
    final = positive_part(scaled(case, x[:kept], survive[kept]), q(case, x[:kept]))
    return [*x[:kept], tape.draw(final)]


def scaled(case: Case, prefix: list[int], by: Fraction) -> list[Fraction]:
    return [by * value for value in p(case, prefix)]


def shared_coin(tape: Tape, case: Case, x: list[int]) -> list[int]:
    ceiling = ONE  # the one uniform is known to lie below this
    for i, token in enumerate(x):
        ratio = clip(p(case, x[:i])[token], q(case, x[:i])[token])
        if not tape.coin(min(ONE, ratio / ceiling)):
            return [*x[:i], tape.draw(residual(case, x, i))]
        ceiling = min(ceiling, ratio)
    return [*x, tape.draw(p(case, x))]


def continues(tape: Tape, case: Case, x: list[int]) -> list[int]:
    out = []
    for i, token in enumerate(x):
        ratio = clip(p(case, x[:i])[token], q(case, x[:i])[token])
        out.append(token if tape.coin(ratio) else tape.draw(residual(case, x, i)))
    return [*out, tape.draw(p(case, x))]


def bonus_missing(tape: Tape, case: Case, x: list[int]) -> list[int]:
    for i, token in enumerate(x):
        if not tape.coin(clip(p(case, x[:i])[token], q(case, x[:i])[token])):
            return [*x[:i], tape.draw(residual(case, x, i))]
    return x
