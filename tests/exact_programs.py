"""Every catalogued rule as a program of the oracle, by id, and what its tokens are drafted from.

The programs follow the prose of the algorithm page (sections 1 and 3).
"""

from __future__ import annotations

from fractions import Fraction
from itertools import accumulate
from math import floor

from exact_blocks import BLOCK_PROGRAMS
from exact_lossy import LOSSY_PROGRAMS
from exact_oracle import (
    ONE,
    Program,
    RowOf,
    Tape,
    Weights,
    block,
    bonus_missing,
    clip,
    continues,
    excluding,
    greedy,
    p,
    positive_part,
    q,
    sampler_match,
    shared_coin,
)
from exact_steps import (
    P,
    Q,
    all_but_last,
    changed,
    differences,
    eighths,
    first,
    floored,
    full,
    half,
    hot,
    in_turn,
    is_top,
    late_draft,
    late_target,
    overflow,
    proposed,
    rates,
    ratio,
    residual,
    rows,
    shifted_id,
    squares,
    support,
    tiny_or_ratio,
    tiny_or_residual,
    top,
    top_two,
    unit,
    unit_top_two,
)

from audit.case import Case


def anywhere(tape: Tape, case: Case, x: list[int]) -> list[int]:
    n = sum(tape.coin(ratio()(case, x, i)) for i in range(len(x)))
    last = residual()(case, x, n) if n < len(x) else p(case, x)
    return [*x[:n], tape.draw(last)]


def first_decides(tape: Tape, case: Case, x: list[int]) -> list[int]:
    if tape.coin(ratio()(case, x, 0)):
        return [*x, tape.draw(p(case, x))]
    return [tape.draw(residual()(case, x, 0))]


def cumulative(tape: Tape, case: Case, x: list[int]) -> list[int]:
    product = ONE
    for i, token in enumerate(x):
        product *= P(case, x, i)[token] / Q(case, x, i)[token]
        if not tape.coin(min(ONE, product)):
            return [*x[:i], tape.draw(residual()(case, x, i))]
    return [*x, tape.draw(p(case, x))]


def number_accepted(tape: Tape, case: Case, x: list[int]) -> int:
    for i in range(len(x)):
        if not tape.coin(ratio()(case, x, i)):
            return i
    return len(x)


def final(tape: Tape, case: Case, x: list[int], n: int) -> int:
    return tape.draw(residual()(case, x, n) if n < len(x) else p(case, x))


def with_bonus(tape: Tape, case: Case, x: list[int]) -> list[int]:
    n = number_accepted(tape, case, x)
    out = [*x[:n], final(tape, case, x, n)]
    return [*out, tape.draw(p(case, x))] if n < len(x) else out


def one_too_many(tape: Tape, case: Case, x: list[int]) -> list[int]:
    n = number_accepted(tape, case, x)
    return [*x[: n + 1], final(tape, case, x, n)]


def one_too_few(tape: Tape, case: Case, x: list[int]) -> list[int]:
    n = number_accepted(tape, case, x)
    return [*x[: max(n - 1, 0)], final(tape, case, x, n)]


def no_correction(tape: Tape, case: Case, x: list[int]) -> list[int]:
    n = number_accepted(tape, case, x)
    return x[:n] if n < len(x) else [*x, final(tape, case, x, n)]


def fresh_draw(tape: Tape, case: Case, x: list[int]) -> list[int]:
    for i, token in enumerate(x):
        if tape.draw(p(case, x[:i])) != token:
            return [*x[:i], tape.draw(p(case, x[:i]))]
    return [*x, tape.draw(p(case, x))]


def inverted(weights: Weights, at: Fraction) -> int:
    return next(token for token, reach in enumerate(accumulate(weights)) if at < reach)


def coin_again(tape: Tape, case: Case, x: list[int]) -> list[int]:
    for i in range(len(x)):
        ceiling, law = ratio()(case, x, i), unit(residual()(case, x, i))
        coin = tape.uniform(Fraction(0), ONE, [ceiling, *accumulate(law)])
        if coin >= ceiling:
            return [*x[:i], inverted(law, coin)]
    return [*x, tape.draw(p(case, x))]


def drafting_coin(tape: Tape, case: Case, x: list[int]) -> list[int]:
    for i, token in enumerate(x):
        row, ceiling = Q(case, x, i), ratio()(case, x, i)
        if not row[token]:  # cannot be drafted, hence not reached
            return []
        start = sum(row[:token], Fraction(0))
        if tape.uniform(start, start + row[token], [ceiling]) >= ceiling:
            return [*x[:i], tape.draw(residual()(case, x, i))]
    return [*x, tape.draw(p(case, x))]


def two_tries(tape: Tape, case: Case, x: list[int]) -> list[int]:
    out: list[int] = []
    for _ in x:
        for _ in range(2):
            token = tape.draw(q(case, out))
            if tape.coin(clip(p(case, out)[token], q(case, out)[token])):
                out.append(token)
                break
        else:
            return [*out, tape.draw(positive_part(p(case, out), q(case, out)))]
    return [*out, tape.draw(p(case, out))]


def until_accepted(tape: Tape, case: Case, x: list[int]) -> list[int]:
    out: list[int] = []
    for _ in x:
        pairs = zip(p(case, out), q(case, out), strict=True)
        out.append(tape.draw([min(a, b) for a, b in pairs]))
    return [*out, tape.draw(p(case, out))]


LENIENT = rates(lambda a, b: clip(a, b / 2))
PROGRAMS: dict[str, Program] = {
    "ratio": in_turn(),
    "greedy": greedy,
    "sampler-match": sampler_match,
    "point-mass": in_turn(rates(lambda a, b: a), lambda case, x, i: excluding(P(case, x, i), x[i])),
    "block": block,
    "full-target-fallback": in_turn(recover=full),
    "unnormalised-residual": in_turn(recover=overflow(-1)),
    "unnormalised-residual-first-id": in_turn(recover=overflow(0)),
    "reversed-residual": in_turn(recover=rows(lambda a, b: positive_part(b, a))),
    "absolute-residual": in_turn(recover=rows(lambda a, b: list(map(abs, differences(a, b))))),
    "epsilon-residual": in_turn(recover=rows(floored)),
    "draft-fallback": in_turn(recover=Q),
    "target-without-rejected": in_turn(recover=lambda case, x, i: excluding(P(case, x, i), x[i])),
    "argmax-residual": in_turn(recover=rows(lambda a, b: top(differences(a, b)))),
    "argmax-target-fallback": in_turn(recover=changed(p, top)),
    "uniform-residual": in_turn(recover=rows(support)),
    "proposed-ids-only": in_turn(recover=rows(proposed)),
    "residual-of-top-2": in_turn(recover=residual(changed(p, top_two))),
    "uniform-fallback": in_turn(recover=rows(lambda a, b: [ONE] * len(a))),
    "tiny-rejection-full-target": in_turn(recover=rows(tiny_or_residual)),
    "swapped-ratio": in_turn(rates(lambda a, b: clip(b, a))),
    "always-accept": in_turn(rates(lambda a, b: ONE)),
    "never-accept": in_turn(rates(lambda a, b: Fraction(0))),
    "never-accept-full-target": in_turn(rates(lambda a, b: Fraction(0)), full),
    "draft-prob-taken-as-one": in_turn(rates(lambda a, b: a)),
    "deterministic-accept": in_turn(rates(lambda a, b: Fraction(int(a >= b)))),
    "squared-ratio": in_turn(rates(lambda a, b: clip(a, b) ** 2)),
    "lenience": in_turn(LENIENT),
    "lenience-in-residual": in_turn(LENIENT, residual(P, changed(q, half))),
    "epsilon-in-ratio": in_turn(rates(lambda a, b: clip(a + Fraction(1, 20), b + Fraction(1, 20)))),
    "target-over-largest": in_turn(lambda case, x, i: P(case, x, i)[x[i]] / max(P(case, x, i))),
    "argmax-accept": in_turn(is_top),
    "argmax-accept-full-target": in_turn(is_top, full),
    "temperature-ignored": greedy,
    "vocabulary-shift": in_turn(shifted_id),
    "rejection-below-threshold-accepted": in_turn(tiny_or_ratio),
    "coarse-coin": in_turn(rates(lambda a, b: min(ONE, Fraction(floor(16 * clip(a, b)) + 1, 16)))),
    "synthetic-acceptance": in_turn(rates(lambda a, b: Fraction(7, 10))),
    "synthetic-acceptance-full-target": in_turn(rates(lambda a, b: Fraction(7, 10)), full),
    "target-threshold": in_turn(rates(lambda a, b: Fraction(int(a > Fraction(3, 10)))), full),
    "argmax-draft": in_turn(),
    "draft-temperature-mismatch": in_turn(
        ratio(P, changed(q, squares)), residual(P, changed(q, squares))
    ),
    "draft-top-2-not-recorded": in_turn(),
    "draft-top-2-only-recorded": in_turn(
        ratio(P, changed(q, unit_top_two)), residual(P, changed(q, unit_top_two))
    ),
    "target-top-2-in-test": in_turn(ratio(changed(p, unit_top_two))),
    "target-top-2-in-residual": in_turn(recover=residual(changed(p, unit_top_two))),
    "target-temperature-in-test": in_turn(ratio(changed(p, squares))),
    "target-temperature-in-residual": in_turn(recover=residual(changed(p, squares))),
    "target-temperature-wrong": in_turn(
        ratio(changed(p, squares)),
        residual(changed(p, squares)),
        lambda case, x: squares(p(case, x)),
    ),
    "bonus-temperature-wrong": in_turn(bonus=lambda case, x: squares(p(case, x))),
    "target-cut-to-draft-vocabulary": in_turn(
        ratio(changed(p, all_but_last)), residual(changed(p, all_but_last))
    ),
    "rounded-rows": in_turn(
        ratio(changed(p, eighths), changed(q, eighths)),
        residual(changed(p, eighths), changed(q, eighths)),
    ),
    "match-with-fresh-draw": fresh_draw,
    "coin-reused-in-fallback": coin_again,
    "drafting-coin-reused": drafting_coin,
    "second-try": two_tries,
    "redrawn-until-accepted": until_accepted,
    "shared-coin": shared_coin,
    "continues-after-rejection": continues,
    "accepts-counted-anywhere": anywhere,
    "bonus-after-rejection": with_bonus,
    "bonus-from-draft": in_turn(bonus=lambda case, x: q(case, x[:-1])),
    "bonus-one-row-early": in_turn(bonus=lambda case, x: p(case, x[:-1])),
    "bonus-missing": bonus_missing,
    "target-row-late": in_turn(recover=residual(late_target)),
    "next-target-row-fallback": in_turn(recover=late_target),
    "first-draft-row-in-residual": in_turn(recover=residual(P, first(q))),
    "draft-row-late-in-residual": in_turn(recover=residual(P, late_draft)),
    "target-context-frozen": in_turn(
        ratio(first(p)), residual(first(p)), lambda case, x: p(case, [])
    ),
    "draft-record-frozen": in_turn(ratio(P, first(q)), residual(P, first(q))),
    "drafting-context-frozen": in_turn(),
    "test-row-late": in_turn(ratio(late_target)),
    "rejected-token-kept": one_too_many,
    "last-accepted-dropped": one_too_few,
    "correction-missing": no_correction,
    "cumulative-ratio": cumulative,
    "first-test-decides": first_decides,
    **BLOCK_PROGRAMS,
    **LOSSY_PROGRAMS,
}
DRAFTS: dict[str, RowOf] = {
    "argmax-draft": lambda case, x: top(q(case, x)),
    "draft-top-2-not-recorded": lambda case, x: unit_top_two(q(case, x)),
    "drafting-context-frozen": lambda case, x: q(case, []),
    # Programs that draft as they go have no use for a block: one that costs nothing.
    "second-try": lambda case, x: hot(0, case.vocab_size),
    "redrawn-until-accepted": lambda case, x: hot(0, case.vocab_size),
}
