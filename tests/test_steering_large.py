"""Draws over a large vocabulary, read off at some of its ids."""

from __future__ import annotations

import pytest
from steered_samplers import DRAWS, running_sum, short_running_sum, verifier

from audit.selection import select_cases
from audit.steering.large import Steps, steer_large
from audit.steering.result import NotSteerable

CASES = {case.id: case for case in select_cases(["large"])}


def steps(draw, id_: str = "zipf-1000") -> tuple[Steps, ...]:
    found = steer_large(verifier(draw=draw), CASES[id_])
    assert not isinstance(found, NotSteerable), found
    return found


@pytest.mark.parametrize("draw", ["multinomial", "running-sum"])
def test_a_correct_draw_is_right_over_every_range(draw):
    # torch adds up in float64, so that 1,000 float32 sums are off by their own rounding alone.
    for found in steps(DRAWS[draw]):
        assert float(found.at_least) < 1e-6
        assert abs(float(found.leftover)) < 1e-7
        assert sum(found.masses) == sum(found.ideal) == 1


def test_both_ends_of_a_round_are_read_off():
    assert {found.bonus for found in steps(running_sum)} == {True, False}


def test_what_a_short_running_sum_leaves_over_lands_on_the_last_id():
    found = steps(short_running_sum, "zipf-32000")
    right = steps(running_sum, "zipf-32000")
    for wrong, correct in zip(found, right, strict=True):
        assert float(wrong.leftover) > 1e-6
        assert abs(float(correct.leftover)) < 2e-7
        assert wrong.at_least > correct.at_least
    recovered = next(step for step in found if not step.bonus)
    assert recovered.ideal[-1] == 0  # a token that a rejection can never give


def test_a_race_of_a_number_an_id_is_declined():
    found = steer_large(verifier(draw=DRAWS["exponential-race"]), CASES["zipf-32000"])
    assert isinstance(found, NotSteerable)
    assert "32000" in found.reason
