"""Steps of the oracle's chain programs: processed rows, acceptance tests, recoveries.

Rows are lists of Fractions; x is the drafted block and i the position under test. Constants are
those of the algorithm page (section 3).
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from exact_oracle import ONE, Program, RowOf, Tape, Weights, clip, p, positive_part, q

from audit.case import Case

Test = Callable[[Case, list[int], int], Fraction]
Recovery = Callable[[Case, list[int], int], Weights]
Change = Callable[[Weights], Weights]
RowAt = Callable[[Case, list[int], int], Weights]


def here(row: RowOf) -> RowAt:
    """Returns the row that belongs to the position under test."""
    return lambda case, x, i: row(case, x[:i])


def changed(row: RowOf, change: Change) -> RowAt:
    return lambda case, x, i: change(row(case, x[:i]))


P, Q = here(p), here(q)


def first(row: RowOf) -> RowAt:
    return lambda case, x, i: row(case, [])


def late_target(case: Case, x: list[int], i: int) -> Weights:
    return p(case, x[: i + 1])


def late_draft(case: Case, x: list[int], i: int) -> Weights:
    return q(case, x[: min(i + 1, len(x) - 1)])


def ratio(target: RowAt = P, draft: RowAt = Q) -> Test:
    return lambda case, x, i: clip(target(case, x, i)[x[i]], draft(case, x, i)[x[i]])


def residual(target: RowAt = P, draft: RowAt = Q) -> Recovery:
    return lambda case, x, i: positive_part(target(case, x, i), draft(case, x, i))


def rates(test: Callable[[Fraction, Fraction], Fraction]) -> Test:
    """Returns the test that looks at p and q of the drafted token alone."""
    return lambda case, x, i: test(P(case, x, i)[x[i]], Q(case, x, i)[x[i]])


def rows(recover: Callable[[Weights, Weights], Weights]) -> Recovery:
    """Returns the recovery that looks at the rows p and q alone."""
    return lambda case, x, i: recover(P(case, x, i), Q(case, x, i))


def in_turn(test: Test | None = None, recover: Recovery | None = None, bonus: RowOf = p) -> Program:
    """Returns the program that tests token after token and stops at the first rejection."""
    passes, weights = test or ratio(), recover or residual()

    def program(tape: Tape, case: Case, x: list[int]) -> list[int]:
        for i in range(len(x)):
            if not tape.coin(passes(case, x, i)):
                return [*x[:i], tape.draw(weights(case, x, i))]
        return [*x, tape.draw(bonus(case, x))]

    return program


def top_two(row: Weights) -> Weights:
    best = sorted(range(len(row)), key=lambda token: (-row[token], token))[:2]
    return [value if token in best else Fraction(0) for token, value in enumerate(row)]


def unit(row: Weights) -> Weights:
    total = sum(row)
    return [value / total for value in row] if total else row


def unit_top_two(row: Weights) -> Weights:
    return unit(top_two(row))


def squares(row: Weights) -> Weights:
    return unit([value * value for value in row])


def all_but_last(row: Weights) -> Weights:
    return unit([*row[:-1], Fraction(0)])


def eighths(row: Weights) -> Weights:
    return [Fraction(round(8 * value), 8) for value in row]  # round() takes ties to even


def hot(token: int, size: int) -> Weights:
    return [Fraction(int(i == token)) for i in range(size)]


def top(row: Weights) -> Weights:
    return hot(list(row).index(max(row)), len(row))


def rejection(target: Weights, draft: Weights) -> Fraction:
    return sum(positive_part(target, draft), Fraction(0))


def overflow(into: int) -> Recovery:
    def recover(case: Case, x: list[int], i: int) -> Weights:
        weights = list(residual()(case, x, i))
        weights[into] += 1 - sum(weights)
        return weights

    return recover


def tiny_or_ratio(case: Case, x: list[int], i: int) -> Fraction:
    return ONE if rejection(P(case, x, i), Q(case, x, i)) < Fraction(7, 20) else ratio()(case, x, i)


def shifted_id(case: Case, x: list[int], i: int) -> Fraction:
    other = (x[i] + 1) % case.vocab_size
    return clip(P(case, x, i)[other], Q(case, x, i)[other])


def is_top(case: Case, x: list[int], i: int) -> Fraction:
    return top(P(case, x, i))[x[i]]


def full(case: Case, x: list[int], i: int) -> Weights:
    return P(case, x, i)


def floored(target: Weights, draft: Weights) -> Weights:
    return [max(a - b, Fraction(1, 20)) for a, b in zip(target, draft, strict=True)]


def tiny_or_residual(target: Weights, draft: Weights) -> Weights:
    small = rejection(target, draft) < Fraction(7, 20)
    return target if small else positive_part(target, draft)


def proposed(target: Weights, draft: Weights) -> Weights:
    pairs = zip(positive_part(target, draft), draft, strict=True)
    return [excess if drafted else Fraction(0) for excess, drafted in pairs]


def support(target: Weights, draft: Weights) -> Weights:
    return [Fraction(int(a > b)) for a, b in zip(target, draft, strict=True)]


def differences(target: Weights, draft: Weights) -> Weights:
    return [a - b for a, b in zip(target, draft, strict=True)]


def half(row: Weights) -> Weights:
    return [value / 2 for value in row]
