"""The contract alone: right samplers keep every rule, each broken one breaks the rule it should.

A check draws nothing that could accuse a right sampler: a false alarm needs a generator that gives
64 ordinary rows twice (a note, no broken rule), or a coin below 2^-24 where a token is impossible.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from audit.cli import execute
from audit.errors import SamplerError
from audit.render.checking import checking_text
from audit.samplers.checking.apart import Apart, mixed_up
from audit.samplers.checking.check import check_sampler
from audit.samplers.checking.report import ContractReport, Finding
from audit.samplers.checking.rules import DTYPES, check_contract
from audit.samplers.checking.worlds import KINDS, World, shapes_for
from audit.samplers.interface import Facts, LoadedSampler, StepBatch
from audit.samplers.listing import list_samplers
from audit.samplers.registry import load_sampler
from audit.samplers.rules import RULES, SAMPLERS
from audit.tree import Tree

CPU = torch.device("cpu")
ratio = SAMPLERS["ratio"]
IN_A_WORKER = """
import numpy
import torch


def drawing(batch, generator):
    rows, width, vocab = batch.target_probs.shape
    tokens = torch.full((rows, width), -1)
    tokens[:, 0] = torch.randint(vocab, (rows,), generator=generator)
    return tokens


def copying(batch, generator):
    return drawing(batch, torch.Generator().set_state(generator.get_state()))


def reseeding(batch, generator):
    return drawing(batch, torch.Generator().manual_seed(generator.initial_seed()))


def drawing_globally(batch, generator):
    return drawing(batch, torch.default_generator)


def drawing_from_numpy(batch, generator):
    return drawing(batch, torch.Generator().manual_seed(int(numpy.random.randint(2**31))))
"""
Call = Callable[[StepBatch, torch.Generator], Any]


def report(call: Call, **facts: Any) -> ContractReport:
    """Returns the check of a callable of this process."""
    return check_contract(LoadedSampler("mine", call, Facts(in_process=True, **facts)))


def results(found: ContractReport) -> dict[str, str]:
    """Returns what was found by rule, those that are kept left out."""
    return {f.rule: f"{f.result}: {f.said}" for f in found.findings if f.result != "kept"}


@pytest.mark.parametrize("name", sorted(RULES))
def test_every_right_rule_keeps_the_contract_in_every_dtype(name):
    found = check_contract(load_sampler(f"rule:{name}"), seed=3)
    assert found.exit_code == 0
    assert found.dtypes == tuple(DTYPES)


@pytest.mark.parametrize(
    "name",
    [row.name for row in list_samplers() if "fault:" in row.name and "verify" in row.levels][::15],
)
def test_faults_are_checked_to_the_end_whatever_they_break(name):
    assert len(check_contract(load_sampler(name), seed=3).findings) >= 18


@pytest.mark.parametrize("seed", range(10))
def test_right_samplers_keep_it_whatever_the_seed(seed):
    for name in ("ratio", "block", "gumbel-coupled", "greedy", "sampler-match"):
        found = check_contract(load_sampler(f"rule:{name}"), seed=seed)
        assert set(results(found)) <= {"other seeds give other rows", KEPT_STILL}  # greedy


def copying(batch, generator):
    copy = torch.Generator().set_state(generator.get_state())
    return ratio(batch, copy)


def reseeding(batch, generator):
    return ratio(batch, torch.Generator().manual_seed(generator.initial_seed()))


def drawing_globally(batch, generator):
    return ratio(batch, torch.default_generator)


def drawing_from_numpy(batch, generator):
    return ratio(batch, torch.Generator().manual_seed(int(np.random.randint(2**31))))


KEPT_STILL = "a call moves its generator on"


@pytest.mark.parametrize("call", [copying, reseeding])
@pytest.mark.parametrize("independent", [True, False])
def test_a_generator_that_is_copied_or_reseeded_from_is_told(call, independent):
    found = report(call, independent_rows=independent)
    assert found.exit_code == 0
    assert results(found)[KEPT_STILL].startswith(
        "told: two calls with one generator give the same rows"
    )


# A false alarm takes 64 random rows that come twice: (1 - d)^64 of the chance d that one differs.
@pytest.mark.parametrize("call", [drawing_globally, drawing_from_numpy])
def test_one_that_draws_elsewhere_is_not_accused_of_it(call):
    assert KEPT_STILL not in results(report(call))


def test_what_does_not_depend_on_a_seed_has_none_to_move_on():
    assert results(report(SAMPLERS["greedy"]))[KEPT_STILL].startswith("skipped")


def test_in_a_worker_it_is_told_too_and_other_sources_are_not(tmp_path):
    file = tmp_path / "mine.py"
    file.write_text(IN_A_WORKER)
    names = ("copying", "reseeding", "drawing", "drawing_globally", "drawing_from_numpy")
    found = {name: results(check_sampler(f"{file}:{name}")) for name in names}
    assert {name for name in names if KEPT_STILL in found[name]} == {"copying", "reseeding"}
    whose = {name: found[name].get("the same seed gives the same rows", "") for name in names}
    assert whose.pop("drawing_globally").startswith("told: it uses the global generator of torch,")
    assert whose.pop("drawing_from_numpy").startswith(
        "told: it uses the global generator of numpy,"
    )
    assert set(whose.values()) == {""}


class Halves:
    """A sampler that drafts too."""

    def propose(self, models, generator):
        raise NotImplementedError

    def verify(self, batch, generator):
        return ratio(batch, generator)

    __call__ = verify


def test_the_levels_of_a_sampler_are_told():
    assert check_contract(load_sampler("reference")).levels == ("verify", "step", "decode")
    assert check_contract(load_sampler("rule:target-only")).levels == ("verify",)
    assert check_contract(load_sampler("fault:lenience@3/10")).levels == ("verify", "step")
    assert report(ratio).levels == ("verify",)
    assert report(Halves()).levels == ("verify", "step")
    text = checking_text(report(Halves()), color=False, width=200)
    assert "verify, step; this is the contract of verify" in text


def test_what_a_sampler_does_not_declare_is_not_asked():
    found = results(report(ratio))
    assert found == {"rows of unequal draft length": "skipped: it does not declare `ragged`"}


def test_a_sampler_that_never_answers_is_told_once():
    def broken(batch, generator):
        raise ValueError(f"no law for {tuple(batch.draft_token_ids.shape)}")

    first, *others = report(broken, ragged=True).findings
    assert (first.rule, first.result) == ("takes float32", "broken")
    assert first.said == "raised ValueError: no law for (8, 2)"
    assert {(f.result, f.said) for f in others} == {("skipped", "no call succeeds")}
    assert report(broken).exit_code == SamplerError.exit_code


def test_a_sampler_that_answers_only_the_smallest_call_is_told_of_every_rule_that_it_breaks():
    def one_row(batch, generator):
        if len(batch.draft_token_ids) > 1:
            raise ValueError("one row")
        return ratio(batch, generator)

    found = results(report(one_row))
    assert found["rows a call"] == "broken: 2 rows: raised ValueError: one row"
    assert found["a greedy target"] == "broken: raised ValueError: one row"


def alone(batch, generator):
    return ratio(batch, generator).squeeze(0).view(len(batch.draft_token_ids), -1)


def one_row_squeezed(batch, generator):
    tokens = ratio(batch, generator)
    return tokens.squeeze(0)


def float_tokens(batch, generator):
    return ratio(batch, generator).float()


def short_rows(batch, generator):
    return ratio(batch, generator)[:, :-1]


def unpadded(batch, generator):
    return ratio(batch, generator).clamp(min=0)


def viewing(batch, generator):
    batch.draft_probs.view(-1)
    return ratio(batch, generator)


def full_precision_alone(batch, generator):
    if batch.target_probs.element_size() < 4:
        raise TypeError("give me float32")
    return ratio(batch, generator)


def two_drafts(batch, generator):
    if batch.draft_token_ids.shape[1] != 2:
        raise ValueError("K must be 2")
    return ratio(batch, generator)


def small_vocabulary(batch, generator):
    if batch.target_probs.shape[2] == 1000:
        raise ValueError("too wide")
    return ratio(batch, generator)


def writing(batch, generator):
    batch.target_probs.clamp_(min=1e-6)
    return ratio(batch, generator)


def writing_around_torch(batch, generator):
    tokens = ratio(batch, generator)
    batch.draft_probs.numpy()[0, 0, 0] += 0.25
    return tokens


def normalising(batch, generator):
    residual = (batch.target_probs[:, :-1] - batch.draft_probs).clamp(min=0)
    if bool((residual.sum(2) == 0).any()):
        raise ZeroDivisionError("an empty residual")
    return ratio(batch, generator)


def equal_lengths(batch, generator):
    if len(set(batch.num_draft_tokens.tolist())) > 1:
        raise ValueError("rows differ")
    return ratio(batch, generator)


def accepted_wrongly(batch, generator):
    tokens = ratio(batch, generator)
    return tokens, (tokens >= 0).sum(1) + 1


@pytest.mark.parametrize(
    ("call", "rule", "said"),
    [
        (one_row_squeezed, "rows a call", "1 row: returned shape [3] for tokens"),
        (float_tokens, "takes float32", "returned dtype torch.float32 for tokens"),
        (short_rows, "takes float32", "returned shape [8, 2] for tokens; return an int64 tensor"),
        (accepted_wrongly, "drafts", "accepted, but 0 to 1 are possible"),
        (viewing, "layouts in memory", "repeated views of one row: raised RuntimeError"),
        (two_drafts, "drafts", "1 drafted: raised ValueError: K must be 2"),
        (small_vocabulary, "vocabularies", "1000 ids: raised ValueError: too wide"),
        (writing, "takes float32", "wrote into its input target_probs; it must copy it"),
        (writing_around_torch, "inputs are left alone", "wrote into its input draft_probs"),
        (normalising, "p = q", "raised ZeroDivisionError: an empty residual"),
        (equal_lengths, "rows of unequal draft length", "raised ValueError: rows differ"),
    ],
)
def test_each_mistake_breaks_its_rule(call, rule, said):
    found = report(call, ragged=True)
    (finding,) = (f for f in found.findings if f.rule == rule)
    assert finding.result == "broken"
    assert said in finding.said
    assert found.exit_code == SamplerError.exit_code


def test_a_mistake_breaks_no_other_rule():
    assert set(results(report(viewing, ragged=True))) == {"layouts in memory"}
    assert set(results(report(small_vocabulary, ragged=True))) == {"vocabularies"}
    assert report(viewing, ragged=True, contiguous=True).exit_code == 0


def test_a_type_is_told_unless_it_is_wanted():
    found = report(full_precision_alone, ragged=True)
    assert found.dtypes == ("float32", "float64")
    assert found.exit_code == 0
    assert results(found)["takes bfloat16"] == "told: raised TypeError: give me float32"
    sampler = LoadedSampler("mine", full_precision_alone, Facts(in_process=True))
    assert check_contract(sampler, dtypes=["bfloat16"]).exit_code == 4


def from_torch(batch, generator):
    return ratio(batch, torch.Generator().manual_seed(int(torch.randint(2**40, ()))))


def frozen(batch, generator):
    return ratio(batch, torch.Generator().manual_seed(7))


def test_other_sources_of_randomness_are_told():
    assert (
        "draws from another source"
        in results(report(from_torch))["the same seed gives the same rows"]
    )
    said = results(report(frozen))
    assert said["other seeds give other rows"].startswith("told: it does not use its generator")


def rolled(batch, generator):
    return ratio(batch._replace(target_probs=batch.target_probs.roll(1, 0)), generator)


def rolled_by_two(batch, generator):
    moved = {
        name: getattr(batch, name).roll(2, 0)
        for name in ("draft_token_ids", "draft_probs", "target_probs", "num_draft_tokens")
    }
    return ratio(batch._replace(**moved), generator)


def first_for_all(batch, generator):
    same = batch.target_probs[:1].expand_as(batch.target_probs)
    return ratio(batch._replace(target_probs=same), generator)


def next_position(batch, generator):
    moved = torch.cat([batch.target_probs[:, 1:], batch.target_probs[:, -1:]], dim=1)
    return ratio(batch._replace(target_probs=moved), generator)


class Stale:
    """Verifies by the target rows of the call before, where they have the same shape."""

    def __init__(self) -> None:
        self.before: torch.Tensor | None = None

    def __call__(self, batch, generator):
        before, self.before = self.before, batch.target_probs.clone()
        if before is None or before.shape != batch.target_probs.shape:
            return ratio(batch, generator)
        return ratio(batch._replace(target_probs=before), generator)


def last_row_not_copied(batch, generator):
    target = batch.target_probs.clone()
    if len(target) > 8:
        target[-1] = target[-2]
    return ratio(batch._replace(target_probs=target), generator)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (rolled, "in calls of 2, 3, 8, 64 rows: row 0 emits what belongs to row 63 of the same "
         "call; every row takes that of the row right before it"),
        (rolled_by_two, "in calls of 3, 8, 64 rows: row 0 emits what belongs to row 62 of the same "
         "call; every row takes that of the row 2 places before it"),
        (first_for_all, "row 1 emits what belongs to row 0 of the same call, as all rows do that"),
        (next_position, "what is emitted at position 0 belongs to position 1"),
        (Stale(), "row 0 emits what belongs to row 0 of the call before"),
        (last_row_not_copied, "in calls of 64 rows: row 63 emits what belongs to row 62 of the"),
    ],
)  # fmt: skip
def test_mixed_up_rows_are_named(call, said):
    found = report(call)
    (finding,) = found.broken
    assert finding.rule == "rows and positions are kept apart"
    assert said in finding.said


def drafts_of_the_neighbour(batch, generator):
    moved = batch.draft_token_ids.roll(1, 0)
    return SAMPLERS["sampler-match"](batch._replace(draft_token_ids=moved), generator)


def test_what_is_lawful_of_a_row_is_told_alone():
    said = results(report(drafts_of_the_neighbour))["rows and positions are kept apart"]
    assert said == "told: a draft that cannot be wrong is accepted alone and rejected beside others"
    said = results(report(SAMPLERS["always-accept"]))["rows and positions are kept apart"]
    assert said == "told: row 1 emits a drafted token of target probability 0"
    said = results(report(SAMPLERS["uniform-fallback"]))["rows and positions are kept apart"]
    assert "target probability 0" in said


@pytest.mark.parametrize("filler", [0, 1])
def test_padding_with_a_token_is_asked_about_beside_the_verdict(filler):
    def padding(batch, generator):
        tokens = ratio(batch, generator)
        return tokens.masked_fill(tokens < 0, filler)

    found = results(report(padding))
    assert found["a rejected draft ends its row"].startswith(
        f"told: every row is full, and behind a rejected draft stands {filler} alone: is it padded"
    )
    assert found["rows and positions are kept apart"].startswith("broken: ")
    assert report(padding).exit_code == SamplerError.exit_code


def test_drafts_that_go_on_behind_a_rejected_one_are_no_padding():
    said = results(report(SAMPLERS["continues-after-rejection"]))["a rejected draft ends its row"]
    assert said == "told: rows go on behind a drafted token that the target excludes"


def lengths_of_the_neighbour(batch, generator):
    moved = batch._replace(num_draft_tokens=batch.num_draft_tokens.roll(1))
    return ratio(moved, generator)


def test_the_draft_length_of_a_neighbour_breaks_the_contract_and_is_named():
    found = results(report(lengths_of_the_neighbour, ragged=True))
    assert set(found) == {"rows of unequal draft length", "rows and positions are kept apart"}
    assert "which drafts 1 of up to 3 tokens," in found["rows of unequal draft length"]


def test_a_sampler_of_dependent_rows_is_asked_one_row_a_call():
    sizes = set()

    def watching(batch, generator):
        sizes.add(len(batch.draft_token_ids))
        return ratio(batch, generator)

    assert report(watching, independent_rows=False).exit_code == 0
    assert sizes == {1}
    sizes.clear()
    assert report(watching, max_batch=5).exit_code == 0
    assert sizes == {1, 2, 3}


@pytest.mark.parametrize("drafting", [None, "independent", "distinct", "fixed"])
@pytest.mark.parametrize("kind", KINDS)
def test_rows_are_exact_in_every_dtype_and_drafts_are_possible(drafting, kind):
    for shape in shapes_for(drafting):
        world = World(shape, drafting is None, CPU, rows=5, vocab=7, kinds=(kind,))
        if not world.takes(kind):
            continue
        for dtype in DTYPES.values():
            small = World(**{**vars(world), "dtype": dtype})
            batch = small.batch(torch.Generator().manual_seed(1))
            assert (batch.target_probs.double().sum(2) == 1).all()
            assert (batch.draft_probs.double().sum(2) == 1).all()
            q = batch.draft_probs.gather(2, batch.draft_token_ids[:, :, None])
            assert (q > 0).all()
            for node in range(shape.nodes):
                if drafting in ("distinct", "fixed"):
                    taken = batch.draft_token_ids[:, list(shape.elder(node))]
                    assert (taken != batch.draft_token_ids[:, node, None]).all()


def test_every_token_has_one_owner():
    world = Apart(3, Tree.chain(2), chain=True, device=CPU, lengths=(2, 1))
    owners = [world.owner(token) for token in range(2 * 2 * 3 * 3)]
    assert len(set(owners)) == len(owners)
    batch = world.batch(1)
    own = batch.target_probs.argmax(2)
    assert (
        world.mistakes(own.where(torch.arange(3) <= batch.num_draft_tokens[:, None], -1), 1) == []
    )
    assert world.mistakes(own[:1], 0)[0][1].call == 1
    assert mixed_up([], 3) == ""


def test_a_tree_sampler_is_asked_for_each_kind_of_its_trees():
    found = check_contract(load_sampler("rule:target-only"))
    assert found.exit_code == 0
    named = {f.rule.partition(" (")[2] for f in found.findings}
    assert named == {"distinct trees)", "fixed trees)"}


def test_a_user_file_runs_in_a_worker_and_what_kills_it_ends_the_check(tmp_path):
    file = tmp_path / "mine.py"
    file.write_text(
        "import os\n"
        "def verify(batch, generator):\n"
        "    if batch.target_probs.shape[2] > 3: os._exit(3)\n"
    )
    found = check_sampler(f"{file}:verify")
    assert found.exit_code == 4
    assert found.findings[0].said == "ended its worker process in call 1 (exit code 3)"
    assert {f.result for f in found.findings[1:]} == {"skipped"}


def test_the_text_says_what_is_offered_and_the_json_holds_it_all(capsys):
    assert execute(["samplers", "check", "rule:ratio"]) == 0
    shown = capsys.readouterr().out
    assert "float32, float64, bfloat16, float16" in shown
    assert "the contract is kept: 23 rules" in shown
    assert execute(["samplers", "check", "rule:ratio", "--json", "-"]) == 0
    read = json.loads(capsys.readouterr().out)
    assert read["exit_code"] == 0
    assert read["facts"]["declares"] == ["ratio"]
    assert {f["result"] for f in read["findings"]} == {"kept"}


def test_what_a_sampler_prints_is_not_in_the_result(capsys, tmp_path):
    file = tmp_path / "mine.py"
    file.write_text("def verify(batch, generator):\n    print('noise')\n")
    execute(["samplers", "check", f"{file}:verify", "--in-process", "--json", "-"])
    assert json.loads(capsys.readouterr().out)["exit_code"] == 4


def test_the_exit_code_of_a_broken_contract_is_4(capsys, tmp_path):
    file = tmp_path / "mine.py"
    file.write_text("def verify(batch, generator):\n    return batch.draft_token_ids\n")
    assert execute(["samplers", "check", f"{file}:verify", "--in-process"]) == 4
    assert "the contract is broken" in capsys.readouterr().out
    assert execute(["samplers", "check", "nothing:here"]) == 2


def test_hostile_words_of_a_sampler_are_harmless_text():
    findings = (Finding("rule", "broken", "\x1b[31m[red]\nx"),)
    made = ContractReport("a\x1b[0m", {}, Facts(), "verify", (), findings)
    assert "\x1b" not in checking_text(made, color=False, width=80)
