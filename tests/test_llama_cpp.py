"""llama.cpp's generation: the file that it reads, what is told of its calls, and its verdict.

The package has no wheel, so that CI does not build it: where it is missing, its own tests are
skipped there too. Its law is called wrong with a chance of at most 1e-6.
"""

from __future__ import annotations

import pytest
import torch
from targets import need, rewritten

from audit.errors import UsageError
from audit.samplers.adapters import llama_cpp
from audit.samplers.adapters.gguf_file import _paired, _tensors, write_llama
from audit.samplers.decoders.loading import load_decoder
from audit.samplers.decoders.rules import Rules
from audit.samplers.models.transformers_models import tiny_model
from audit.state import checks
from audit.state.auditing import audit_state
from audit.state.calls import watched
from audit.state.law import StateBudget
from audit.state.one_world import follow_law
from audit.state.record import StateOutcome
from audit.state.settings import StateSettings
from audit.state.watching import watch_steps
from audit.state.world import World, with_rules
from audit.state.worlds import tiny_world


def test_what_is_rotated_together_stands_together_in_each_head():
    # llama.cpp's README of its converter: rows i and i + half of a head become 2i and 2i + 1.
    rows = torch.arange(12)[:, None].expand(12, 2)
    assert _paired(rows, 2)[:, 0].tolist() == [0, 3, 1, 4, 2, 5, 6, 9, 7, 10, 8, 11]


def test_every_weight_is_written_once_under_a_name_of_llama_cpp():
    model = tiny_model("llama", 8, seed=0)
    named = _tensors(model)
    assert len(named) == len(model.state_dict())
    assert sum(t.numel() for t in named.values()) == sum(p.numel() for p in model.parameters())
    assert {"token_embd.weight", "output.weight", "blk.1.attn_q.weight"} <= set(named)


def test_other_architectures_and_cases_are_refused_in_one_sentence(tmp_path):
    with pytest.raises(UsageError, match=r"a tiny Llama, not gpt2; give --architecture llama"):
        write_llama(tiny_model("gpt2", 8, seed=0), tmp_path / "m.gguf")


def test_a_call_is_told_with_its_own_laws_and_leaves_the_model_as_it_was():
    model = tiny_model("llama", 3, seed=0)
    text, logits = torch.tensor([[1, 2]]), torch.tensor([[0.0, 1.0, 2.0], [2.0, 1.0, 0.0]])
    before = model(text).logits
    with watched([model, model]) as (_, calls):
        llama_cpp._tell(model, 5, [1, 2], logits)
    told = calls[0]
    assert (told.held, told.tokens) == (5, (1, 2))
    assert told.laws[1].tolist() == logits[1].double().softmax(0).tolist()
    assert torch.equal(model(text).logits, before)


def test_rules_that_are_off_are_said_to_be():
    assert llama_cpp._sampling(False, Rules(temperature=0.5, top_k=2)) == {
        "temp": 0.5,
        "top_k": 2,
        "top_p": 1.0,
        "min_p": 0.0,
    }
    assert llama_cpp._sampling(True, Rules())["temp"] == 0


RULES = Rules(temperature=0.7, top_k=4)


class TestHeavy:
    """The package itself."""

    pytestmark = pytest.mark.heavy

    @pytest.fixture(autouse=True)
    def _installed(self) -> None:
        need("llama-cpp-python")

    def world(self) -> World:
        return tiny_world("llama", form="weights")

    def test_it_is_consistent_in_its_law_and_call_by_call(self):
        settings = StateSettings(sequences=500, watched=40, epsilon=0.3, architectures=("llama",))
        record = audit_state("llama-cpp-python", settings=settings)
        assert record.outcome is StateOutcome.CONSISTENT, record.sentence
        steps = record.worlds[0].steps
        assert steps.readable
        assert steps.departing == (0, 0)
        assert max(steps.largest) < 1e-5

    @pytest.mark.parametrize("ignored", [False, True])
    def test_temperature_and_top_k_are_applied(self, ignored, monkeypatch):
        plain, world = llama_cpp._sampling(False, Rules()), with_rules(self.world(), RULES)
        assert world is not None
        if ignored:
            monkeypatch.setattr(llama_cpp, "_sampling", lambda *_: plain)
        settings = StateSettings(sequences=500, seed=1)
        found = follow_law(load_decoder("llama-cpp-python"), world, StateBudget(), settings)
        assert bool(found.failures()) == ignored

    def test_no_run_of_twenty_is_accused(self):
        decoder, world = load_decoder("llama-cpp-python"), self.world()
        for seed in range(1, 21):
            settings = StateSettings(sequences=40, seed=seed)
            assert follow_law(decoder, world, StateBudget(), settings).failures() == ()

    def test_greedy_text_is_exact(self):
        assert checks.greedy(load_decoder("llama-cpp-python"), self.world()).different == 0

    @pytest.mark.parametrize(
        ("old", "new", "state"),
        [
            ("and token != self._input_ids[sample_idx]", "and False", False),
            ("self.n_tokens = sample_idx\n", "self.n_tokens = sample_idx = sample_idx + 1\n", True),
        ],
        ids=["drafts are never rejected", "the rejected token stays"],
    )
    def test_with_a_fault_in_its_own_code_it_is_broken(self, old, new, state, monkeypatch):
        from llama_cpp import Llama

        monkeypatch.setattr(Llama, "generate", rewritten(Llama.generate, old, new))
        decoder = load_decoder("llama-cpp-python")
        if state:
            assert watch_steps(decoder, self.world(), 6, seed=1).departing[0] > 1
        settings = StateSettings(sequences=500, seed=1)
        assert follow_law(decoder, self.world(), StateBudget(), settings).failures()
