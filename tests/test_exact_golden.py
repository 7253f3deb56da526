"""Published and independently enumerated values (design page on algorithms, sections 1, 3, 6).

The tables of its section 3 stand in test_chain_table.
"""

from __future__ import annotations

from fractions import Fraction

import pytest
from exact_instances import (
    blk,
    g2,
    i1,
    i2,
    seed,
    toy,
)
from exact_oracle import completed, enumerate_law
from exact_programs import PROGRAMS

from audit.case import Case
from audit.exact.engine import block_law, completed_law, target_law
from audit.exact.measures import number_accepted_law


def first_token(case: Case, rule_id: str) -> list[Fraction]:
    law = completed_law(case, rule_id).first_token()
    return [law[(token,)] for token in range(case.vocab_size)]


def distance(case: Case, rule_id: str) -> Fraction:
    return completed_law(case, rule_id).total_variation(target_law(case))


def mean_accepted(case: Case, rule_id: str) -> Fraction:
    return sum(
        (n * chance for n, chance in enumerate(number_accepted_law(case, rule_id))), Fraction(0)
    )


# Section 1.1 and 1.6, after Sun et al. (2025) for TOY: mean accepted, token rule and block rule.
@pytest.mark.parametrize(
    ("case", "token", "whole"),
    [
        (toy(2), "10/9", "11/9"),
        (toy(3), "38/27", "5/3"),
        (seed(1), "7/10", "7/10"),
        (seed(2), "119/100", "5/4"),
        (seed(3), "1533/1000", "43/25"),
        (g2(2), "5/4", "13/10"),
        (g2(3), "421/250", "1457/800"),
        (blk(), "47/36", "49/36"),
        (i1(), "49/50", "101/100"),
        (i2(), "139/100", "141/100"),
    ],
)
def test_mean_number_accepted(case: Case, token: str, whole: str) -> None:
    assert mean_accepted(case, "ratio") == Fraction(token)
    assert mean_accepted(case, "block") == Fraction(whole)


def test_block_verification_on_g2() -> None:
    assert number_accepted_law(g2(2), "block") == (Fraction(3, 10), Fraction(1, 10), Fraction(3, 5))
    assert distance(g2(2), "block") == 0


# Section 1.2 and table 3.2 (A15 emits argmax p as greedy does, and tests with it).
def test_greedy_in_sampling_mode() -> None:
    assert first_token(seed(1), "greedy") == [0, 1, 0]
    assert number_accepted_law(seed(1), "greedy")[1] == Fraction(3, 10)
    assert [distance(case, "greedy") for case in (g2(2), i1(), i2())] == [
        Fraction(1, 2),
        Fraction(59, 100),
        Fraction(23, 50),
    ]


# Section 3.1: F01 on SEED for 2, 3, 4 completed tokens.
@pytest.mark.parametrize(("gamma", "apart"), [(1, "3/50"), (2, "39/500"), (3, "2/25")])
def test_full_target_fallback_over_longer_blocks(gamma: int, apart: str) -> None:
    assert distance(seed(gamma), "full-target-fallback") == Fraction(apart)


# Section 1.1: alpha = 7/10 and 4 drafted tokens give 27731/10000 tokens a round.
def test_closed_form_of_emitted_tokens() -> None:
    law = block_law(seed(4), "ratio")
    assert sum((n * law.of_length(n) for n in law.tables), Fraction(0)) == Fraction(27731, 10000)


# X04 on the page draws the bonus token from q after the whole block (29/250 on G2); ours draws it
# from the last draft row. Enumerated by the independent oracle.
def test_bonus_from_draft_uses_the_last_draft_row() -> None:
    case, rule_id = g2(2), "bonus-from-draft"
    law = enumerate_law(
        lambda tape, case, x: completed(tape, case, PROGRAMS[rule_id](tape, case, x)), case
    )
    target = dict(target_law(case))
    by_oracle = sum((abs(target[block] - law.get(block, 0)) for block in target), Fraction(0)) / 2
    assert distance(case, rule_id) == by_oracle == Fraction(51, 400)
