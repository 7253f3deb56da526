"""vLLM's real kernels and wrapper: their verdict, the same with vLLM broken, and its batches.

Triton's interpreter runs 15 to 110 rows a second, so that samples are small and biases large. A
right one fails, and a broken one passes, with a chance of at most 1e-6 each: alpha of a run, or the
level of a test.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from types import ModuleType

import pytest
import torch
from exact_instances import context_free, seed
from steps import outcomes, smallest_p, step_batch
from targets import need

from audit.case import Case
from audit.errors import SamplerError, UsageError
from audit.exact.engine import block_law
from audit.run import Settings, run_audit
from audit.samplers.adapters.listing import TARGETS
from audit.samplers.adapters.vllm_package import PACKAGE, Kernels, logits_of, temperatures
from audit.samplers.contract import Watch, check_output
from audit.samplers.interface import RowOptions, StepBatch
from audit.samplers.registry import load_sampler
from audit.samplers.stepping.loading import load_step
from audit.simulation.alarms import ADVERSE
from audit.stepping.auditing import run_step
from audit.verdict import Outcome

NAMES = [name for name in TARGETS if name.startswith("vllm-")]
BOTH = ("vllm-v1", "vllm-v2")
LEVEL = 1e-6
# A certain draft that the target likes half the time. Falling back to the whole target is then .25
# away from the target, and accepting every draft .5, which a few hundred rows show.
HALF = context_free(1, "1/2 1/2", "1 0")
heavy = pytest.mark.heavy


def generator(number: int) -> torch.Generator:
    return torch.Generator().manual_seed(number)


def verdict(name: str, samples: int, *cases: str | Case, epsilon: float = 0.24):
    """Returns the verdict on a target, by default on HALF."""
    need(name)
    settings = Settings(samples=samples, epsilon=epsilon)
    return run_audit(name, cases=cases or (HALF,), settings=settings).verdict


def stepped(name: str, samples: int):
    """Returns the verdict on rounds that draft for themselves, on HALF."""
    settings = Settings(samples=samples, epsilon=0.24)
    return run_step(load_step(name), cases=[HALF], settings=settings).verdict


def follows(tokens: torch.Tensor, law) -> bool:
    floats = {outcome: float(p) for outcome, p in law.items()}
    return smallest_p(outcomes(tokens), floats) > LEVEL


def with_options(batch: StepBatch, *, greedy: torch.Tensor, temperature: float) -> StepBatch:
    """Returns the batch with greedy rows and one temperature, whose law it already has."""
    rows = len(greedy)
    ones = torch.ones(rows)
    whole = torch.full((rows,), batch.target_probs.shape[2])
    return batch._replace(options=RowOptions(ones * temperature, whole, ones, greedy, whole))


def test_logits_of_a_row_without_a_law_are_finite():
    logits = logits_of(torch.tensor([[0.25, 0.75, 0.0], [0.0, 0.0, 0.0]]))
    assert logits[0].exp().tolist() == [0.25, 0.75, 0.0]
    assert logits[1].tolist() == [0.0, 0.0, 0.0]


def test_greedy_rows_have_temperature_0_and_their_logits_as_they_are():
    batch = step_batch(seed(1), 2, generator(1))
    given = with_options(batch, greedy=torch.tensor([True, False]), temperature=2.0)
    assert [one.tolist() for one in temperatures(given)] == [[0.0, 2.0], [1.0, 2.0]]
    assert [one.tolist() for one in temperatures(batch)] == [[1.0, 1.0], [1.0, 1.0]]


def test_what_is_missing_is_one_sentence(monkeypatch):
    missing = replace(PACKAGE, distribution="no-such-vllm")
    with pytest.raises(
        UsageError, match=r"not installed; .* its kernels alone by docs/targets\.md"
    ):
        missing.load("vllm")
    present = Kernels("pytest", "0.33.0", "pytest")
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(
        UsageError, match=r"without triton; pip install 'draftproof\[vllm-kernels\]'"
    ):
        present.load("pytest")


@pytest.mark.skipif(torch.cuda.is_available(), reason="a GPU compiles")
def test_a_triton_that_was_imported_to_compile_is_one_sentence(monkeypatch):
    monkeypatch.setitem(sys.modules, "triton", ModuleType("triton"))
    monkeypatch.delitem(sys.modules, "vllm", raising=False)
    monkeypatch.delenv("TRITON_INTERPRET", raising=False)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: name)
    with pytest.raises(SamplerError, match="set TRITON_INTERPRET=1 in the environment"):
        Kernels("pytest", "0.33.0", "pytest").load("pytest")


@heavy
def test_v1_passes_where_a_token_is_never_drafted():
    assert verdict("vllm-v1", 500, "draft-zero", epsilon=0.15).outcome is Outcome.PASS


@heavy
def test_v2_passes():
    assert verdict("vllm-v2", 200).outcome is Outcome.PASS


@heavy
@pytest.mark.parametrize("name", NAMES)
def test_every_form_follows_the_law_that_it_declares(name):
    need(name)
    case, facts = seed(2), TARGETS[name].facts
    batch = step_batch(case, 100, generator(1), torch.float32)
    tokens = check_output(batch, load_sampler(name).call(batch, generator(2)))
    assert follows(tokens, block_law(case, facts.claims or facts.declares[0]))


@heavy
def test_synthetic_acceptance_is_judged_by_the_law_that_it_declares():
    sentence = verdict("vllm-v1-synthetic", 200).sentence
    assert "as declared (synthetic-acceptance)" in sentence


def accept_every_draft(name: str, monkeypatch) -> None:
    """Patches the coins of vLLM's own code: near 0, so that every draft is accepted."""
    package = TARGETS[name].package
    if name.startswith("vllm-v1"):
        module = package.load("vllm.v1.sample.rejection_sampler")
        uniform = module.generate_uniform_probs
        monkeypatch.setattr(module, "generate_uniform_probs", lambda *given: uniform(*given) * 0)
    else:
        module = package.load("vllm.v1.worker.gpu.spec_decode.rejection_sampler_utils")
        coin = module.tl_rand32
        monkeypatch.setattr(module, "tl_rand32", lambda *of, **more: coin(*of, **more) * 0 + 1e-9)


@heavy
@pytest.mark.parametrize("name", NAMES)
def test_each_form_that_accepts_every_draft_fails(name, monkeypatch):
    need(name)
    accept_every_draft(name, monkeypatch)
    assert verdict(name, 60).outcome is Outcome.FAIL


@heavy
def test_a_step_of_v2_is_right_until_it_accepts_every_draft(monkeypatch):
    need("vllm-v2")
    assert stepped("vllm-v2", 60).outcome not in ADVERSE
    accept_every_draft("vllm-v2", monkeypatch)
    assert stepped("vllm-v2", 60).outcome is Outcome.FAIL


@heavy
def test_v1_that_falls_back_to_the_whole_target_fails(monkeypatch):
    need("vllm-v1")
    module = TARGETS["vllm-v1"].package.load("vllm.v1.sample.rejection_sampler")
    recovered = module.sample_recovered_tokens

    def whole(longest, lengths, ends, drafted, draft_probs, *more):
        return recovered(longest, lengths, ends, drafted, draft_probs * 0, *more)

    monkeypatch.setattr(module, "sample_recovered_tokens", whole)
    assert verdict("vllm-v1", 300).outcome is Outcome.FAIL


@heavy
@pytest.mark.parametrize("name", BOTH)
def test_greedy_rows_are_exact_among_random_ones_of_another_temperature(name):
    need(name)
    case, rows = seed(2), 80
    batch = step_batch(case, rows, generator(1), torch.float32)
    greedy = torch.arange(rows) % 2 == 0
    given = with_options(batch, greedy=greedy, temperature=0.5)
    watch = Watch(given)
    tokens = check_output(given, load_sampler(name).call(given, generator(2)))
    watch.check()
    best = int(batch.target_probs[0, 0].argmax())  # the same after every prefix
    for row in range(0, rows, 2):
        drafted = [*batch.draft_token_ids[row].tolist(), -1]
        kept = next(i for i, token in enumerate(drafted) if token != best)
        assert tokens[row].tolist() == [best] * (kept + 1) + [-1] * (2 - kept)
    assert follows(tokens[1::2], block_law(case, "ratio"))


@heavy
@pytest.mark.parametrize("name", ["vllm-v1", "vllm-v1-padded", "vllm-v2"])
def test_rows_may_have_fewer_drafts(name):
    need(name)
    case, rows = seed(2), 80
    drafted, draft, target, lengths, _ = step_batch(case, rows, generator(1), torch.float32)
    short = torch.arange(rows) % 2 == 0
    drafted[short, 1], draft[short, 1], target[short, 2], lengths[short] = -1, 0.0, 0.0, 1
    ragged = StepBatch(drafted, draft, target, lengths)
    tokens = check_output(ragged, load_sampler(name).call(ragged, generator(2)))
    assert follows(tokens[short], block_law(seed(1), "ratio"))
    assert follows(tokens[~short], block_law(case, "ratio"))


@heavy
@pytest.mark.parametrize("name", BOTH)
def test_the_generator_decides_alone(name):
    need(name)
    sampler, batch = load_sampler(name), step_batch(seed(2), 12, generator(1))
    torch.manual_seed(1)
    first = sampler.call(batch, generator(3))
    torch.manual_seed(2)
    assert torch.equal(sampler.call(batch, generator(3)), first)
    assert not torch.equal(sampler.call(batch, generator(4)), first)


@heavy
def test_another_signature_is_one_sentence_with_the_release_that_works(monkeypatch):
    need("vllm-v1")
    module = TARGETS["vllm-v1"].package.load("vllm.v1.sample.rejection_sampler")
    monkeypatch.setattr(module.RejectionSampler, "forward", lambda self, logits: None)
    with pytest.raises(SamplerError, match=r"adapter was written for 0\.33\.0; pip install vllm"):
        load_sampler("vllm-v1")
