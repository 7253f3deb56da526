"""The adapter of transformers' own verification step, against the real, installed function."""

from __future__ import annotations

import logging
import subprocess
import sys
from importlib.metadata import version

import pytest
import torch
from exact_instances import g2, i2, seed
from steps import outcomes, smallest_p, step_batch
from targets import rewritten

from audit.errors import SamplerError
from audit.exact.engine import block_law
from audit.run import Settings, run_audit
from audit.samplers.contract import Watch, check_output, faulty_rows
from audit.samplers.interface import StepBatch
from audit.samplers.registry import load_sampler
from audit.samplers.transformers_adapter import Verifier
from audit.simulation.alarms import ADVERSE
from audit.state.worlds import tiny_world
from audit.verdict import Outcome

FALSE_ALARM = 1e-7  # of each of the four law checks; exact binomial tails, Bonferroni
ROWS = 4_000


@pytest.fixture(scope="module")
def transformers():
    return load_sampler("transformers")


def generator(number: int) -> torch.Generator:
    return torch.Generator().manual_seed(number)


def fits(case, tokens: torch.Tensor, rule: str) -> bool:
    law = {outcome: float(p) for outcome, p in block_law(case, rule).items()}
    return smallest_p(outcomes(tokens), law) > FALSE_ALARM


@pytest.mark.parametrize("case", [g2(2), i2()], ids=["g2", "i2"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_it_follows_the_ratio_rule_and_no_fault(transformers, case, dtype):
    batch = step_batch(case, ROWS, generator(1), dtype)
    tokens = check_output(batch, transformers.call(batch, generator(2)))
    assert fits(case, tokens, "ratio")
    assert not fits(case, tokens, "full-target-fallback")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("is_accepted = r_i <= probability_ratio", "is_accepted = r_i <= 1"),
        ("torch.clamp((p_n_plus_1 - q_n_plus_1), min=0)", "p_n_plus_1.clone()"),
        ("q_n_plus_1 = q[:, n_matches, :]", "q_n_plus_1 = q[:, 0, :].roll(1, -1)"),
        ("p_n_plus_1 = p[:, n_matches, :]", "p_n_plus_1 = p[:, 0, :]"),
    ],
    ids=["accepts all", "whole target", "another draft row", "first target row"],
)
def test_the_packages_own_function_with_a_fault_fails(old, new, monkeypatch):
    from transformers.generation import utils

    assert outcome() not in ADVERSE
    monkeypatch.setattr(
        utils, "_speculative_sampling", rewritten(utils._speculative_sampling, old, new)
    )
    assert outcome() is Outcome.FAIL


def outcome() -> Outcome:
    """Returns that of an audit on laws that differ at every place; alpha is 1e-6."""
    settings = Settings(samples=2_000, epsilon=0.1)
    return run_audit("transformers", cases=(i2(),), settings=settings).verdict.outcome


def test_what_it_says_of_itself(transformers):
    assert transformers.facts.declares == ("ratio",)
    assert transformers.facts.max_batch == 256
    assert "transformers" in transformers.identity["hashed"]


def test_the_global_generator_is_put_back_and_decides_nothing(transformers):
    batch = step_batch(seed(2), 20, generator(1))
    torch.manual_seed(1)
    before = torch.random.get_rng_state()
    first = transformers.call(batch, generator(3))
    assert torch.equal(torch.random.get_rng_state(), before)
    torch.manual_seed(2)
    assert torch.equal(transformers.call(batch, generator(3)), first)
    assert not torch.equal(transformers.call(batch, generator(4)), first)


def test_inputs_stay_as_they_were_and_views_do(transformers):
    batch = step_batch(seed(2), 20, generator(1))
    views = batch._replace(
        draft_probs=batch.draft_probs[:1, :1].expand(20, 2, 3),
        target_probs=batch.target_probs[:1, :1].expand(20, 3, 3),
    )
    watch = Watch(views)
    one, other = (transformers.call(given, generator(5)) for given in (batch, views))
    watch.check()
    assert torch.equal(one, other)


def test_rows_may_have_fewer_drafts(transformers):
    batch = step_batch(seed(2), 50, generator(1))
    lengths = torch.tensor([1, 2] * 25)
    short = lengths == 1
    drafted, draft, target = (tensor.clone() for tensor in batch[:3])
    drafted[short, 1], draft[short, 1], target[short, 2] = -1, 0.0, 0.0
    ragged = StepBatch(drafted, draft, target, lengths)
    assert not faulty_rows(ragged, transformers.call(ragged, generator(2))).any()


def test_older_signatures_are_met_and_unknown_ones_refused():
    def older(
        candidate_input_ids, candidate_logits, candidate_length, new_logits, is_done_candidate
    ):
        assert is_done_candidate is False
        return candidate_input_ids[:, :1], 0

    def unknown(candidate_input_ids, candidate_logits, candidate_length, new_logits, temperature):
        return None

    def reordered(candidate_logits, candidate_input_ids, candidate_length, new_logits):
        return None

    batch = step_batch(seed(2), 3, generator(1))
    tokens = Verifier(older)(batch, generator(1))
    assert tokens[:, 0].tolist() == batch.draft_token_ids[:, 0].tolist()
    for function in (unknown, reordered):
        with pytest.raises(SamplerError, match=r"has a _speculative_sampling that takes \(cand"):
            Verifier(function)


def test_another_release_is_one_sentence_with_the_releases_that_work(monkeypatch):
    from transformers.generation import utils

    monkeypatch.delattr(utils, "_speculative_sampling")
    with pytest.raises(SamplerError) as raised:
        load_sampler("transformers")
    assert str(raised.value) == (
        f"transformers {version('transformers')} has no "
        "transformers.generation.utils._speculative_sampling, but its adapter was written for 4.57 "
        "to 5.24.0; pip install transformers==5.24.0."
    )


def test_models_that_another_release_does_not_know_are_one_sentence_too(monkeypatch):
    from transformers import modeling_outputs

    monkeypatch.delitem(sys.modules, "audit.samplers.models.transformers_models", raising=False)
    monkeypatch.delattr(modeling_outputs, "CausalLMOutputWithPast")
    with pytest.raises(SamplerError, match=r"cannot be imported \(ImportError: .*; pip install tr"):
        tiny_world("gpt2")


def test_it_is_imported_only_when_asked_for_and_says_nothing():
    code = (
        "import sys, audit.samplers.registry as registry\n"
        "assert 'transformers' not in sys.modules\n"
        "registry.load_sampler('transformers')\n"
    )
    offline = {"HF_HUB_OFFLINE": "1", "PATH": ""}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=offline
    )
    assert (done.stdout, done.stderr) == ("", "")


def test_its_logging_is_quiet(transformers):
    assert logging.getLogger("transformers").level >= logging.ERROR
