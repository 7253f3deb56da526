"""Extreme random numbers: what they make of a sampler, and how it is graded."""

from __future__ import annotations

from fractions import Fraction

import pytest
import torch
from steered_samplers import running_sum, up_to, verifier

from audit.samplers.registry import load_sampler
from audit.selection import select_cases
from audit.steering.edges import Edge, kind_of
from audit.steering.law import RAISED
from audit.steering.result import SteeredLaw
from audit.steering.steer import steer

CASES = {case.id: case for case in select_cases([])}


def edges(sampler, id_: str, dtype: torch.dtype = torch.float32) -> tuple[Edge, ...]:
    found = steer(sampler, CASES[id_], coupled=1000, dtype=dtype)
    assert isinstance(found, SteeredLaw)
    return found.edges


def test_a_coin_of_zero_that_accepts_what_cannot_be_is_a_note():
    # target-zero: token 2 has q = 1/5 and p = 0. `coin <= 0` holds for one coin of 2^24, so that 2
    # is accepted with probability 2^-24 / 5 (the float32 row is within 1e-7 of it).
    found = [edge for edge in edges(verifier(accept=up_to), "target-zero") if edge.grade == "note"]
    assert {edge.outcome[0] for edge in found} == {2}
    assert {edge.kind for edge in found} == {"impossible token"}
    assert all(edge.number == "number 1 of torch.rand = 0" for edge in found)
    q = next(iter(CASES["target-zero"].draft[()][token] for token in (2,)))
    assert float(sum(edge.chance for edge in found)) == pytest.approx(float(q) * 2**-24, rel=1e-6)


def test_a_strict_comparison_has_no_such_edge():
    assert not [edge for edge in edges(verifier(), "target-zero") if edge.grade != "warning"]


def test_an_impossible_token_above_the_tolerance_fails():
    found = edges(verifier(least=1e-5), "disjoint")
    assert found[0].grade == "FAIL"
    assert found[0].kind == "impossible token"
    assert float(found[0].chance) == pytest.approx(1e-5, rel=1e-2)


def test_float64_makes_the_note_2_to_the_29_times_smaller():
    single, double = (
        sum(edge.chance for edge in edges(verifier(accept=up_to), "disjoint", dtype))
        for dtype in (torch.float32, torch.float64)
    )
    assert float(single / double) == pytest.approx(2**29, rel=1e-3)


def test_a_coin_that_no_generator_gives_is_a_warning():
    def unguarded(weights, generator):
        return running_sum(torch.nn.functional.pad(weights, (0, 1)), generator)

    found = edges(verifier(draw=unguarded), "uniform-target")
    assert {edge.grade for edge in found} == {"warning"}
    assert ("out of range", "number 1 of torch.rand = exactly 1") in {
        (edge.kind, edge.number) for edge in found
    }
    assert all(edge.chance == 0 for edge in found if "exactly 1" in edge.number)


def test_an_exception_at_one_number_is_told_with_its_probability():
    def strict(u, p, q):
        if bool((u == 0).any()):
            raise ValueError("log of 0")
        return u < p / q

    found = [edge for edge in edges(verifier(accept=strict), "mirrored-two") if edge.chance]
    assert [edge.kind for edge in found if edge.grade == "note"] == ["exception"]
    assert found[0].chance == Fraction(1, 2**24)
    assert found[0].outcome == RAISED


def test_an_empty_row_is_no_round():
    found = edges(load_sampler("fault:correction-missing"), "article-three-tokens")
    assert ("no token", "FAIL") in {(edge.kind, edge.grade) for edge in found}


@pytest.mark.parametrize(
    ("outcome", "kind"),
    [
        ((0, 1), None),
        ((2,), "impossible token"),
        ((0, 2), "impossible token"),
        ((), "no token"),
        ((3,), "out of range"),
        ((-2,), "out of range"),
        ((0, -1, 1), "gap"),
        (RAISED, "exception"),
    ],
)
def test_the_kinds_of_outcomes(outcome, kind):
    assert kind_of(CASES["target-zero"], outcome) == kind
