"""The verification steps of real packages: their verdict, and the same with the package broken.

A right one fails, and a broken one passes, with a chance of at most 1e-6 each: alpha of a run. The
patched functions are the packages' own, so that each failure shows that their code is what runs.
"""

from __future__ import annotations

import pytest
import torch
from targets import need

from audit.run import Settings, run_audit
from audit.samplers.checking.check import check_sampler
from audit.verdict import Outcome, Verdict

pytestmark = pytest.mark.heavy

CHAINS = ("draft-zero",)
TREES = {"independent": "tree-basis", "distinct": "tree-basis-distinct", "fixed": "tree-fixed"}
RIGHT = (
    *("flashspec", "flashspec-one-hot", "flashspec-sample"),
    *("economize", "economize-one-hot", "economize-row"),
    *(f"economize-tree-{drafting}" for drafting in TREES),
)


def verdict(name: str, *cases: str, samples: int = 2_000, seed: int = 0) -> Verdict:
    """Returns the verdict on a target, on cases that show the usual faults by default."""
    need(name)
    chosen = cases or ((TREES[name.rpartition("-")[2]],) if "tree" in name else CHAINS)
    settings = Settings(samples=samples, epsilon=0.1, seed=seed)
    return run_audit(name, cases=chosen, settings=settings).verdict


@pytest.mark.parametrize("name", RIGHT)
def test_a_right_one_passes(name):
    assert verdict(name).outcome is Outcome.PASS


@pytest.mark.parametrize("name", [name for name in RIGHT if "row" not in name])
def test_no_right_one_is_accused_under_three_seeds(name):
    for seed in range(1, 4):
        assert verdict(name, samples=200, seed=seed).outcome is Outcome.INCONCLUSIVE


@pytest.mark.parametrize("name", ["flashspec", "economize", "economize-tree-distinct", "yunshu"])
def test_the_contract_is_kept(name):
    need(name)
    assert check_sampler(name).broken == ()


@pytest.mark.parametrize("name", ["flashspec", "flashspec-one-hot", "flashspec-sample"])
def test_flashspec_with_another_fallback_fails(name, monkeypatch):
    need(name)
    from flashspec.sampling import rejection

    monkeypatch.setattr(rejection, "_residual_probs", lambda p, q: p)
    assert verdict(name).outcome is Outcome.FAIL


@pytest.mark.parametrize("name", ["economize", "economize-one-hot"])
def test_economize_that_accepts_too_much_fails(name, monkeypatch):
    need(name)
    from economize.decoding import verifiers

    monkeypatch.setattr(verifiers, "_accepted_prefix", lambda keep, lengths: lengths)
    assert verdict(name).outcome is Outcome.FAIL


@pytest.mark.parametrize("name", [name for name in RIGHT if "row" in name or "tree" in name])
def test_economize_with_another_fallback_fails(name, monkeypatch):
    need(name)
    from economize.decoding import verifiers

    monkeypatch.setattr(verifiers, "_residual", lambda p, q, x: p)
    assert verdict(name).outcome is Outcome.FAIL


def test_yunshu_draws_from_the_whole_target_after_a_rejection():
    found = verdict("yunshu", "draft-zero", samples=1_000)
    assert found.outcome is Outcome.FAIL
    assert "full-target-fallback" in found.suspects


def test_yunshu_is_right_where_nothing_is_rejected_until_its_bonus_is_broken(monkeypatch):
    assert verdict("yunshu", "identical", samples=500).outcome is not Outcome.FAIL
    from yunshu_engine import spec_draft_verifier

    monkeypatch.setattr(spec_draft_verifier, "_sample_bonus", lambda row: int(row.argmax().item()))
    assert verdict("yunshu", "identical", samples=500).outcome is Outcome.FAIL


@pytest.mark.parametrize(
    ("name", "module", "function"),
    [
        ("flashspec", "flashspec.sampling.rejection", "rejection_step"),
        ("economize", "economize.decoding.verifiers", "RejectionVerifier"),
        ("yunshu", "yunshu_engine.spec_draft_verifier", "_probabilistic_accept"),
    ],
)
def test_a_release_without_the_function_is_one_sentence(name, module, function, monkeypatch):
    need(name)
    import importlib

    from audit.errors import SamplerError
    from audit.samplers.registry import load_sampler

    monkeypatch.delattr(importlib.import_module(module), function)
    with pytest.raises(SamplerError, match=rf"has no {module}\.{function}, but its adapter was"):
        load_sampler(name)


def test_the_records_say_which_release_was_audited():
    need("flashspec")
    from audit.samplers.registry import load_sampler

    identity = load_sampler("flashspec").identity
    assert "flashspec" in identity["hashed"]
    assert identity["torch"] == torch.__version__
