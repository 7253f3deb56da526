"""What the law of a sampler tells of its code."""

from __future__ import annotations

import pytest
import torch
from steered_samplers import few_levels, up_to, verifier

from audit.samplers.registry import load_sampler
from audit.selection import select_cases
from audit.steering.result import SteeredLaw
from audit.steering.steer import steer

CASES = {case.id: case for case in select_cases([])}


def read_off(sampler, id_: str = "prefix-dependent-2") -> SteeredLaw:
    found = steer(sampler, CASES[id_], coupled=1000)
    assert isinstance(found, SteeredLaw)
    return found


def sizes(found: SteeredLaw) -> dict[str, float]:
    """Returns the readings with their sizes."""
    return {reading.name: reading.size for reading in found.readings}


def readings(sampler, id_: str = "prefix-dependent-2") -> dict[str, float]:
    return sizes(read_off(sampler, id_))


def test_a_correct_sampler_differs_by_the_grid_alone():
    found = readings(verifier())
    assert set(found) == {"ratio", "coin < ratio", "rule ratio"}
    assert found["ratio"] <= 2 * 2**-24
    assert found["coin < ratio"] == 2**-24


def test_at_most_is_told_from_below_by_one_step_of_the_grid():
    assert "coin <= ratio" in readings(verifier(accept=up_to))
    assert "coin <= ratio" in readings(verifier(accept=up_to), "target-zero")


# What no sampling could see: the total variation to the target of each is read off exactly, and
# here it only has to be of the size that one would expect.
@pytest.mark.parametrize(("epsilon", "low", "high"), [(1e-6, 5e-7, 1e-6), (1e-3, 5e-4, 1e-3)])
def test_an_epsilon_in_the_denominator_is_fitted(epsilon, low, high):
    found = read_off(verifier(accept=lambda u, p, q: u < p / (q + epsilon)))
    # One step of the grid is worth 6e-8 (q + epsilon)^2 / p, at most 6e-8 on this case.
    assert sizes(found)["epsilon"] == pytest.approx(epsilon, abs=6e-8)
    assert low < float(found.law.to_target) < high


def test_a_clamped_residual_is_fitted():
    found = read_off(verifier(least=1e-5))
    assert sizes(found)["clamp"] == pytest.approx(1e-5, rel=1e-3)
    assert 5e-6 < float(found.law.to_target) < 2e-5


def test_a_coin_that_raises_is_read_as_no_lenience():
    def strict(u, p, q):
        if bool((u > 0.999).any()):
            raise ValueError("too near to 1")
        return u < p / q

    # Given that nothing is raised, a drafted token passes with p / (.999 q).
    found = read_off(verifier(accept=strict))
    assert not found.readings
    assert [edge.kind for edge in found.edges if edge.grade == "FAIL"] == ["exception"]


def test_lenience_is_fitted():
    found = read_off(verifier(accept=lambda u, p, q: u < p / (0.999 * q)))
    assert sizes(found)["lenience"] == pytest.approx(0.999, abs=1e-6)
    assert 1e-4 < float(found.law.to_target) < 5e-4


@pytest.mark.parametrize(
    ("dtype", "low", "high"), [(torch.float16, 1e-5, 1e-4), (torch.bfloat16, 1e-4, 1e-3)], ids=str
)
def test_a_short_ratio_is_told_by_its_type(dtype, low, high):
    found = read_off(verifier(accept=lambda u, p, q: u < p.to(dtype) / q.to(dtype)))
    assert f"{str(dtype).removeprefix('torch.')} ratio" in sizes(found)
    assert low < float(found.law.to_target) < high


def test_a_coin_with_few_values_is_counted():
    found = read_off(verifier(coins=few_levels, accept=up_to))
    assert sizes(found)["levels"] == 101
    assert 1e-3 < float(found.law.to_target) < 1e-2


def test_reused_drafting_noise_is_named_with_its_size():
    found = read_off(load_sampler("fault:drafting-noise-reused"))
    assert "rule drafting-noise-reused" in sizes(found)
    assert 1e-3 < float(found.law.to_target) < 5e-2


def test_a_fault_is_named_and_no_lossless_rule_with_it():
    found = readings(load_sampler("fault:full-target-fallback"))
    assert "rule full-target-fallback" in found
    assert "rule ratio" not in found


def test_a_lossless_rule_is_named_without_the_faults_that_look_like_it():
    found = readings(load_sampler("reference"), "article-three-tokens")
    assert [name for name in found if name.startswith("rule ")] == ["rule ratio"]


def test_a_number_used_twice_is_read_off_the_map():
    found = steer(load_sampler("fault:coin-reused-in-fallback"), CASES["article-three-tokens"])
    assert isinstance(found, SteeredLaw)
    says = [reading.says for reading in found.readings if reading.name == "used twice"]
    does = (
        "tests drafted token {0} and draws what replaces it by one number, number {0} of torch.rand"
    )
    assert says == [does.format(i) for i in (1, 2)]


def test_a_coin_that_serves_two_tests_is_read_off_the_map():
    found = readings(load_sampler("fault:shared-coin"), "basis-2")
    assert found["rule shared-coin"] < 1e-6
    assert found["used twice"] > 1e-3


@pytest.mark.parametrize("rule", ["sampler-match", "block", "point-mass"])
def test_other_lossless_rules_are_accused_of_nothing(rule):
    found = readings(load_sampler(f"rule:{rule}"))
    assert f"rule {rule}" in found
    assert not set(found) & {"used twice", "epsilon", "lenience", "levels", "clamp"}


def test_a_tree_has_rules_and_no_ratio():
    (case,) = select_cases(["tree-basis"])
    found = steer(load_sampler("rule:recursive-rejection"), case, coupled=1000)
    assert isinstance(found, SteeredLaw)
    assert {reading.name for reading in found.readings} == {"rule recursive-rejection"}
