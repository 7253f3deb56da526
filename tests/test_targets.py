"""The adapters of packages, without the packages: names, what they say, and what goes missing."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
import torch

from audit.errors import SamplerError, UsageError
from audit.exact.catalogue import rule
from audit.samplers.adapters.listing import TARGETS
from audit.samplers.adapters.litgpt import Positioned
from audit.samplers.adapters.mlx_lm import _sampling
from audit.samplers.adapters.package import Package
from audit.samplers.adapters.packages import OFFERED
from audit.samplers.batch import log_probs
from audit.samplers.decoders.interface import DecoderFacts
from audit.samplers.decoders.loading import load_decoder
from audit.samplers.decoders.rules import Rules
from audit.samplers.interface import Facts
from audit.samplers.listing import list_samplers
from audit.samplers.registry import load_sampler
from audit.samplers.stepping.loading import load_step
from audit.state.calls import Call
from audit.state.rounds import rounds_of

DOCUMENT = Path(__file__).parent.parent / "docs" / "targets.md"
REPORT = DOCUMENT.with_name("field-report.md")
MISSING = Package("no-such-distribution", "1.0", "no_such_module")


@pytest.fixture
def toy(tmp_path, monkeypatch) -> Package:
    """Returns a package of release 2.0 for an adapter that was written for 1.0."""
    (tmp_path / "toy_target.py").write_text(
        "def verify(p, q, *, seed=None): return p\n"
        "def greedy(p, **more): return p\n"
        "def renamed(target, draft): return target\n"
        "def longer(p, q, temperature): return p\n"
    )
    (tmp_path / "toy_broken.py").write_text("import a_module_that_is_not_there\n")
    about = tmp_path / "toy_target-2.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: toy-target\nVersion: 2.0\n")
    monkeypatch.syspath_prepend(tmp_path)
    return Package("toy-target", "1.0", "toy_target")


def test_a_package_that_is_missing_is_one_sentence():
    with pytest.raises(UsageError) as raised:
        MISSING.get("no_such_module", "verify")
    assert str(raised.value) == (
        "no-such-distribution is not installed; pip install no-such-distribution==1.0."
    )


def test_a_function_with_the_known_parameters_is_found(toy):
    assert toy.function("toy_target", "verify", ("p", "q"))(1, 2) == 1
    assert toy.function("toy_target", "verify", ("p", "q", "seed"))(1, 2) == 1
    assert toy.function("toy_target", "greedy", ("p",))(3) == 3
    assert toy.file.name == "toy_target.py"


@pytest.mark.parametrize(
    ("module", "name", "said"),
    [
        ("toy_target", "gone", "has no toy_target.gone"),
        ("toy_target", "renamed", "has a toy_target.renamed that takes (target, draft)"),
        ("toy_target", "longer", "has a toy_target.longer that takes (p, q, temperature)"),
        ("toy_broken", "verify", "cannot be imported (ModuleNotFoundError: No module named"),
    ],
)
def test_a_release_that_changed_is_one_sentence_with_the_one_that_works(toy, module, name, said):
    with pytest.raises(SamplerError) as raised:
        toy.function(module, name, ("p", "q"))
    sentence = str(raised.value)
    assert sentence.startswith(f"toy-target 2.0 {said}")
    assert sentence.endswith("written for 1.0; pip install toy-target==1.0.")
    assert "\n" not in sentence


def test_keywords_and_methods_are_checked_too(toy):
    assert toy.function("toy_target", "verify", ("p",), ("q", "seed"))(1, q=2) == 1
    assert toy.function("toy_target", "greedy", ("p",), ("anything",))(3, anything=1) == 3
    for keywords in (["q", "seeds"], ["seed"]):  # one that it does not take, one that it needs
        with pytest.raises(SamplerError, match=r"that takes \(p, q, seed\), but"):
            toy.function("toy_target", "verify", ("p",), keywords)
    with pytest.raises(SamplerError, match=r"toy-target 2\.0 has no Verifier\.verify, but"):
        toy.checked(None, "Verifier.verify")


def test_what_else_goes_wrong_while_an_adapter_is_made_is_one_sentence_too(toy):
    assert toy.made(lambda: 3) == 3
    with pytest.raises(SamplerError) as raised:
        toy.made(lambda: {}["field"])
    assert str(raised.value) == (
        "toy-target 2.0 cannot be set up (KeyError: 'field'), but its adapter was written for 1.0; "
        "pip install toy-target==1.0."
    )
    assert "Traceback" in raised.value.detail
    with pytest.raises(UsageError, match="not installed"):
        toy.made(lambda: MISSING.get("no_such_module", "verify"))


def test_every_target_is_listed_with_its_level_and_how_to_get_it():
    rows = {row.name: row for row in list_samplers()}
    for name, target in TARGETS.items():
        assert rows[name].levels == target.levels
        assert rows[name].found == target.found
        assert OFFERED[name].trees == getattr(target.facts, "trees", ())
        assert target.package.version in rows[name].found or "not found" not in rows[name].found
    assert rows["economize-tree-distinct"].drafts == "tree, distinct"


def test_what_targets_declare_is_in_the_catalogue():
    for target in TARGETS.values():
        if isinstance(target.facts, Facts):
            assert all(rule(id_).lossless for id_ in target.facts.declares)
            assert target.facts.in_process
        else:
            assert isinstance(target.facts, DecoderFacts)


def test_a_name_at_another_level_says_which_command_audits_it():
    with pytest.raises(UsageError, match=r"a decode loop .* `draftproof state mlx-lm`"):
        load_sampler("mlx-lm")
    with pytest.raises(UsageError, match="decodes nothing; audit it with `draftproof run yunshu`"):
        load_decoder("yunshu")
    with pytest.raises(UsageError, match=r"has no round .* `draftproof state litgpt`"):
        load_step("litgpt")
    with pytest.raises(UsageError, match="flashspec"):
        load_sampler("flashspeck")


def test_listing_imports_none_of_the_packages():
    modules = sorted({target.package.module for target in TARGETS.values()})
    code = (
        "import sys, audit.samplers.registry\n"
        f"assert not [name for name in {modules} if name in sys.modules]\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_the_document_lists_every_target_with_what_it_says():
    text = DOCUMENT.read_text()
    for target in TARGETS.values():
        told = (target.name, target.calls, target.reads, target.draft_law, target.randomness)
        row = " | ".join([f"`{target.name}`", ", ".join(target.levels), f"`{target.calls}`"])
        assert row in text, f"docs/targets.md lacks the row of {target.name}"
        assert all(word in text for word in told)
        assert target.package.install in text


def test_the_field_report_has_a_line_of_every_target():
    text = REPORT.read_text()
    kinds = ("synthetic", "padded")  # vLLM's modes, which its own tests audit
    names = [name for name in TARGETS if not name.endswith(kinds)]
    assert [name for name in names if name not in text] == []
    assert "No cause known" not in text


def test_log_probabilities_of_an_expanded_row_are_made_once():
    probs = torch.tensor([[[0.25, 0.75, 0.0]]]).expand(5, 2, 3)
    logs = log_probs(probs)
    assert logs.stride() == (0, 0, 1)
    assert logs[4, 1].exp().tolist() == [0.25, 0.75, 0.0]
    assert logs.dtype == torch.float32


def test_a_positioned_model_answers_by_what_is_held_up_to_each_position():
    seen = []

    def logits(ids):
        seen.append(ids.tolist())
        return ids.unsqueeze(2).float()

    model = Positioned(logits, 6)
    model(torch.tensor([[4, 5]]), torch.tensor([0, 1]))
    model(torch.tensor([[7, 8, 9]]), torch.tensor([2, 3, 4]))
    again = model(torch.tensor([[6]]), torch.tensor([3]))  # over what stood there
    assert seen == [[[4, 5]], [[4, 5, 7, 8, 9]], [[4, 5, 7, 6]]]
    assert again.tolist() == [[[6.0]]]


def test_a_prompt_that_the_target_reads_between_draft_and_verification_is_no_round():
    # As flashspec's engine does: the target's prompt is read when there is something to verify.
    calls = [Call("draft", 0, (1,)), Call("target", 0, (1,)), Call("target", 1, (0,))]
    (one,) = rounds_of(calls, [1, 0, 2], 1)
    assert (one.target, one.drafted, one.ending) == ((2,), 1, "full acceptance")


def test_rules_whose_order_differs_there_are_refused_together():
    assert _sampling(False, Rules(top_p=0.5)) == {"temp": 1, "top_k": 0, "top_p": 0.5, "min_p": 0}
    assert _sampling(True, Rules())["temp"] == 0
    with pytest.raises(UsageError, match="give one of them"):
        _sampling(False, Rules(top_p=0.5, temperature=0.7))
