"""transformers' assisted generation with real caches, right and with its cache crop broken.

False alarm of the law checks: 1e-6. The broken crops are the negative controls. The certified
audits take longer, so that they run in CI's second step.
"""

from __future__ import annotations

import os
import sys
from dataclasses import replace

import pytest
import torch
from decoding import world_of

from audit.samplers.decoders.loading import load_decoder
from audit.selection import select_cases
from audit.state import checks
from audit.state.auditing import audit_state
from audit.state.law import LawWatch, StateBudget
from audit.state.naming import suspects
from audit.state.running import calls
from audit.state.settings import StateSettings
from audit.state.steps import Laws
from audit.state.watching import watch_steps
from audit.state.worlds import World, tiny_world

BUDGET = StateBudget()
TRANSFORMERS = load_decoder("transformers")
heavy = [
    pytest.mark.heavy,
    pytest.mark.skipif(not os.environ.get("CI"), reason="takes long; CI's second step runs it"),
]


@pytest.fixture(scope="module")
def table() -> World:
    """Returns the world of basis-1 in the models of transformers."""
    return world_of(select_cases(["basis-1"])[0], TRANSFORMERS)


@pytest.fixture(scope="module", params=["gpt2", "llama"])
def tiny(request) -> World:
    """Returns a world of real, tiny, random models."""
    return tiny_world(request.param)


def followed(world: World, sequences: int) -> LawWatch:
    """Returns the joint law of so many sequences."""
    watch = LawWatch(world, BUDGET)
    watch.update([*calls(TRANSFORMERS, world, sequences, seed=1, purpose="test")])
    return watch


def without_crop(monkeypatch, *, target: bool, draft: bool) -> None:
    """Breaks the real cache's crop where the target's, or the draft's, state is rolled back."""
    from transformers.cache_utils import DynamicCache

    crop = DynamicCache.crop

    def broken(self, tokens: int) -> None:
        by_target = sys._getframe(1).f_code.co_name == "_assisted_decoding"
        if not (target if by_target else draft):
            crop(self, tokens)

    monkeypatch.setattr(DynamicCache, "crop", broken)


def test_a_table_model_is_generated_from(table) -> None:
    model = table.models[0]
    text = model.generate(torch.tensor([[1]]), do_sample=False, max_new_tokens=6, pad_token_id=None)
    laws = table.scratch[0](text)[0]
    assert laws[:-1].argmax(1).tolist() == text[0, 1:].tolist()


def test_its_states_match_the_text(table) -> None:
    watch, steps = followed(table, 60), watch_steps(TRANSFORMERS, table, 6, seed=1)
    assert watch.failures() == ()
    assert watch.dependent() == ""
    assert steps.departing == (0, 0)
    assert steps.largest == (0.0, 0.0)
    assert steps.rejections >= 3
    assert steps.full_acceptances >= 3


def test_real_models_differ_by_arithmetic_alone(tiny) -> None:
    steps = watch_steps(TRANSFORMERS, tiny, 4, seed=1)
    assert steps.departing == (0, 0)
    assert steps.control is not None
    assert max(*steps.largest, steps.control) < 1e-5
    assert min(steps.compared) > 8
    assert followed(tiny, 20).failures() == ()


def test_a_target_cache_that_is_not_cropped_is_found_and_named(table, monkeypatch) -> None:
    without_crop(monkeypatch, target=True, draft=False)
    watch = followed(table, 60)
    assert any("impossible" in sentence for sentence in watch.failures())
    named = suspects([(table, watch.counts)])
    assert named is not None
    assert named.leader == "target-not-rolled-back"
    steps = watch_steps(TRANSFORMERS, table, 6, seed=1)
    assert steps.departing[0] > 2
    assert steps.first[0] is not None
    assert steps.first[0].after == "rejection"


def test_with_real_models_it_is_found_call_by_call(monkeypatch) -> None:
    without_crop(monkeypatch, target=True, draft=False)
    world = tiny_world("gpt2")
    assert watch_steps(TRANSFORMERS, world, 4, seed=1).departing[0] > 1
    assert checks.greedy(TRANSFORMERS, world).structural


def test_a_draft_cache_that_is_not_cropped_costs_acceptance_alone(table, monkeypatch) -> None:
    without_crop(monkeypatch, target=False, draft=True)
    assert followed(table, 60).failures() == ()
    steps = watch_steps(TRANSFORMERS, table, 6, seed=1)
    assert steps.departing[0] == 0
    assert steps.departing[1] > 2


def test_pad_tokens_in_the_text_are_masked_in_the_draft(table, monkeypatch) -> None:
    # Not our setting: with a pad id that the text may hold, the assistant takes it for padding.
    generate = table.models[0].generate
    monkeypatch.setattr(
        table.models[0], "generate", lambda *a, **k: generate(*a, **{**k, "pad_token_id": 0})
    )
    steps = watch_steps(TRANSFORMERS, table, 6, seed=1)
    assert steps.departing[0] == 0
    assert steps.departing[1] > 2


class TestHeavy:
    """Certified audits."""

    pytestmark = heavy

    def test_table_models_are_certified(self) -> None:
        settings = StateSettings(sequences=500, watched=40, epsilon=0.2)
        record = audit_state("transformers", ["basis-1"], settings=settings)
        assert record.exit_code == 0, record.sentence
        assert record.worlds[0].law.certified is not None
        assert record.worlds[0].law.certified <= 0.2

    @pytest.mark.parametrize("architecture", ["gpt2", "llama"])
    def test_real_models_pass(self, architecture: str) -> None:
        settings = StateSettings(sequences=60, watched=25, architectures=(architecture,))
        record = audit_state("transformers", (), settings=settings)
        assert record.exit_code == 0, record.sentence
        assert record.worlds[0].steps.compared[0] > 100

    def test_a_broken_crop_is_broken_and_named(self, monkeypatch) -> None:
        without_crop(monkeypatch, target=True, draft=False)
        settings = StateSettings(sequences=200, watched=2)
        record = audit_state("transformers", ["basis-1", "basis-2"], settings=settings)
        assert record.exit_code == 1
        assert record.suspects is not None
        assert record.suspects.names == ("target-not-rolled-back",)

    def test_bfloat16_is_told_from_a_wrong_state(self, monkeypatch) -> None:
        world = tiny_world("llama", dtype=torch.bfloat16)
        right = watch_steps(TRANSFORMERS, world, 15, seed=1)
        assert right.departing == (0, 0)
        without_crop(monkeypatch, target=True, draft=False)
        assert watch_steps(TRANSFORMERS, world, 15, seed=1).departing[0] > 6


def test_the_law_of_a_tiny_world_is_that_of_its_forward() -> None:
    world = tiny_world("gpt2", vocab_size=3)
    laws: Laws = world.scratch[0]
    row = laws(torch.tensor([[1, 2]]))[0]
    share = float(row[0, 2] * row[1, 0])
    assert world.law.sum() == pytest.approx(1, abs=1e-6)
    assert world.law.reshape(3, 3, 3)[2, 0].sum() == pytest.approx(share, rel=1e-4)
    assert replace(world, faults={}).faults == {}
