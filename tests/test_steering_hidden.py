"""What a search misses, and what nothing can see: caught by the proof, or declined with a reason.

A bound of the proof is wrong with probability delta = 1e-9 here, so that a test that needs one to
hold fails by chance at most 1e-9 often, fewer than 1e-6 for the file.
"""

from __future__ import annotations

import pytest
import torch
from steered_samplers import (
    CORRECT,
    Counting,
    by_permutation,
    by_system_random,
    by_the_clock,
    hidden_entropy,
    hidden_interval,
    shared_coin,
)

from audit.errors import SamplerError
from audit.selection import select_cases
from audit.steering.result import NotSteerable, SteeredLaw
from audit.steering.steer import steer
from audit.steering.watching import is_compiled

DELTA = 1e-9
(ARTICLE,) = select_cases(["article-three-tokens"])


def steered(sampler, *, rows: int = 100_000) -> SteeredLaw:
    """Returns the steered law, which there must be."""
    found = steer(sampler, ARTICLE, coupled=rows, delta=DELTA)
    assert isinstance(found, SteeredLaw), found
    return found


def reason(sampler) -> str:
    """Returns why a sampler cannot be steered, which must be so."""
    found = steer(sampler, ARTICLE, coupled=1000)
    assert isinstance(found, NotSteerable)
    return found.reason


@pytest.mark.parametrize(
    ("sampler", "tv"),
    [
        # The first token is 0 in place of a draw with probability .2: .8 of the width is wrong.
        (hidden_interval(1e-3), 0.8e-3),
        (hidden_interval(1e-4), 0.8e-4),
    ],
)
def test_a_rare_interval_is_found_and_its_mass_told(sampler, tv):
    found = steered(sampler)
    assert float(found.law.to_target) == pytest.approx(tv, rel=1e-2)
    assert found.coupling.mismatches == 0


@pytest.mark.parametrize("outer", [True, False])
def test_compiled_code_is_declined(outer):
    compiled = torch.compile(CORRECT, backend="eager")

    def around(batch, generator):
        return compiled(batch, generator)

    assert reason(compiled if outer else around).startswith("torch.compile compiles it")


def test_an_object_whose_attributes_raise_is_not_compiled():
    class Raising:
        def __getattr__(self, name):
            raise RuntimeError(name)

    assert not is_compiled(Raising())


@pytest.mark.parametrize("rate", [1e-3, 1e-4])
def test_rare_hidden_entropy_is_not_certified_over(rate):
    # What is wrong is .8 of the rate; a bound below it has probability 1e-9.
    found = steer(hidden_entropy(rate), ARTICLE, coupled=400_000, delta=DELTA)
    assert isinstance(found, NotSteerable) or found.bound > 0.8 * rate
    if isinstance(found, NotSteerable):
        assert "same" in found.reason


@pytest.mark.parametrize(("width", "rows", "least"), [(1e-3, 100_000, 20), (1e-4, 800_000, 10)])
def test_a_map_that_misses_an_interval_is_caught_by_the_coupling(width, rows, least, monkeypatch):
    # The pilot rows are taken away, so that nothing but the proof can notice. It meets the interval
    # 80 and 64 times on average, at most so often as `least` with probability 1e-14 and 1e-15.
    monkeypatch.setattr("audit.steering.steer.REFINEMENTS", 0)
    found = steered(hidden_interval(width), rows=rows)
    assert float(found.law.to_target) < 1e-6
    assert found.coupling.mismatches > least
    assert found.bound > 0.8 * width


@pytest.mark.parametrize(
    "sampler",
    [Counting(), by_the_clock, by_system_random, hidden_entropy(0.2)],
    ids=["call count", "clock", "SystemRandom", "urandom"],
)
def test_hidden_entropy_is_recognised(sampler):
    assert "a source that cannot be seen" in reason(sampler)


def test_an_operation_without_a_known_law_is_named():
    assert "torch.randperm" in reason(by_permutation)


def test_a_sampler_that_always_raises_is_not_steerable():
    def broken(batch, generator):
        raise ValueError("no kernel\nfor this device")

    assert reason(broken) == "it raised ValueError: no kernel"


def test_a_sampler_that_breaks_its_contract_is_an_error():
    def short(batch, generator):
        return batch.draft_token_ids

    with pytest.raises(SamplerError):
        steer(short, ARTICLE)


def test_a_coin_that_all_rows_of_a_call_share_is_not_certified_over():
    # With a chance of .02 a call emits token 0 in place of a draw with probability .2.
    found = steer(shared_coin(0.02), ARTICLE, coupled=2_000)
    assert isinstance(found, SteeredLaw)
    assert found.mode == "Single"
    assert abs(float(found.law.to_target) - 0.016) < 1e-3
