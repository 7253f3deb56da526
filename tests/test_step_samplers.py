"""Step samplers: what they are handed, what they must return, how they are named.

Rows are those of G2, by hand. Two of the drafters are drawn from, at 1e-6 each.
"""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest
import torch
from stepping import CPU, DTYPE, case_named, proposing
from worlds import article, prefix_dependent

from audit.errors import SamplerError, UsageError
from audit.harness.batches import Rows
from audit.harness.deck import deck_of
from audit.harness.null import handed_over
from audit.harness.stepping import models_of
from audit.samplers.stepping.calling import stepped
from audit.samplers.stepping.drafting import DRAFTS
from audit.samplers.stepping.interface import Step, halves
from audit.samplers.stepping.loading import load_step, own_names, wrap_step
from audit.settings import Settings
from audit.stepping.auditing import run_step

ROOT = Path(__file__).resolve().parent.parent


def models_for(case=None, batch=4):
    deck = deck_of([handed_over(case or prefix_dependent(2), DTYPE)], dtype=DTYPE, device=CPU)
    nothing = torch.zeros(batch, dtype=torch.int64)
    return models_of(deck, Rows(nothing, torch.arange(batch)))


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


def called(sampler, models=None):
    return stepped(wrap_step(sampler), models or models_for(), generator())


def returning(**changed):
    """A right step sampler that changes one thing of its return value."""

    def sampler(models, generator):
        return Step(*proposing("sampled")(models, generator))._replace(**changed)

    return sampler


def test_models_answer_with_the_rows_after_a_prefix():
    models = models_for()
    first = models.draft(models.no_tokens())
    assert first[0].tolist() == pytest.approx([0.5, 0.3, 0.2])
    after = models.draft(torch.tensor([[0], [1], [2], [0]]))
    assert after[1].tolist() == pytest.approx([0.3, 0.2, 0.5])
    target = models.target(torch.tensor([[1, 2]] * 4))
    assert target.shape == (4, 3, 3)
    assert target[0, 0].tolist() == pytest.approx([0.2, 0.5, 0.3])
    assert target[0, 1].tolist() == pytest.approx([0.1, 0.3, 0.6])


def test_what_models_return_belongs_to_the_caller():
    models = models_for(article(1))
    models.draft(models.no_tokens()).zero_()
    models.target(models.no_tokens()).zero_()
    assert models.draft(models.no_tokens()).sum() == pytest.approx(4)
    assert models.target(models.no_tokens()).sum() == pytest.approx(4)


@pytest.mark.parametrize(
    "tokens", [torch.zeros(3, 1), torch.zeros(4, 2), torch.zeros(4), torch.full((4, 1), 3)]
)
def test_a_model_is_not_called_on_what_it_has_no_row_for(tokens):
    with pytest.raises(ValueError, match="a model was called on tokens"):
        models_for().draft(tokens.long())


@pytest.mark.parametrize("name", DRAFTS)
def test_every_drafter_keeps_the_contract(name):
    models = models_for(batch=64)
    drafted, rows, tokens = called(proposing(name, verify="sampler-match"), models)
    assert drafted.shape == (64, 2)
    assert rows.shape == (64, 2, 3)
    assert rows.sum(2).double().numpy() == pytest.approx(1, abs=1e-3)
    assert tokens.shape == (64, 3)


def test_a_step_sampler_is_a_function_or_an_object_with_two_halves():
    class Engine:
        def propose(self, models, generator):
            return DRAFTS["sampled"](models, generator)

        def verify(self, batch, generator):
            assert batch.num_draft_tokens.tolist() == [2] * 4
            return torch.nn.functional.pad(batch.draft_token_ids, (0, 1), value=0), None

    assert wrap_step(Engine()).apart
    assert called(Engine()).tokens.shape == (4, 3)
    assert wrap_step(returning()).apart is None
    assert called(returning()).draft_token_ids.shape == (4, 2)


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"draft_token_ids": torch.zeros(4, 1).long()}, r"shape \[4, 1\] for draft_token_ids"),
        ({"draft_token_ids": torch.zeros(4, 2)}, "dtype torch.float32 for draft_token_ids"),
        ({"draft_token_ids": torch.full((4, 2), 3)}, r"drafted token 3 at \[0, 0\], outside"),
        ({"draft_probs": [1]}, "a list for draft_probs"),
        ({"draft_probs": torch.ones(4, 2, 4)}, r"shape \[4, 2, 4\] for draft_probs"),
        ({"draft_probs": torch.ones(4, 2, 3).long()}, "dtype torch.int64 for draft_probs"),
        ({"draft_probs": torch.full((4, 2, 3), -1.0)}, "negative, not finite or all zero"),
        ({"draft_probs": torch.full((4, 2, 3), torch.nan)}, "negative, not finite or all zero"),
        ({"draft_probs": torch.zeros(4, 2, 3)}, "batch row 0, position 0"),
        ({"tokens": [0]}, "a list for tokens"),
    ],
)
def test_a_broken_contract_is_told_in_a_sentence(changed, said):
    with pytest.raises(SamplerError, match=said):
        called(returning(**changed))


@pytest.mark.parametrize(
    ("proposal", "said"),
    [
        (None, "propose returned something else than"),
        ((torch.zeros(4, 2).long(),), "propose returned something else than"),
        ((torch.zeros(4, 1).long(), None), r"propose returned shape \[4, 1\] for draft_token_ids"),
        (
            (torch.zeros(4, 2).long(), torch.ones(4, 2)),
            r"propose returned shape \[4, 2\] for draft_",
        ),
    ],
)
def test_a_proposal_that_is_none_is_told_before_it_is_verified(proposal, said):
    def verify(batch, generator):
        raise AssertionError

    with pytest.raises(SamplerError, match=said):
        called(halves(lambda models, generator: proposal, verify))


def test_what_else_may_go_wrong_in_a_call():
    def raising(models, generator):
        raise RuntimeError("out of luck.")

    with pytest.raises(SamplerError, match=r"raised RuntimeError: out of luck\.$") as caught:
        called(raising)
    assert "in raising" in caught.value.detail
    with pytest.raises(SamplerError, match="something else than"):
        called(lambda models, generator: None)
    with pytest.raises(SamplerError, match="raised ValueError: a model was called"):
        called(lambda models, generator: models.draft(torch.zeros(1, 5).long()))


def test_a_round_apart_verifies_other_drafts_than_those_proposed_last():
    class Engine:
        proposals = 0

        def propose(self, models, generator):
            shape = (models.batch_size, models.num_speculative_tokens)
            self.proposals += 1
            self.last = torch.randint(3, shape, generator=generator)
            return self.last, None

        def verify(self, batch, generator):
            assert batch.draft_probs is None
            self.judged = batch.draft_token_ids
            return torch.nn.functional.pad(self.last, (0, 1))

    engine, models = Engine(), models_for(batch=64)
    drafted, _, tokens = wrap_step(engine).apart(models, generator())
    assert torch.equal(drafted, engine.judged)
    assert engine.proposals == 3
    assert torch.equal(tokens[:, :2], engine.last)
    # Two of 128 independent tokens of 3 agree with chance 1/3 each: all of them with 3 ** -128.
    assert not torch.equal(engine.last, drafted)


def test_tokens_of_a_wrong_shape_are_an_error_of_the_run():
    record = run_step(returning(tokens=torch.zeros(4, 2).long()), cases=["article-three-tokens"])
    assert record.verdict.outcome.value == "ERROR"
    assert record.exit_code == 4
    assert "for tokens; return an int64 tensor" in record.verdict.sentence


def test_our_own_are_named():
    names = own_names()
    assert names[0] == "reference"
    assert {"rule:point-mass", "fault:draft-rows-damaged", "fault:coarse-coin"} <= set(names)
    assert "rule:recursive-rejection" not in names
    assert "fault:sampled" not in names
    for name in ("reference", "rule:block", "fault:lenience@3/10", "fault:beam-draft"):
        assert load_step(name).apart
    assert load_step("rule:block", drafts="beam-draft").name == "rule:block with beam-draft"


@pytest.mark.parametrize(
    ("spec", "drafts", "said"),
    [
        ("refrence", "sampled", "no step sampler is named 'refrence'; did you mean reference"),
        ("fault:argmax-drat", "sampled", "did you mean fault:argmax-draft"),
        ("rule:recursive-rejection", "sampled", "`draftproof run rule:recursive-rejection`"),
        ("reference", "argmax", "no drafts are named 'argmax'; did you mean argmax-draft"),
        ("examples/step_sampler.py:Engine", "argmax-draft", "drafts for itself"),
        (
            "examples/step_sampler.py:torch.pi",
            "sampled",
            "of type float, which is not callable; name a function",
        ),
        ("examples/step_sampler.py:Motor", "sampled", "has no object 'Motor'"),
    ],
)
def test_a_name_that_cannot_be_used_is_told_in_a_sentence(spec, drafts, said, monkeypatch):
    monkeypatch.chdir(ROOT)
    with pytest.raises(UsageError, match=said):
        load_step(spec, drafts=drafts)


HALF = """
class Drafter:
    def propose(self, models, generator):
        return models.no_tokens(), None
class Verifier:
    propose = None
    def verify(self, batch, generator):
        return batch.draft_token_ids
"""


@pytest.mark.parametrize("in_process", [True, False], ids=["here", "worker"])
@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("Drafter", r"Drafter has propose but no method verify\(batch, generator\) -> tokens; "),
        ("Verifier", r"Verifier has verify but no method propose\(models, generator\) -> \(draft_"),
        ("__name__", r"of type str, which is not callable; name a function \(models, generator\)"),
    ],
)
def test_an_object_with_one_half_is_told_what_it_lacks(tmp_path, name, said, in_process):
    file = tmp_path / "half.py"
    file.write_text(HALF)
    with pytest.raises(UsageError, match=said):
        load_step(f"{file}:{name}", in_process=in_process)


def test_a_file_is_called_alike_in_a_worker_and_in_this_process(monkeypatch):
    monkeypatch.chdir(ROOT)
    models, spec = models_for(batch=64), "examples/step_sampler.py:Engine"
    here, apart = (load_step(spec, in_process=inside) for inside in (True, False))
    with closing(apart):
        assert here.apart
        assert apart.apart
        assert here.identity["hashed"] == apart.identity["hashed"] == "step_sampler.py"
        assert here.identity["sha256"] == apart.identity["sha256"]
        drafted, claimed, tokens = stepped(apart, models, generator())
        # The rows of a claim depend on nothing but the drafts before them.
        assert torch.equal(claimed[:, 0], models.draft(models.no_tokens()).double())
        assert torch.equal(claimed[:, 1], models.draft(drafted[:, :1]).double())
        assert (tokens[:, 0] >= 0).all()
        # The same noise gives the same round, also where it judges another proposal.
        rounds = [one.apart(models, generator()) for one in (apart, apart)]
        assert all(map(torch.equal, *rounds))
        assert not torch.equal(rounds[0][0], drafted)


FILE = """
import torch
def quiet(models, generator):
    drafted = torch.zeros(models.batch_size, models.num_speculative_tokens).long()
    return drafted, None, torch.nn.functional.pad(drafted, (0, 1))
def loud(models, generator):
    raise RuntimeError("no luck")
def odd(models, generator):
    return quiet(models, generator)[0] + 7, None, None
def gone(models, generator):
    import os
    os._exit(3)
"""


def test_a_worker_tells_what_goes_wrong(tmp_path):
    file = tmp_path / "steps.py"
    file.write_text(FILE)
    with closing(load_step(f"{file}:quiet")) as quiet:
        assert quiet.apart is None
        assert stepped(quiet, models_for(), generator()).draft_probs is None
    said = {
        "loud": "raised RuntimeError: no luck",
        "odd": "returned a NoneType for tokens",
        "gone": "ended its worker process in call 1",
    }
    for name, sentence in said.items():
        sampler = load_step(f"{file}:{name}")
        with closing(sampler), pytest.raises(SamplerError, match=sentence):
            stepped(sampler, models_for(), generator())


def test_only_sampled_rounds_are_judged():
    with pytest.raises(UsageError, match="at the step level rounds are sampled"):
        run_step("reference", settings=Settings(method="steered"))


def test_trees_and_large_cases_are_refused():
    def tree(models, generator):
        return Step(models.no_tokens(), None, models.no_tokens())

    tree.draftproof = {"trees": ["distinct"]}
    with pytest.raises(UsageError, match="the step level audits chains"):
        run_step(tree)
    with pytest.raises(UsageError, match="select small cases"):
        run_step("reference", cases=["zipf-1000"])
    with pytest.raises(UsageError, match="but reference takes"):
        run_step("reference", cases=["tree-basis"])


def test_raced_drafts_come_from_their_rows():
    # 6 standard deviations of a share of 40,000 draws: 2e-9 a token.
    models = models_for(case_named("reversed-ranks"), batch=40_000)
    drafted, rows = DRAFTS["raced"](models, generator(3))
    shares = torch.bincount(drafted.flatten(), minlength=16) / 40_000
    deviation = (rows[0, 0] * (1 - rows[0, 0]) / 40_000).sqrt()
    assert ((shares - rows[0, 0]).abs() < 6 * deviation).all()
    # Negative control: the rows in another order.
    assert not ((shares - rows[0, 0].flip(0)).abs() < 6 * deviation).all()
