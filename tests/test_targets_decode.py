"""The decode loops of real packages: what their states and laws show, also with a part broken.

A right loop is called broken with a chance of at most alpha = 1e-6. The patched functions are the
packages' own, so that each failure shows that their code is what runs.
"""

from __future__ import annotations

import importlib
from functools import lru_cache

import pytest
import torch
from targets import need, rewritten

from audit.errors import SamplerError
from audit.samplers.decoders.interface import LoadedDecoder
from audit.samplers.decoders.loading import load_decoder
from audit.samplers.stepping.loading import load_step
from audit.selection import select_cases
from audit.settings import Settings
from audit.state import checks
from audit.state.auditing import audit_state
from audit.state.law import LawWatch, StateBudget
from audit.state.record import StateOutcome, StateRecord
from audit.state.running import calls
from audit.state.settings import StateSettings
from audit.state.watching import watch_steps
from audit.state.world import World
from audit.state.worlds import table_world
from audit.stepping.auditing import run_step
from audit.verdict import Outcome

pytestmark = pytest.mark.heavy

RIGHT = ("flashspec-engine", "mlx-lm")
CUT = "prefix-dependent-2"  # a nucleus of 0.75 cuts a token off most of its rows


@lru_cache
def loaded(name: str) -> LoadedDecoder:
    need(name)
    return load_decoder(name)


def world(name: str, case: str = "basis-1") -> World:
    return table_world(select_cases([case])[0], loaded(name))


def failures(
    name: str, sequences: int, *, seed: int = 1, decoder: LoadedDecoder | None = None
) -> tuple[str, ...]:
    """Returns what the law of so many sequences shows, of a decoder in the target's place."""
    where = world(name)
    watch = LawWatch(where, StateBudget())
    watch.update([*calls(decoder or loaded(name), where, sequences, seed=seed, purpose="test")])
    return tuple(watch.failures())


def audited(name: str, case: str = "basis-1", **options: float) -> StateRecord:
    need(name)
    settings = StateSettings(sequences=500, watched=40, epsilon=0.2, options=options)
    return audit_state(name, [case], settings=settings)


@pytest.mark.parametrize("name", RIGHT)
def test_a_right_one_is_consistent(name):
    record = audited(name)
    assert record.outcome is StateOutcome.CONSISTENT
    assert record.worlds[0].steps.departing == (0, 0)


@pytest.mark.parametrize("name", [*RIGHT, "litgpt-step"])
def test_no_right_one_is_accused_under_three_seeds(name):
    assert [failures(name, 40, seed=seed) for seed in range(1, 4)] == [()] * 3


def test_mlx_lm_keeps_the_law_after_top_p():
    law = audited("mlx-lm", CUT, top_p=0.75).worlds[0].law
    assert law.certified is not None
    assert law.certified <= 0.2


def test_mlx_lm_with_caches_that_are_not_trimmed_is_broken(monkeypatch):
    need("mlx-lm")
    module = importlib.import_module("mlx_lm.generate")  # a function of this name hides it
    monkeypatch.setattr(module, "trim_prompt_cache", lambda cache, n: n)
    assert watch_steps(loaded("mlx-lm"), world("mlx-lm"), 4, seed=1).departing[0] > 1
    assert failures("mlx-lm", 100)


def test_flashspec_with_caches_that_are_not_cropped_is_broken(monkeypatch):
    need("flashspec-engine")
    from flashspec.engine.kv_cache import KvSession

    monkeypatch.setattr(KvSession, "_crop_to", lambda self, length: True)
    name = "flashspec-engine"
    assert watch_steps(loaded(name), world(name), 4, seed=1).departing[0] > 1
    assert failures(name, 100)


def test_flashspec_ignores_its_top_p():
    record = audited("flashspec-engine", CUT, top_p=0.75)
    assert record.outcome is StateOutcome.BROKEN
    assert "impossible" in record.sentence


def test_litgpt_drops_the_first_token():
    assert any("impossible" in sentence for sentence in failures("litgpt", 100))
    # The cause: greedy text of two equal models is the plain text without its first token.
    decode, target = loaded("litgpt").call, world("litgpt").models[0]
    prompt, plain = torch.tensor([[1]]), [1]
    for _ in range(6):
        plain.append(int(target(torch.tensor([plain]))[0, -1].argmax()))
    shape = {"max_new_tokens": 5, "num_speculative_tokens": 2, "greedy": True}
    text = decode(target, target, prompt, generator=torch.Generator(), **shape)  # type: ignore[call-arg]
    assert text[0].tolist() == plain[2:]


def with_fallback_to_any_token(monkeypatch) -> None:
    """Lets litgpt's own `sample` draw from all tokens alike after a rejection."""
    from litgpt.generate import speculative_decoding

    sample = speculative_decoding.sample

    def broken(logits, *, apply_softmax=True, **more):
        return sample(logits if apply_softmax else torch.ones_like(logits), **more)

    monkeypatch.setattr(speculative_decoding, "sample", broken)


def test_litgpt_with_its_first_token_keeps_the_law_until_its_fallback_is_broken(monkeypatch):
    # The cause that the field report tells: with that token alone put back, the law holds.
    need("litgpt")
    from litgpt.generate import speculative_decoding as module

    whole = rewritten(module.generate, "    tokens = []\n", "    tokens = [token[0]]\n")
    monkeypatch.setattr(module, "generate", whole)
    mended = load_decoder("litgpt")
    assert failures("litgpt", 150, decoder=mended) == ()
    with_fallback_to_any_token(monkeypatch)
    assert any("impossible" in sentence for sentence in failures("litgpt", 150, decoder=mended))


def test_litgpts_step_keeps_the_law_until_its_fallback_is_broken(monkeypatch):
    assert failures("litgpt-step", 150) == ()
    with_fallback_to_any_token(monkeypatch)
    assert any("impossible" in sentence for sentence in failures("litgpt-step", 150))


def test_litgpts_step_passes_at_the_step_level_until_its_fallback_is_broken(monkeypatch):
    need("litgpt-step")
    settings = Settings(samples=600, epsilon=0.15)
    step = load_step("litgpt-step")
    assert run_step(step, cases=["draft-zero"], settings=settings).verdict.outcome is Outcome.PASS
    with_fallback_to_any_token(monkeypatch)
    assert run_step(step, cases=["draft-zero"], settings=settings).verdict.outcome is Outcome.FAIL


def test_litgpt_at_temperature_0_is_not_greedy():
    text = checks.greedy(loaded("litgpt-step"), world("litgpt-step"))
    assert text.structural


def test_litgpt_cannot_draw_after_a_rejection_with_top_p():
    with pytest.raises(SamplerError, match="probability tensor contains either"):
        audited("litgpt-step", CUT, top_p=0.75)
