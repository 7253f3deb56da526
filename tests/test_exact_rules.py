"""Every rule against an independent oracle, on fixed and on random rational rows."""

from __future__ import annotations

import time
from collections.abc import Iterator
from fractions import Fraction

import pytest
from exact_instances import CHAINS, blk, g2, i1, i2, seed
from exact_oracle import completed, enumerate_law
from exact_programs import DRAFTS, PROGRAMS
from hypothesis import given, settings
from hypothesis import strategies as st

from audit.case import Case, Rows
from audit.exact.engine import block_law, completed_law, target_law
from audit.exact.onestep import is_causal, is_lossless_on
from audit.exact.tables import joint_table
from audit.row import Row

PRESERVING = [rule_id for rule_id in CHAINS if CHAINS[rule_id].lossless and rule_id != "greedy"]


@st.composite
def rows(draw: st.DrawFn, vocab_size: int) -> Row:
    sizes = st.integers(0, 6) | st.integers(0, 2**45)
    weights = st.lists(sizes, min_size=vocab_size, max_size=vocab_size)
    return Row.normalised(draw(weights.filter(any)))


@st.composite
def cases(draw: st.DrawFn, largest_gamma: int = 2) -> Case:
    """Cases whose rows depend on the last two tokens; zeros and equal rows are common."""
    size, gamma = draw(st.integers(2, 3)), draw(st.integers(1, largest_gamma))
    prefixes = [(), *((token,) for token in range(size))]
    target, draft = ({prefix: draw(rows(size)) for prefix in prefixes} for _ in range(2))
    return Case("random", "", size, gamma, Rows(target, "rotate"), Rows(draft, "rotate"))


RACES = ("drafting-noise-reused", "gumbel-coupled")
ENUMERABLE = [rule_id for rule_id in CHAINS if rule_id not in RACES]
# Several programs draft as they go, so that no block says what they have drafted.
OBSERVED = [i for i in ENUMERABLE if i not in ("second-try", "redrawn-until-accepted")]


def by_oracle(case: Case, rule_id: str) -> dict[tuple[int, ...], Fraction]:
    return enumerate_law(PROGRAMS[rule_id], case, DRAFTS.get(rule_id))


def test_the_oracle_knows_every_rule_that_tosses_finitely_many_coins() -> None:
    # Exponential races have their own check: test_race.
    assert PROGRAMS.keys() == set(ENUMERABLE)


@pytest.mark.parametrize("rule_id", ENUMERABLE)
@pytest.mark.parametrize("case", [seed(1), seed(2), g2(2), i1(), i2(), blk()])
def test_the_block_law_is_the_oracles(case: Case, rule_id: str) -> None:
    assert dict(block_law(case, rule_id)) == by_oracle(case, rule_id)


@pytest.mark.parametrize("rule_id", ENUMERABLE)
def test_three_drafted_tokens(rule_id: str) -> None:
    assert dict(block_law(g2(3), rule_id)) == by_oracle(g2(3), rule_id)


@pytest.mark.parametrize("rule_id", ENUMERABLE)
@settings(max_examples=6, deadline=None, derandomize=True)
@given(case=cases())
def test_the_block_law_is_the_oracles_on_random_rows(rule_id: str, case: Case) -> None:
    assert dict(block_law(case, rule_id)) == by_oracle(case, rule_id)


def near_the_bound(shift: int) -> Rows:
    """Returns rows whose numerators hardly fit int64."""
    rows = {
        (): [2**61 + shift, 2**62 - 1 - shift, 2**60 + 7],
        (0,): [2**62 - 3, 5, 2**61],
        (1,): [1, 2, 3],
        (2,): [2**62 - 5, 1, 1],
    }
    return Rows({prefix: Row.normalised(row) for prefix, row in rows.items()}, "rotate")


@pytest.mark.parametrize("rule_id", ENUMERABLE)
def test_nothing_overflows(rule_id: str) -> None:
    case = Case("wide", "", 3, 1, near_the_bound(0), near_the_bound(99))
    assert dict(block_law(case, rule_id)) == by_oracle(case, rule_id)


@pytest.mark.parametrize("rule_id", ENUMERABLE)
def test_completion_continues_with_target_draws(rule_id: str) -> None:
    def program(tape, case, x):  # type: ignore[no-untyped-def]
        return completed(tape, case, PROGRAMS[rule_id](tape, case, x))

    assert dict(completed_law(i1(), rule_id)) == enumerate_law(program, i1(), DRAFTS.get(rule_id))


@pytest.mark.parametrize("rule_id", OBSERVED)
def test_the_joint_table_is_the_oracles(rule_id: str) -> None:
    case = i2()

    def program(tape, case, x):  # type: ignore[no-untyped-def]
        return [*x, *PROGRAMS[rule_id](tape, case, x)]

    law = enumerate_law(program, case, DRAFTS.get(rule_id))
    tables = joint_table(case, rule_id)
    blocks = [(length, code) for length, table in enumerate(tables, 1) for code in cells(table)]
    assert {outcome: float(mass) for outcome, mass in law.items() if len(outcome) > 2} == {
        (*digits(path, 2), *digits(code, length)): tables[length - 1][path, code]
        for length, (path, code) in blocks
    }


def cells(table) -> Iterator[tuple[int, int]]:  # type: ignore[no-untyped-def]
    """Yields the indices of positive cells."""
    return ((int(path), int(code)) for path, code in zip(*table.nonzero(), strict=True))


def digits(code: int, length: int) -> tuple[int, ...]:
    return tuple(code // 3**i % 3 for i in reversed(range(length)))


@pytest.mark.parametrize("rule_id", PRESERVING)
@settings(max_examples=25, deadline=None, derandomize=True)
@given(case=cases(largest_gamma=3))
def test_lossless_rules_give_the_target_law(rule_id: str, case: Case) -> None:
    assert completed_law(case, rule_id) == target_law(case)


@pytest.mark.parametrize("rule_id", [rule_id for rule_id in CHAINS if rule_id not in PRESERVING])
def test_every_other_rule_fails_the_same_check(rule_id: str) -> None:
    case = blk() if CHAINS[rule_id].base == "block" else i1()
    assert completed_law(case, rule_id) != target_law(case)


@settings(max_examples=25, deadline=None, derandomize=True)
@given(case=cases())
def test_the_target_law_is_a_chain_of_target_draws(case: Case) -> None:
    law = enumerate_law(lambda tape, case, x: completed(tape, case, []), case)
    assert dict(target_law(case)) == law


@pytest.mark.parametrize("rule_id", [rule_id for rule_id in CHAINS if is_causal(rule_id)])
@settings(max_examples=8, deadline=None, derandomize=True)
@given(case=cases())
def test_the_one_step_check_agrees_with_the_joint_law(rule_id: str, case: Case) -> None:
    assert is_lossless_on(case, rule_id) == (completed_law(case, rule_id) == target_law(case))


def test_greedy_is_lossless_at_temperature_0() -> None:
    one_hot = {prefix: Row.normalised([1, 0, 0]) for prefix in [(), (0,), (1,), (2,)]}
    case = Case("cold", "", 3, 2, Rows(one_hot, "rotate"), g2(2).draft, greedy=True)
    assert completed_law(case, "greedy") == target_law(case)


@settings(max_examples=30, deadline=None, derandomize=True)
@given(case=cases(largest_gamma=1))
def test_block_verification_of_one_token_is_the_ratio_rule(case: Case) -> None:
    assert block_law(case, "block") == block_law(case, "ratio")


@settings(max_examples=30, deadline=None, derandomize=True)
@given(case=cases())
def test_sampler_match_and_point_mass_are_one_law(case: Case) -> None:
    assert block_law(case, "sampler-match") == block_law(case, "point-mass")


@settings(max_examples=30, deadline=None, derandomize=True)
@given(case=cases(largest_gamma=1))
def test_identities_of_the_first_token(case: Case) -> None:
    p, q = case.target[()], case.draft[()]
    first = {
        rule_id: [block_law(case, rule_id).first_token()[(x,)] for x in range(case.vocab_size)]
        for rule_id in ("absolute-residual", "always-accept", "full-target-fallback")
    }
    rejected = sum((max(a - b, Fraction(0)) for a, b in zip(p, q, strict=True)), Fraction(0))
    pairs = list(zip(p, q, strict=True))
    assert first["absolute-residual"] == [(a + b) / 2 for a, b in pairs]
    assert first["always-accept"] == list(q)
    assert first["full-target-fallback"] == [min(a, b) + rejected * a for a, b in pairs]


def test_all_chain_rules_take_less_than_a_second_of_processor_time() -> None:
    case, start = g2(2), time.process_time()
    for rule_id in CHAINS:
        completed_law(case, rule_id)
    assert time.process_time() - start < 1
