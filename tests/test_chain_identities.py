"""Identities between rules (algorithm page, after table 3.1), and the exponential race."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from exact_instances import context_free, g2, i1, i2, seed
from exact_oracle import p, positive_part, q
from hypothesis import given, settings
from hypothesis import strategies as st

from audit.case import Case
from audit.exact.engine import block_law, completed_law, target_law
from audit.exact.onestep import one_step_law
from audit.row import Row


def first_token(case: Case, rule_id: str) -> list[Fraction]:
    law = completed_law(case, rule_id).first_token()
    return [law[(token,)] for token in range(case.vocab_size)]


def first_distance(case: Case, rule_id: str) -> Fraction:
    law = completed_law(case, rule_id).first_token()
    return law.total_variation(target_law(case).first_token())


@st.composite
def row_pairs(draw: st.DrawFn) -> tuple[Row, Row]:
    size = draw(st.integers(2, 4))
    weights = st.lists(st.integers(0, 9), min_size=size, max_size=size).filter(any)
    return Row.normalised(draw(weights)), Row.normalised(draw(weights))


@settings(max_examples=40, deadline=None, derandomize=True)
@given(rows=row_pairs())
def test_identities_of_one_position(rows: tuple[Row, Row]) -> None:
    p_row, q_row = rows
    kept = [min(a, b) for a, b in zip(p_row, q_row, strict=True)]
    rejected = 1 - sum(kept)
    full = [m + rejected * a for m, a in zip(kept, p_row, strict=True)]
    case = context_free(1, *(" ".join(map(str, row)) for row in rows))
    assert list(one_step_law("reversed-residual", *rows)) == list(q_row)
    assert list(one_step_law("always-accept", *rows)) == list(q_row)
    assert list(one_step_law("never-accept-full-target", *rows)) == list(p_row)
    assert list(one_step_law("absolute-residual", *rows)) == [
        (a + b) / 2 for a, b in zip(p_row, q_row, strict=True)
    ]
    for rule_id in ("full-target-fallback", "second-try", "correction-missing"):
        assert first_token(case, rule_id) == full
    assert block_law(case, "sampler-match") == block_law(case, "point-mass")
    for rule_id in ("reversed-residual", "always-accept"):
        assert first_distance(case, rule_id) == rejected
    assert first_distance(case, "absolute-residual") == rejected / 2


# "Round ends short, target continues" is the full-target fallback once blocks are completed.
@pytest.mark.parametrize("case", [g2(2), i1(), i2(), seed(3)])
def test_a_missing_correction_completes_to_the_full_target_fallback(case: Case) -> None:
    assert completed_law(case, "correction-missing") == completed_law(case, "full-target-fallback")


# TV = R z e / (R + z e) with z tokens of p <= q, none of them within e of p > q.
@pytest.mark.parametrize("z", [1, 2, 5])
def test_the_clamped_residual_grows_with_the_vocabulary(z: int) -> None:
    e, rejected = Fraction(1, 20), Fraction(3, 10)
    share = rejected / z
    p_row = Row.of([Fraction(7, 10), *[(Fraction(3, 10)) / z] * z])
    q_row = Row.of([Fraction(4, 10), *[Fraction(3, 10) / z + share] * z])
    case = context_free(1, *(" ".join(map(str, row)) for row in (p_row, q_row)))
    assert first_distance(case, "epsilon-residual") == rejected * z * e / (rejected + z * e)


# Section 6, the exponential race on SEED: mass of (drafted, recovered) where x is rejected.
def test_the_golden_race() -> None:
    law = block_law(seed(1), "drafting-noise-reused")
    assert [law[(y,)] for y in range(3)] == [0, Fraction(3, 10) * Fraction(23, 33), Fraction(1, 11)]


# Several rates: the race by numerical integration over the moment at which x won.
def test_the_race_agrees_with_numerical_integration() -> None:
    case = context_free(1, "1/10 3/10 2/5 1/5", "3/5 1/10 1/5 1/10")
    excess = positive_part(p(case, []), q(case, []))
    r = np.array([float(w / sum(excess)) for w in excess])[1:]
    start = np.array([0.1, 0.2, 0.1]) / r
    u = np.linspace(0, 400, 4_000_001)
    height = 1 + sum(rate * np.clip(u - a, 0, None) for rate, a in zip(r, start, strict=True))
    expected = [
        rate * np.trapezoid(np.where(u >= a, height**-2.0, 0), u)
        for rate, a in zip(r, start, strict=True)
    ]
    law = block_law(case, "drafting-noise-reused")
    recovered = np.array([float(law[(y,)]) for y in (1, 2, 3)])
    np.testing.assert_allclose(recovered / recovered.sum(), expected, atol=3e-3)
