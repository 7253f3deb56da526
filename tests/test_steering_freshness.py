"""Numbers that are not fresh: their samplers follow a map and still do not have its law.

Fresh numbers fail a check with a probability below 1e-8, fewer than 1e-6 often for the file.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
import torch
from steered_samplers import (
    after_seven_calls,
    at_every_call,
    frozen_multinomial,
    multinomial,
    of_the_call,
    one_at_a_time,
    restarted,
    running_sum,
    two_of_one_seed,
    verifier,
)

from audit.selection import select_cases
from audit.steering.draws import UnsteerableError
from audit.steering.freshness import UNFORETOLD, Freshness
from audit.steering.grids import Uniform
from audit.steering.layout import Layout
from audit.steering.map import Leaf, Split
from audit.steering.result import NotSteerable, SteeredLaw
from audit.steering.steer import steer

CASES = {case.id: case for case in select_cases(["small"])}
ROWS = 40_000


def reason(sampler, id_: str = "prefix-dependent-2", *, rows: int = ROWS) -> str:
    found = steer(sampler, CASES[id_], coupled=rows)
    assert isinstance(found, NotSteerable)
    return found.reason


@pytest.mark.parametrize("generators", [at_every_call, after_seven_calls])
def test_a_generator_that_is_restarted_at_a_call_is_recognised(generators):
    # seven calls of thousands of rows take a proof of some length
    assert "came twice in the same order" in reason(restarted(generators), rows=200_000)


def test_two_generators_of_one_seed_are_recognised():
    assert "too many are the same" in reason(restarted(two_of_one_seed))


def test_a_generator_that_is_restarted_at_every_row_is_recognised():
    sampler = one_at_a_time(restarted(at_every_call))
    assert "too many are the same" in reason(sampler, "mirrored-two", rows=500)


def test_draws_by_weights_that_come_again_are_recognised():
    assert "what it drew in the first" in reason(frozen_multinomial)


def of_few_seeds(batch, generator):
    """Draws all numbers of a call from a generator with one of 300 seeds: TV .027 on the article's.

    The law was enumerated over all seeds and drafts, in calls of one row.
    """
    seed = int(torch.randint(300, (1,), generator=generator))
    return verifier(draw=multinomial)(batch, torch.Generator().manual_seed(seed))


def of_few_numpy_seeds(batch, generator):
    """The same by numpy, whose numbers the call seeds anew."""
    seed = int(torch.randint(300, (1,), generator=generator))
    coins = np.random.default_rng(seed).random(batch.draft_token_ids.shape)
    return verifier(coins=lambda *_: torch.from_numpy(coins))(batch, generator)


@pytest.mark.parametrize("sampler", [of_few_seeds, of_few_numpy_seeds])
def test_a_generator_that_is_seeded_with_one_of_few_numbers_is_recognised(sampler):
    # 2,800 calls of 300 seeds: some seed comes twice but in fewer than 1e-6 of all runs.
    assert "restarts its random numbers" in reason(sampler, "article-three-tokens", rows=2_800)


def test_a_generator_that_is_seeded_anew_for_every_call_is_fresh():
    found = steer(restarted(of_the_call), CASES["prefix-dependent-2"], coupled=ROWS)
    assert isinstance(found, SteeredLaw)
    assert found.coupling.mismatches == 0


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16], ids=str)
def test_numbers_of_a_short_type_may_come_again(dtype):
    # torch.rand has a few hundred or thousand values then.
    found = steer(
        verifier(draw=running_sum), CASES["article-three-tokens"], coupled=ROWS, dtype=dtype
    )
    assert isinstance(found, SteeredLaw), found
    assert found.coupling.mismatches == 0


def counted(seen: dict[int, int]) -> Freshness:
    """Returns the counts of block 0, by code."""
    freshness = Freshness(Layout())
    codes = np.repeat(list(seen), list(seen.values()))
    freshness.count(np.zeros(len(codes), dtype=np.int64), codes)
    return freshness


# A coin decides between the codes 4 and 7, with 1/4 and 3/4. Of 10,000 rows 2,500 are expected,
# with a standard deviation of 43: P(K >= 2790) = 1.8e-11, P(K >= 2690) = 7e-6 (scipy.stats.binom).
COIN = Split(column=0, grid=Uniform(24), starts=(0, 2**22), children=[Leaf(code=4), Leaf(code=7)])


def test_frequencies_are_held_against_the_map():
    assert COIN.law == {4: Fraction(1, 4), 7: Fraction(3, 4)}
    counted({4: 2690, 7: 7310}).weigh({0: COIN})
    with pytest.raises(UnsteerableError, match=r"2790 times in 10000 rows.* 0\.25"):
        counted({4: 2790, 7: 7210}).weigh({0: COIN})


def test_rows_that_a_map_does_not_know_may_be_any_outcome():
    counted({4: 2200, 7: 7210, UNFORETOLD: 590}).weigh({0: COIN})
    with pytest.raises(UnsteerableError):
        counted({4: 2100, 7: 7800, UNFORETOLD: 100}).weigh({0: COIN})
