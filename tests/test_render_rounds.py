"""What rounds accept: the observed law beside the exact one, position by position."""

from __future__ import annotations

from dataclasses import replace

import sample_record as sample

from audit.evidence import BonusToken, Evidence
from audit.exact.engine import block_law
from audit.record import CaseResult
from audit.render.rounds import bonus_sentence, rounds_of
from audit.selection import select_cases


def case_with(**changes: object) -> CaseResult:
    """Returns a passed case whose accepted tokens are changed."""
    found: Evidence = sample.evidence(sample.NEAR_TARGET, log_e=0.0)
    tokens = replace(found.acceptance.tokens, **changes)
    found = replace(found, acceptance=replace(found.acceptance, tokens=tokens))
    return sample.good().model_copy(update={"evidence": found})


def test_shares_stand_beside_the_exact_law() -> None:
    # The article's case accepts 0, 1, 2 tokens with 3/10, 21/100, 49/100: 7/10 at each position.
    (case,) = select_cases(["article-three-tokens"])
    law = block_law(case, "ratio")
    exact = tuple(float(law.of_length(n)) for n in (1, 2, 3))
    (shown,) = rounds_of([case_with(rounds=(600, 400, 1_000), law=exact)])
    assert shown.accepted == [("0.3000", "0.3000"), ("0.2000", "0.2100"), ("0.5000", "0.4900")]
    assert shown.positions == [("0.7000", "0.7000"), ("0.7143", "0.7000")]
    assert shown.rule == "ratio"


def test_where_no_rule_is_known_nothing_is_expected() -> None:
    (shown,) = rounds_of([case_with(rounds=(1, 1), law=())])
    assert shown.accepted == [("0.5000", ""), ("0.5000", "")]


def test_a_position_that_no_round_reaches_is_left_out() -> None:
    (shown,) = rounds_of([case_with(rounds=(5, 0, 0), law=(1.0, 0.0, 0.0))])
    assert shown.accepted == [("1", "1"), ("0", "0"), ("0", "0")]
    assert shown.positions == [("0", "0")]


def test_an_old_record_and_a_case_that_was_not_counted_have_no_rounds() -> None:
    nothing = sample.good().model_copy(update={"evidence": None})
    assert rounds_of([case_with(rounds=()), nothing]) == []


def test_the_bonus_token_that_is_farthest_is_told() -> None:
    assert bonus_sentence(None) == ""
    said = bonus_sentence(BonusToken((3, 4), (1_000, 3_000), (1_010.0, 2_950.5)))
    assert said == "token 4: 3,000 of 4,000 (2,950.5 expected)"
    said = bonus_sentence(BonusToken((0,), (30,), (30.0,)), bins=True)
    assert said == "ratio bin 0: 30 of 30 (30.0 expected)"
