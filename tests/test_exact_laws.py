"""Laws, exact arrays, measures and tables: identities, edge cases and the size limit."""

from __future__ import annotations

import sys
from fractions import Fraction
from subprocess import run

import numpy as np
import pytest
from exact_instances import CHAINS, context_free, g2, g2_argmax, i1, row, seed
from hypothesis import given, settings
from hypothesis import strategies as st

from audit.case import Case, Rows
from audit.errors import CaseError, UsageError
from audit.exact import integers, measures, tables
from audit.exact.catalogue import RULES, rule
from audit.exact.engine import block_law, completed_law, target_law
from audit.exact.law import Law
from audit.exact.paths import CELL_LIMIT
from audit.exact.ratios import Ratios, clipped_ratio, stacked
from audit.row import Row

WIDE = st.integers(-(2**70), 2**70) | st.integers(-9, 9)


@given(st.lists(st.tuples(WIDE, WIDE), min_size=1, max_size=4))
def test_integer_arrays_never_overflow(pairs: list[tuple[int, int]]) -> None:
    a, b = (integers.narrowed(np.array(side, dtype=object)) for side in zip(*pairs, strict=True))
    assert integers.product(a, b).tolist() == [x * y for x, y in pairs]
    assert integers.added(a, b).tolist() == [x + y for x, y in pairs]
    assert integers.subtracted(a, b).tolist() == [x - y for x, y in pairs]
    assert integers.total(a) == sum(x for x, _ in pairs)
    assert integers.running_total(a)[-1] == sum(x for x, _ in pairs)


def test_int64_is_used_up_to_the_bound_and_not_beyond() -> None:
    small, large = np.array([2**30]), np.array([2**31])
    assert integers.product(small, small).dtype == np.int64
    assert integers.product(large, large).dtype == object


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), min_size=1, max_size=4))
def test_clipped_ratio_has_a_value_at_every_zero(pairs: list[tuple[int, int]]) -> None:
    a, b = (Ratios(np.array(side), np.array([7])) for side in zip(*pairs, strict=True))
    expected = [min(1, Fraction(x, y)) if y else Fraction(int(x > 0)) for x, y in pairs]
    assert clipped_ratio(a, b).fractions() == expected


def test_an_empty_row_has_no_law() -> None:
    nothing = Ratios(np.zeros((1, 3), dtype=np.int64), np.array([[5]]))
    assert nothing.normalised().fractions() == [0, 0, 0]


def test_a_law_is_a_mapping_in_lowest_terms() -> None:
    law = block_law(seed(1), "ratio")
    assert law[(0, 1)] == Fraction(1, 10)
    assert law[(9,)] == law[()] == 0
    assert (0,) not in law
    assert sum(law.values()) == 1
    assert len(law) == len(dict(law)) == 11
    with pytest.raises(TypeError):
        hash(law)


def test_total_variation_counts_outcomes_of_every_length() -> None:
    blocks, completed = block_law(g2(2), "ratio"), completed_law(g2(2), "ratio")
    apart = [abs(blocks[key] - completed[key]) for key in {*blocks, *completed}]
    assert blocks.total_variation(completed) == sum(apart) / 2
    assert blocks.total_variation(blocks) == 0


def test_bonus_missing_changes_the_block_law_by_its_full_acceptances() -> None:
    # Table 3.2, column "block TV", X06.
    ratio, shorter = block_law(g2(2), "ratio"), block_law(g2(2), "bonus-missing")
    assert ratio.total_variation(shorter) == Fraction(11, 20)


# The article's case: kept, residual, acceptance, and what is drawn after a rejection.
def test_the_articles_numbers() -> None:
    p, q = row("1/5 1/2 3/10"), row("1/2 3/10 1/5")
    assert [str(value) for value in measures.kept(p, q)] == ["1/5", "3/10", "1/5"]
    assert measures.residual(p, q) == row("0 2/3 1/3")
    assert measures.acceptance_rate(p, q) == Fraction(7, 10)
    recovered = measures.recovered_law(seed(1), "ratio")
    assert dict(recovered or {}) == {(1,): Fraction(2, 3), (2,): Fraction(1, 3)}
    assert dict(measures.bonus_law(seed(1), "ratio") or {}) == dict(enumerated(p))


def enumerated(law: Row) -> dict[tuple[int, ...], Fraction]:
    return {(token,): value for token, value in enumerate(law) if value}


def test_equal_rows_have_no_residual() -> None:
    p = row("1/5 1/2 3/10")
    same = context_free(1, "1/5 1/2 3/10", "1/5 1/2 3/10")
    assert measures.residual(p, p) is None
    assert measures.recovered_law(same, "ratio") is None
    assert measures.acceptance_rate(p, p) == 1


def test_a_residual_of_a_millionth_is_no_epsilon() -> None:
    p, q = row("500001/1000000 499999/1000000"), row("1/2 1/2")
    assert measures.residual(p, q) == row("1 0")
    assert measures.acceptance_rate(p, q) == Fraction(999999, 1000000)


# Section 1.1: agreeing on the argmax is not acceptance.
def test_acceptance_of_rows_with_one_argmax() -> None:
    assert measures.acceptance_rate(row("1/2 3/10 1/5"), row("9/10 1/20 1/20")) == Fraction(3, 5)


# Section 1.4: a fixed draft x is accepted with p(x).
def test_acceptance_by_token() -> None:
    by_token = measures.acceptance_by_token
    assert by_token(seed(1), "point-mass") == [Fraction(1, 5), Fraction(1, 2), Fraction(3, 10)]
    assert by_token(seed(1), "ratio") == [Fraction(2, 5), 1, 1]
    unseen = context_free(1, "1/5 1/2 3/10", "3/5 2/5 0")
    assert by_token(unseen, "ratio") == [Fraction(1, 3), 1, None]


def test_bonus_and_recovered_laws() -> None:
    assert measures.bonus_law(seed(2), "bonus-missing") is None
    assert dict(measures.bonus_law(seed(1), "bonus-from-draft") or {}) == enumerated(
        row("1/2 3/10 1/5")
    )
    late = measures.recovered_law(g2(2), "full-target-fallback", accepted=1)
    assert late is not None
    assert sum(late.values()) == 1
    assert measures.recovered_law(g2(2), "ratio", accepted=2) is None


def test_expected_tokens() -> None:
    # Section 1.1: E[n] = 5/4 on G2, one token more with the bonus.
    assert measures.expected_tokens(g2(2), "ratio") == Fraction(9, 4)
    assert measures.expected_tokens(g2(2), "bonus-missing") == Fraction(9, 4) - Fraction(11, 20)
    assert measures.expected_tokens(g2(2), "continues-after-rejection") == 3


def test_an_undefined_outcome_stays_undefined() -> None:
    both = g2_argmax(target=True, draft=True)
    block, completed = (law(both, "target-row-late") for law in (block_law, completed_law))
    assert block.undefined == completed.undefined == 1
    assert tables.completed_table(both, "target-row-late").sum() == 0
    assert all(table.sum() == 0 for table in tables.joint_table(both, "target-row-late"))


def test_a_prefix_without_a_row_keeps_its_block() -> None:
    target = {(): row("1 0"), (0,): row("1/2 1/2")}
    case = Case("gap", "", 2, 1, Rows(target, "none"), Rows({(): row("1/2 1/2")}, "none"))
    assert completed_law(case, "ratio") == target_law(case)
    assert dict(completed_law(case, "draft-fallback")) == {
        (0, 0): Fraction(3, 8),
        (0, 1): Fraction(3, 8),
        (1,): Fraction(1, 4),
    }


def test_a_prefix_that_is_reached_needs_its_row() -> None:
    half = Rows({(): row("1/2 1/2")}, "none")
    with pytest.raises(CaseError, match=r"no row for prefix \[0\]"):
        target_law(Case("gap", "", 2, 1, half, half))


@pytest.mark.parametrize("rule_id", CHAINS)
def test_tables_are_the_laws_rounded_once(rule_id: str) -> None:
    case, law = i1(), completed_law(i1(), rule_id)
    expected = [float(law[block]) for block in case.prefixes(3)]
    assert tables.completed_table(case, rule_id).tolist() == expected
    assert tables.target_table(case).tolist() == [
        float(target_law(case)[block]) for block in case.prefixes(3)
    ]


def test_one_value_object_holds_no_floats() -> None:
    rows = stacked([row("1/3 2/3"), Row.normalised([2**80, 1])])
    assert rows.numerators.dtype == object
    assert rows.reduced().fractions()[2] == Fraction(2**80, 2**80 + 1)
    assert isinstance(next(iter(block_law(seed(1), "ratio").values())), Fraction)


@pytest.mark.parametrize("law", [block_law, completed_law, tables.joint_table])
def test_large_cases_are_refused_with_count_and_limit(law) -> None:  # type: ignore[no-untyped-def]
    wide = " ".join(["1/100"] * 100)
    with pytest.raises(UsageError, match=rf"needs 4000000+ exact cells.* limit of {CELL_LIMIT}"):
        law(context_free(3, wide, wide), "ratio")


def test_large_target_laws_are_refused_too() -> None:
    wide = " ".join(["1/100"] * 100)
    with pytest.raises(UsageError, match=f"needs {4 * 100**4} exact cells"):
        target_law(context_free(3, wide, wide))


def test_dense_laws_have_their_own_count() -> None:
    wide = " ".join(["1/32"] * 32)
    case = context_free(2, wide, wide)
    assert completed_law(case, "ratio") == target_law(case)
    with pytest.raises(UsageError, match=f"needs {32**5} exact cells"):
        block_law(case, "continues-after-rejection")
    with pytest.raises(UsageError, match=f"needs {32**5} exact cells"):
        tables.joint_table(case, "ratio")


def test_the_catalogue_names_the_nearest_id() -> None:
    with pytest.raises(UsageError, match=r'called "full-target": .* is "full-target-fallback"'):
        rule("full-target")


@pytest.mark.parametrize("entry", RULES.values(), ids=list(RULES))
def test_every_entry_describes_itself(entry) -> None:  # type: ignore[no-untyped-def]
    assert entry.id == next(key for key, value in RULES.items() if value is entry)
    assert all((entry.meaning, entry.formula, entry.happens))
    assert all(" #" in report for report in entry.reports)
    assert (entry.family == "lossless") <= entry.lossless
    assert not (entry.gate and entry.lossless)


def test_codes_are_given_once() -> None:
    codes = [entry.code for entry in CHAINS.values() if entry.code]
    assert len(codes) == len(set(codes)) == 76 + 11


@settings(max_examples=20, deadline=None, derandomize=True)
@given(st.lists(st.integers(0, 9), min_size=9, max_size=9).filter(any))
def test_marginal_of_the_first_token(weights: list[int]) -> None:
    row_of_pairs = Row.normalised(weights)
    over = np.array([row_of_pairs.denominator])
    law = Law.of([(2, Ratios(row_of_pairs.numerators, over))], vocab_size=3)
    first = law.first_token()
    assert all(first[(a,)] == sum(law[(a, b)] for b in range(3)) for a in range(3))


def test_importing_the_engine_is_light() -> None:
    code = "import sys, audit.exact.summary, audit.exact.tables; print(*sys.modules)"
    done = run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    heavy = {"torch", "scipy", "pandas", "matplotlib", "click", "rich"}
    assert not heavy & set(done.stdout.split())
