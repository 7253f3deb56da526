"""Races by shared exponential noise: the Gumbel coupling (algorithm page, 1.8), and another one."""

from __future__ import annotations

from fractions import Fraction
from itertools import accumulate

import numpy as np
import pytest
from exact_instances import context_free, g2, i1, i2, row, seed
from hypothesis import given, settings
from hypothesis import strategies as st

from audit.case import Case
from audit.exact.chain import Chain
from audit.exact.engine import block_law, completed_law, target_law
from audit.exact.measures import number_accepted_law
from audit.exact.paths import Step
from audit.exact.race import second_race
from audit.exact.ratios import Ratios, of_row
from audit.exact.rowwise import row_by_row
from audit.exact.rule import Rule
from audit.row import Row

V4 = context_free(1, "1/10 2/5 3/10 1/5", "2/5 1/10 1/5 3/10")


def by_winner(p: Row, q: Row) -> list[list[Fraction]]:
    """Returns P(y | x) for every winner x."""
    size = len(p)
    rows = [Ratios(np.repeat(a.numerators, size, 0), a.denominators) for a in map(of_row, (q, p))]
    values = second_race(*rows, np.arange(size)).fractions()
    return [values[i * size : (i + 1) * size] for i in range(size)]


@pytest.mark.parametrize(("case", "agreed"), [(seed(1), "43/62"), (V4, "19/35")])
def test_golden_agreement(case: Case, agreed: str) -> None:
    assert number_accepted_law(case, "gumbel-coupled")[1] == Fraction(agreed)


@st.composite
def pairs(draw: st.DrawFn) -> tuple[Row, Row]:
    size = draw(st.integers(2, 4))
    weights = st.lists(st.integers(0, 9), min_size=size, max_size=size).filter(any)
    return Row.normalised(draw(weights)), Row.normalised(draw(weights))


@settings(max_examples=60, deadline=None, derandomize=True)
@given(rows=pairs())
def test_the_second_draw_follows_p_and_agrees_as_the_formula_says(rows: tuple[Row, Row]) -> None:
    p, q = rows
    laws = by_winner(p, q)
    assert [sum(q[x] * law[y] for x, law in enumerate(laws)) for y in range(len(p))] == list(p)
    agreed = sum(q[x] * law[x] for x, law in enumerate(laws))
    assert agreed == sum(
        1 / sum(max(p[j] / p[x], q[j] / q[x]) for j in range(len(p)))
        for x in range(len(p))
        if p[x] and q[x]
    )
    apart = sum((max(a - b, Fraction(0)) for a, b in zip(p, q, strict=True)), Fraction(0))
    assert (1 - apart) / (1 + apart) <= agreed <= 1 - apart


@pytest.mark.parametrize("case", [seed(2), g2(2), g2(3), i1(), i2()])
def test_the_coupling_is_lossless(case: Case) -> None:
    assert completed_law(case, "gumbel-coupled") == target_law(case)
    assert block_law(case, "gumbel-coupled") != block_law(case, "ratio")


def test_a_row_without_mass_gives_no_law() -> None:
    nothing = of_row(Row(np.zeros(2, dtype=np.int64), 1))
    assert second_race(of_row(row("1/2 1/2")), nothing, np.array([0])).fractions() == [0, 0]


def interval_law(step: Step) -> Ratios:
    """Returns P(y | x) where one uniform inverts the running sums of q and of p."""

    def law(p, q, x):  # type: ignore[no-untyped-def]
        ends = [list(accumulate(row, initial=Fraction(0))) for row in (p, q)]
        low, high = ends[1][int(x[0])], ends[1][int(x[0]) + 1]
        if low == high:
            return list(p)
        spans = zip(ends[0], ends[0][1:], strict=False)
        return [max(min(b, high) - max(a, low), Fraction(0)) / (high - low) for a, b in spans]

    drafted = Ratios(step.token[:, None], np.ones((1, 1), dtype=np.int64))
    return row_by_row(law, step.p, step.q, drafted)


# Section 1.8: coupling by one uniform is lossless too, and agrees with 3/5 on SEED and on V4.
@pytest.mark.parametrize("case", [seed(1), V4])
def test_an_entry_of_ones_own_couples_by_inverse_sums(case: Case) -> None:
    law = Chain(
        accept=lambda step: interval_law(step).at(step.token),
        fallback=interval_law,
        without_rejected=True,
        causal=False,
    )
    own = Rule("inverse-sums", "lossless", "", "", "", law)
    assert completed_law(case, own) == target_law(case)
    assert number_accepted_law(case, own)[1] == Fraction(3, 5)
