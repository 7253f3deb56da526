"""Lossy rules as programs of the oracle, after sections 1.9 and 1.10 of the algorithm page."""

from __future__ import annotations

import math
from fractions import Fraction

from exact_oracle import ONE, Program, Weights, excluding, positive_part
from exact_steps import P, Q, full, in_turn, rates, top

from audit.case import Case


def typical(case: Case, x: list[int], i: int, bound: float = 0.09) -> Fraction:
    row = P(case, x, i)
    entropy = -sum(float(v) * math.log(v) for v in row if v)
    return Fraction(int(row[x[i]] > min(bound, math.sqrt(bound) * math.exp(-entropy))))


def argmax(case: Case, x: list[int], i: int) -> Weights:
    return top(P(case, x, i))


def without_x(case: Case, x: list[int], i: int) -> Weights:
    return excluding(P(case, x, i), x[i])


def mixed(p: Weights, q: Weights) -> Weights:
    return [(a + b) / 2 for a, b in zip(p, q, strict=True)]


def with_own_tokens(p: Weights, q: Weights) -> Weights:
    own = [i for i, b in enumerate(q) if b >= max(p) - Fraction(1, 8)]
    deferred = sum(b for i, b in enumerate(q) if i not in own)
    return [deferred * a + (q[i] if i in own else 0) for i, a in enumerate(p)]


def median(p: Weights, q: Weights, most: Fraction = Fraction(3, 2)) -> Weights:
    """Returns median(q, c1 p, c2 p); the sum is linear in c1 between the ratios q / p."""

    def law(least: Fraction) -> list[Fraction]:
        return [sorted([b, least * a, most * a])[1] for a, b in zip(p, q, strict=True)]

    marks = sorted({Fraction(0), ONE, *(b / a for a, b in zip(p, q, strict=True) if 0 < b < a)})
    low = max(mark for mark in marks if sum(law(mark)) <= 1)
    high = min((mark for mark in marks if mark > low), default=low)
    rise = sum(law(high)) - sum(law(low))
    return law(low + (high - low) * (1 - sum(law(low))) / rise) if rise else law(low)


def towards(between) -> Program:  # type: ignore[no-untyped-def]
    """Returns the ratio rule against a law between p and q."""

    def passes(case: Case, x: list[int], i: int) -> Fraction:
        draft = Q(case, x, i)[x[i]]
        declared = between(P(case, x, i), Q(case, x, i))[x[i]]
        return min(ONE, declared / draft) if draft else Fraction(int(declared > 0))

    def recover(case: Case, x: list[int], i: int) -> Weights:
        return positive_part(between(P(case, x, i), Q(case, x, i)), Q(case, x, i))

    return in_turn(passes, recover)


def eased(a: Fraction, b: Fraction) -> Fraction:
    return min(ONE, a / Fraction(4, 5))


def skipped(a: Fraction, b: Fraction) -> Fraction:
    return ONE if a >= Fraction(2, 5) else a


LOSSY_PROGRAMS: dict[str, Program] = {
    "typical-acceptance": in_turn(typical, full),
    "typical-acceptance-argmax": in_turn(typical, argmax, lambda case, x: top(P(case, x, len(x)))),
    "target-only-threshold-acc": in_turn(rates(eased), without_x),
    "target-only-threshold-single": in_turn(rates(skipped), without_x),
    "cascade-mixture": towards(mixed),
    "cascade-own-tokens": towards(with_own_tokens),
    "mentored": towards(median),
}
