"""The steered law of real code: what it certifies, what it catches, and when it declines.

A bound of the proof is wrong with probability delta = 1e-9 in these tests, so that a test that
needs one to hold fails by chance at most 1e-9 often, fewer than 1e-6 for the file.
"""

from __future__ import annotations

import os
from fractions import Fraction

import numpy as np
import pytest
import torch
from steered_samplers import (
    DRAWS,
    PLAIN,
    below,
    one_at_a_time,
    running_sum,
    shared_coins,
    up_to,
    verifier,
)

from audit.exact.catalogue import RULES
from audit.samplers.registry import load_sampler
from audit.selection import select_cases
from audit.steering.coupling import Coupling
from audit.steering.law import JointLaw
from audit.steering.result import NotSteerable, SteeredLaw
from audit.steering.steer import steer

DELTA = 1e-9
CASES = {case.id: case for case in select_cases(["all"]) if not case.large}
ARTICLE = CASES["article-three-tokens"]
heavy = [
    pytest.mark.heavy,
    pytest.mark.skipif(not os.environ.get("CI"), reason="takes minutes; CI's second step runs it"),
]


def steered(sampler, case=ARTICLE, *, rows: int = 100_000, **options) -> SteeredLaw:
    """Returns the steered law, which there must be."""
    found = steer(sampler, case, coupled=rows, delta=DELTA, **options)
    assert isinstance(found, SteeredLaw), found
    return found


ACCUSING = {"used twice", "epsilon", "lenience", "levels", "clamp"}
ACCUSING |= {"float16 ratio", "bfloat16 ratio"}


def accused(found: SteeredLaw) -> list[str]:
    """Returns what is said against a sampler."""
    names = {reading.name for reading in found.readings}
    faults = [f"rule {id_}" for id_, rule in RULES.items() if not rule.lossless]
    edges = [edge.kind for edge in found.edges if edge.grade == "FAIL"]
    return [*edges, *names & {*ACCUSING, *faults}]


DTYPES = pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)


@pytest.mark.parametrize("draw", DRAWS)
@DTYPES
def test_a_correct_sampler_is_certified(draw, dtype):
    found = steered(verifier(draw=DRAWS[draw]), dtype=dtype)
    assert float(found.law.to_target) < 1e-7
    assert found.generators < 4e-7
    assert found.coupling.mismatches == 0
    assert found.bound < 2.1e-4  # ln(1e9) / 1e5 and the rest
    assert accused(found) == []


def test_a_wrong_sampler_is_accused():
    found = steered(verifier(accept=lambda u, p, q: u < p / (q + 1e-3)), rows=1000)
    assert "epsilon" in accused(found)


def test_a_sampler_without_a_batch_dimension_is_certified_as_well():
    found = steered(one_at_a_time(verifier()), CASES["mirrored-two"], rows=300)
    assert found.mode == "Looped"
    assert found.coupling.mismatches == 0
    assert accused(found) == []


@pytest.mark.parametrize("draw", [pytest.param(draw, marks=heavy) for draw in DRAWS])
@DTYPES
def test_without_a_batch_dimension_it_may_draw_as_it_likes(draw, dtype):
    sampler = one_at_a_time(verifier(draw=DRAWS[draw]))
    found = steered(sampler, CASES["mirrored-two"], rows=2000, dtype=dtype)
    assert float(found.law.to_target) < 1e-7
    assert found.coupling.mismatches == 0
    assert found.bound < 1.1e-2  # ln(1e9) / 2000 and the rest
    assert accused(found) == []


@pytest.mark.parametrize("name", PLAIN)
def test_a_sampler_in_plain_python_is_certified(name):
    found = steered(PLAIN[name], CASES["mirrored-two"], rows=500)
    assert float(found.law.to_target) < 1e-8  # what the float32 rows sum to besides 1
    assert found.coupling.mismatches == 0


def test_rows_that_draw_unequally_many_numbers_are_asked_one_by_one():
    # It stops at a rejection, so that a call of several rows cannot be told apart.
    found = steered(PLAIN["numpy's legacy functions"], CASES["one-hot-draft"], rows=500)
    assert found.mode == "Single"
    assert float(found.law.to_target) < 1e-8
    assert found.coupling.mismatches == 0


def test_other_devices_and_large_vocabularies_are_declined():
    (large,) = select_cases(["zipf-1000"])
    found = steer(verifier(), large)
    assert isinstance(found, NotSteerable)
    assert "1000 ids" in found.reason
    found = steer(verifier(), ARTICLE, device="cuda")
    assert isinstance(found, NotSteerable)
    assert "cuda" in found.reason


def test_rows_that_share_numbers_do_not_spoil_the_law():
    found = steered(verifier(coins=shared_coins), CASES["mirrored-two"], rows=300)
    assert found.mode == "Single"
    assert found.coupling.mismatches == 0


def test_a_sampler_without_randomness_has_a_map_too():
    found = steered(load_sampler("rule:greedy"), CASES["greedy-argmax"])
    assert found.law.to_target == 0
    assert found.generators == 0


@pytest.mark.parametrize("id_", ["tree-basis", "tree-basis-distinct", "tree-fixed"])
def test_a_tree_of_drafts_is_read_off_as_well(id_):
    found = steered(load_sampler("rule:tree-sampler-match"), CASES[id_])
    assert float(found.law.to_target) < 1e-7
    assert found.coupling.mismatches == 0


def test_the_article_in_exact_numbers():
    # Leviathan's example: 0 is accepted with .2 / .5 = .4; its recovered token is 1 or 2 with 2/3
    # and 1/3. A float32 coin below a float32 ratio: (floor(.4 2^24) + 1) / 2^24.
    found = steered(verifier(accept=up_to)).law
    first = next(test for test in found.tests() if (test.prefix, test.token) == ((), 0))
    assert first.chance == Fraction(int(0.4 * 2**24) + 1, 2**24)
    assert abs(first.ideal - Fraction(2, 5)) < Fraction(1, 2**24)
    recovered = next(final for final in found.finals() if (final.prefix, final.rejected) == ((), 0))
    assert [float(value) for value in recovered.law] == pytest.approx([0, 2 / 3, 1 / 3], abs=1e-7)
    assert float(recovered.distance) < 1e-7
    bonus = next(final for final in found.finals() if final.rejected is None)
    assert [float(value) for value in bonus.law] == pytest.approx([0.2, 0.5, 0.3], abs=1e-7)


def test_a_law_adds_up():
    law = steered(verifier()).law
    assert sum(law.emitted.values()) == 1
    assert sum(law.completed.values()) == 1
    assert not law.broken
    assert all(sum(final.law) == 1 for final in law.finals())


def test_outcomes_that_no_round_may_have_count_as_distance():
    case = CASES["mirrored-two"]
    half = Fraction(1, 2)
    law = JointLaw(case, {(0,): Fraction(1)}, {(0,): {(): half, (0, 1): half}})
    assert law.broken == {(): half}
    assert law.to_target >= half


def test_the_bound_is_that_of_clopper_and_pearson():
    # With no mismatch it is 1 - delta^(1/m), about ln(1/delta)/m: 9.9e-6 at 700,000 and 1e-3.
    found = Coupling(rows=700_000, mismatches=0, calls=86, broken_calls=0, delta=1e-3)
    assert found.by_rows == pytest.approx(1 - 1e-3 ** (1 / 700_000))
    assert found.by_rows < 1e-5
    assert found.by_calls == pytest.approx(1 - 1e-3 ** (1 / 86))


def test_two_runs_of_a_seed_are_the_same():
    one, other = (steered(verifier(), rows=5000, seed=4) for _ in range(2))
    assert one.law.emitted == other.law.emitted
    assert (one.search, one.coupling) == (other.search, other.coupling)


def test_a_generator_that_a_sampler_holds_stays_its_own():
    held = np.random.default_rng(8)
    sampler = PLAIN["numpy's legacy functions"]
    before = np.random.get_state()[1].copy()
    steered(sampler, CASES["draft-zero"], rows=100)
    assert np.array_equal(before, np.random.get_state()[1])
    assert held.random() == np.random.default_rng(8).random()


@pytest.mark.parametrize("id_", [pytest.param(id_, marks=heavy) for id_ in sorted(CASES)])
def test_on_every_small_case_a_minute_gives_a_bound_of_1e_5(id_):
    case = CASES[id_]
    sampler = verifier(draw=running_sum, accept=below)
    if case.tree is not None:
        sampler = load_sampler("rule:tree-sampler-match")
    found = steer(sampler, case)
    assert isinstance(found, SteeredLaw)
    assert float(found.law.to_target) < 1e-7
    assert found.coupling.by_rows < 1e-5


def certified_transformers(id_: str, **options) -> SteeredLaw:
    """Returns the steered law of transformers' function, with what always holds of it."""
    pytest.importorskip("transformers")
    found = steer(load_sampler("transformers"), CASES[id_], **options)
    assert isinstance(found, SteeredLaw)
    assert found.mode == "Looped"
    assert float(found.law.to_target) < 1e-7
    assert found.coupling.mismatches == 0
    assert accused(found) == []
    return found


def test_the_function_of_transformers_is_read_off():
    assert certified_transformers("mirrored-two", coupled=500).bound < 7.0 / 500


# Cases of one and of two drafted tokens.
@pytest.mark.parametrize(
    "id_", [pytest.param(id_, marks=heavy) for id_ in ("mirrored-two", "article-three-tokens")]
)
def test_the_function_of_transformers_is_certified_to_1e_4(id_):
    assert certified_transformers(id_).bound < 1e-4
