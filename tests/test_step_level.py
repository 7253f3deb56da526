"""Audits at the step level: a wrong claim is told, and fails only what rests on it.

A right step sampler fails, or has its claim refuted, with a chance of at most alpha = 1e-6 a run;
at these sizes it is certified in nine runs of ten at the first look that may, and in practically
every one at the last. Each fault is a negative control. TVs are those of the catalogue's laws.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch
from simulation import campaign_of
from stepping import case_named, proposing
from worlds import article

from audit.cli import execute
from audit.render.step import first_line, step_text
from audit.render.step_page import step_page
from audit.samplers.interface import LoadedSampler
from audit.samplers.rowwise import tempered
from audit.samplers.rules import sampler_of
from audit.samplers.stepping.drafting import DRAFTS, autoregressive, unclaimed
from audit.samplers.stepping.faults import NoiseReused
from audit.samplers.stepping.interface import halves
from audit.samplers.stepping.loading import load_step, wrap_step
from audit.settings import Settings
from audit.stepping.auditing import run_step
from audit.stepping.concluding import SHARED, WRONG
from audit.stepping.record import StepRecord, to_json
from audit.verdict import Outcome

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"
SMOKE = Settings(tier="smoke")
G2, ARTICLE, RANKS = map(
    case_named, ("prefix-dependent-2", "article-three-tokens", "reversed-ranks")
)  # the very objects, since exact laws are kept by case
SEED = article(1)  # its laws cost the least


def audited(sampler, *cases, settings=SMOKE):
    return run_step(sampler, cases=cases or [SEED], settings=settings)


def replayed(record):
    return StepRecord.model_validate_json(to_json(record))


@pytest.mark.parametrize(
    ("sampler", "case"),
    [
        (proposing("sampled"), G2),
        (proposing("raced"), RANKS),
        (proposing("sampled", verify="block"), G2),
        (f"{EXAMPLES}/step_sampler.py:Engine", RANKS),
    ],
    ids=["multinomial", "independent races", "block", "example"],
)
def test_a_right_step_sampler_passes_and_nothing_is_told(sampler, case):
    record = audited(sampler, case)
    assert (record.verdict.outcome, record.exit_code) == (Outcome.PASS, 0)
    assert record.verdict.level == "step"
    assert record.told == ()
    assert record.alone is None
    (shown,) = record.cases
    assert shown.claim.wrong == shown.claim.fault == ""
    assert shown.claim.drawn == shown.claim.claimed == "the draft model's row"
    assert shown.claim.worst is not None
    assert shown.claim.worst.upper <= 0.05
    assert shown.rejections > 1_000
    assert replayed(record) == record


@pytest.mark.heavy
@pytest.mark.parametrize(("drafts", "case"), [("sampled", SEED), ("raced", RANKS)])
def test_no_seed_accuses_a_right_step_sampler(drafts, case):
    # 20 runs with a chance of 1e-6 each of any accusation, the claim's among them.
    for seed in range(20):
        settings = Settings(tier="smoke", seed=seed)
        record = audited(load_step("reference", drafts=drafts), case, settings=settings)
        assert record.verdict.outcome in (Outcome.PASS, Outcome.INCONCLUSIVE)
        assert record.told == ()


@pytest.mark.parametrize("verify", ["sampler-match", "point-mass"])
def test_a_wrong_claim_that_nothing_rests_on_is_told_and_passes(verify):
    record = audited(proposing("argmax-draft", verify=verify))
    assert (record.verdict.outcome, record.exit_code) == (Outcome.PASS, 0)
    claim, changed = record.told
    assert claim.startswith(f"{WRONG}: drafted is the draft model's most probable token")
    assert "(article: TV 0.5 by position 1, between 0.4" in claim
    assert claim.endswith("what is emitted does not rest on it")
    assert changed.startswith("rule changed: drafts are kept as by point-mass or sampler-match")
    assert record.cases[0].claim.fault == "argmax-draft"
    assert "told: claimed q is not the law" in step_text(record, color=False, width=110)


def test_a_wrong_claim_that_the_rule_reads_is_told_though_it_stays_within_epsilon():
    # Rows at .7 of their temperature are .05 from those claimed (by hand): what the ratio rule
    # emits is nearer to the target than the .05 to certify.
    def propose(models, generator):
        return autoregressive(models, generator, drawn=tempered(0.7))

    record = audited(halves(propose, sampler_of("ratio")), RANKS)
    assert record.verdict.outcome is Outcome.PASS
    (sentence,) = record.told
    assert sentence.startswith(WRONG)
    assert sentence.endswith("what is emitted stays within epsilon on these cases all the same")


@pytest.mark.parametrize(
    "fault", ["argmax-draft", "draft-top-2-only-recorded", "draft-rows-damaged", "draft-map-lost"]
)
def test_a_wrong_claim_behind_the_ratio_rule_is_the_cause_of_a_failure(fault):
    record = audited(load_step(f"fault:{fault}"), G2)
    assert (record.verdict.outcome, record.exit_code) == (Outcome.FAIL, 1)
    assert record.verdict.sentence.startswith(WRONG)
    assert "the emitted law is not the target's law" in record.verdict.sentence
    assert record.diagnoses == ()
    assert record.told == ()
    named = record.cases[0].claim.fault
    assert record.verdict.suspects == ((named,) if named else ())
    assert named in (fault, "")


@pytest.mark.parametrize(
    ("fault", "case"), [("drafting-noise-reused", RANKS), ("drafting-coin-reused", SEED)]
)
def test_shared_random_numbers_are_found_though_claim_and_verifying_half_are_right(fault, case):
    record = audited(load_step(f"fault:{fault}"), case)
    assert (record.verdict.outcome, record.exit_code) == (Outcome.FAIL, 1)
    assert record.verdict.sentence.startswith(SHARED)
    assert fault in record.verdict.suspects
    assert record.cases[0].claim.wrong == ""
    assert record.alone is not None
    assert record.alone.outcome is Outcome.PASS
    assert replayed(record) == record
    text = " ".join(step_text(record, color=False, width=110).split())
    assert "its verifying half, on drafts of another proposal: PASS" in text


def test_the_verify_level_does_not_see_noise_that_draft_and_recovered_token_share():
    cases = [RANKS]
    alone = campaign_of(
        LoadedSampler("half", NoiseReused().verify, load_step("reference").facts), cases
    )
    assert alone.monitors[0].verdict().outcome is Outcome.PASS
    # Negative control: so does a fault of the verifying half itself.
    wrong = campaign_of("fault:full-target-fallback", cases)
    assert wrong.monitors[0].verdict().outcome is Outcome.FAIL


def test_claimed_rows_that_are_no_laws_are_told_so():
    def propose(models, generator):
        drafted, rows = autoregressive(models, generator)
        return drafted, rows * 1.5

    record = audited(halves(propose, sampler_of("ratio")), G2)
    claimed = "claimed the draft model's row, not normalised (prefix-dependent-2: "
    assert f"{claimed}20000 of 20000 claimed rows do not sum to 1" in record.verdict.sentence


def test_rows_with_a_gradient_are_read():
    def propose(models, generator):
        drafted, rows = autoregressive(models, generator)
        return drafted, rows.requires_grad_()

    record = audited(halves(propose, sampler_of("ratio")), settings=Settings(limit=200))
    assert record.verdict.outcome is Outcome.NO_VERDICT
    assert record.cases[0].claim.claimed == "the draft model's row"


def test_rounds_that_break_the_contract_show_nothing_of_drafts():
    def verify(batch, generator):
        return torch.full((len(batch.draft_token_ids), batch.target_probs.shape[1]), -1)

    record = audited(halves(DRAFTS["sampled"], verify))
    assert record.verdict.outcome is Outcome.ERROR
    (case,) = record.cases
    assert (case.rounds, case.claim.drawn, case.claim.claimed) == (0, "nothing", "nothing")


def test_a_wrong_verifying_half_is_not_taken_for_shared_randomness():
    record = audited(load_step("fault:full-target-fallback"))
    assert record.verdict.outcome is Outcome.FAIL
    assert record.verdict.sentence.startswith("1 of 1 case;")
    assert "full-target-fallback" in record.verdict.suspects
    assert record.alone is not None
    assert record.alone.outcome is Outcome.FAIL
    assert record.not_tested == ""


def test_a_half_that_fails_late_is_not_taken_for_shared_randomness():
    # The verifying half alone is wrong, by so little (TV .036) that some runs of this length fail
    # and others do not. Where the second does not, the two must differ at 1e-4 to be told apart.
    wrong, right = sampler_of("full-target-fallback"), sampler_of("ratio")

    def verify(batch, generator):
        both = [rule(batch, generator) for rule in (wrong, right)]
        faulty = torch.rand(len(both[0]), 1, generator=generator) < 0.6
        return torch.where(faulty, *both)

    found = []
    for seed in range(4):
        settings = Settings(samples=5_000, seed=seed)
        found.append(audited(halves(DRAFTS["sampled"], verify), settings=settings))
    assert not any(record.verdict.sentence.startswith(SHARED) for record in found)
    failed = [record for record in found if record.verdict.outcome is Outcome.FAIL]
    undecided = [record for record in failed if "neither fail nor differ" in record.not_tested]
    assert 0 < len(undecided) < len(found)


class Remembers(NoiseReused):
    """Verifies nothing but what it has proposed last."""

    def propose(self, models, generator):
        drafted, claimed = super().propose(models, generator)
        self._drafted = drafted
        return drafted, claimed

    def verify(self, batch, generator):
        if not torch.equal(batch.draft_token_ids, self._drafted):
            raise RuntimeError("these drafts were not proposed last")
        return super().verify(batch, generator)


class Stale(NoiseReused):
    """Claims the right rows and verifies with those of the round before."""

    def __init__(self):
        self._rows = []

    def propose(self, models, generator):
        drafted, claimed = autoregressive(models, generator)
        self._rows = [*self._rows[-1:], claimed]
        return drafted, claimed

    def verify(self, batch, generator):
        old = self._rows[0]
        known = old if old.shape == batch.draft_probs.shape else batch.draft_probs
        return sampler_of("ratio")(batch._replace(draft_probs=known), generator)


def test_rows_kept_for_one_round_too_long_are_not_taken_for_shared_randomness():
    record = audited(Stale(), G2)
    assert record.verdict.outcome is Outcome.FAIL
    assert record.cases[0].claim.wrong == ""
    assert record.alone is not None
    assert record.alone.outcome is Outcome.FAIL
    assert not record.verdict.sentence.startswith(SHARED)


def whole(models, generator):
    """The same as one function."""
    return wrap_step(NoiseReused()).step(models, generator)


class Stopped(NoiseReused):
    """Is interrupted at the first proposal that is followed by another one."""

    def __init__(self):
        super().__init__()
        self._open = False

    def propose(self, models, generator):
        if self._open:
            raise KeyboardInterrupt
        self._open = True
        return super().propose(models, generator)

    def verify(self, batch, generator):
        self._open = False
        return super().verify(batch, generator)


@pytest.mark.parametrize(
    ("sampler", "why"),
    [
        (
            Remembers(),
            "its verifying half cannot be called on drafts of another proposal (Remembers raised "
            "RuntimeError: these drafts were not proposed last)",
        ),
        (whole, "whole is one function; give an object with propose and verify"),
        (Stopped(), "the run was interrupted"),
        (load_step("fault:argmax-draft"), "the claim is wrong"),
    ],
    ids=["state", "function", "interrupted", "claim"],
)
def test_what_a_failure_leaves_open_is_said_in_every_form(sampler, why):
    record = audited(sampler, RANKS)
    assert record.verdict.outcome is Outcome.FAIL
    assert record.exit_code == (130 if "interrupted" in why else 1)
    assert record.alone is None
    assert not record.verdict.sentence.startswith(SHARED)
    half = ", and whether the verifying half is right" if "claim" in why else ""
    said = f"whether draft, coin and recovered token share random numbers{half}: {why}"
    assert json.loads(to_json(record))["not_tested"] == said
    assert f"not tested: {said}" in " ".join(step_text(record, color=False, width=110).split())
    assert f"<p>Not tested: {said}</p>" in step_page(record)


@pytest.mark.parametrize("form", ["text", "page"])
def test_an_interrupted_run_shows_what_was_measured(form, tmp_path, capsys):
    file, page, kept = (tmp_path / name for name in ("stopped.py", "page.html", "step.json"))
    file.write_text(INTERRUPTED_ENGINE)
    command = ["step", f"{file}:engine", "--in-process", "--cases", ARTICLE.id]
    assert execute([*command, "--html", str(page), "--json", str(kept)]) == 130
    (case,) = StepRecord.model_validate_json(kept.read_text()).cases
    shown = {"text": capsys.readouterr().out, "page": page.read_text(encoding="utf-8")}[form]
    assert "Interrupted: judged by the rounds that were made." in shown
    assert "INCONCLUSIVE" in shown
    assert case.rounds > 0
    assert f"{case.rounds:,}" in shown


INTERRUPTED_ENGINE = """
from audit.samplers.stepping.drafting import DRAFTS
from audit.samplers.rules import sampler_of
from audit.samplers.stepping.interface import halves

right, rows = halves(DRAFTS["sampled"], sampler_of("ratio")), 0

def engine(models, generator):
    global rows
    rows += models.batch_size
    if rows > 12_000:
        raise KeyboardInterrupt
    return right(models, generator)
"""
RAISING = """
def engine(models, generator):
    raise RuntimeError("out of luck")
"""


def test_a_traceback_is_printed_where_it_is_asked_for(tmp_path, capsys):
    file, page = tmp_path / "raising.py", tmp_path / "page.html"
    file.write_text(RAISING)
    command = ["step", f"{file}:engine", "--cases", ARTICLE.id, "--tier", "smoke"]
    assert execute([*command, "--html", str(page)]) == 4
    text = capsys.readouterr().out
    assert "raised RuntimeError: out of luck" in " ".join(text.split())
    assert "Traceback" not in text
    assert "Traceback" in page.read_text(encoding="utf-8")
    assert "<td>nothing<td>nothing<" in page.read_text(encoding="utf-8")
    assert execute([*command, "--verbose"]) == 4
    text = capsys.readouterr().out
    assert "Traceback (most recent call last)" in text
    assert 'raise RuntimeError("out of luck")' in text


def test_what_a_pass_leaves_open_stands_in_text_and_page():
    record = audited("reference")
    assert record.verdict.outcome is Outcome.PASS
    faults = f"Catalogued faults that this run does not exclude: {sorted(record.not_excluded)[0]}, "
    for note in (faults, "Not tested: state, performance."):
        assert note in " ".join(step_text(record, color=False, width=110).split())
        assert note in step_page(record)


def test_an_open_claim_is_explained_in_text_and_page():
    limited = audited("reference", settings=Settings(limit=200))
    said = "? open: nothing refutes the claim, and the bound on its TV is above epsilon"
    for shown in (step_text(limited, color=False, width=200), step_page(limited)):
        assert said in shown
    assert limited.cases[0].claim.bound > limited.settings.epsilon
    # Negative control: a claim that holds needs no words.
    held = audited("reference")
    assert held.cases[0].claim.bound <= held.settings.epsilon
    assert "? open" not in step_text(held, color=False, width=200) + step_page(held)


def test_what_claims_nothing_is_told():
    def propose(models, generator):
        return unclaimed(models, generator, by=DRAFTS["argmax-draft"])

    record = audited(halves(propose, sampler_of("sampler-match")))
    assert record.verdict.outcome is Outcome.PASS
    (sentence,) = record.told
    rounds = record.cases[0].rounds
    assert sentence.startswith(f"no q is claimed in {rounds:,} of {rounds:,} rounds")
    assert record.cases[0].claim.claimed == "nothing"


def test_the_right_rule_changed_is_told_only_where_ratio_is_expected():
    # That it is told where nothing is declared stands in the test of a wrong claim.
    def declared(models, generator):
        return proposing("sampled", verify="point-mass")(models, generator)

    declared.draftproof = {"declares": ["point-mass"]}
    assert audited(declared).told == ()


def test_a_sampler_that_never_rejects_is_told():
    def from_target(models, generator):
        drafted = models.no_tokens()
        rows = []
        for _ in range(models.num_speculative_tokens):
            rows.append(models.target(drafted)[:, -1])
            drafted = torch.cat([drafted, torch.multinomial(rows[-1], 1, generator=generator)], 1)
        return drafted, torch.stack(rows, 1)

    record = audited(halves(from_target, sampler_of("ratio")))
    assert record.verdict.outcome is Outcome.PASS
    assert record.cases[0].claim.drawn == "the target's row"
    (sentence,) = record.told
    assert sentence.startswith("0 of ")


def test_rows_that_are_mixed_up_between_the_halves_fail_as_a_wrong_claim():
    # Batches of one case hide it: only mixed calls show, an eighth of the rounds.
    record = audited(proposing("draft-rows-reordered"), G2, ARTICLE)
    assert record.verdict.outcome is Outcome.FAIL
    assert record.verdict.sentence.startswith(WRONG)


def test_noise_that_rows_share_refutes_no_claim():
    def propose(models, generator):
        drafted, rows = models.no_tokens(), []
        for _ in range(models.num_speculative_tokens):
            rows.append(models.draft(drafted).double())
            noise = torch.empty_like(rows[-1][:1]).exponential_(generator=generator)
            drafted = torch.cat([drafted, (rows[-1] / noise).argmax(1, keepdim=True)], 1)
        return drafted, torch.stack(rows, 1)

    record = audited(halves(propose, sampler_of("ratio")), G2)
    assert record.verdict.outcome is Outcome.DEPENDENT
    (case,) = record.cases
    assert case.claim.gate.log_e_max > case.claim.gate.log_threshold  # which would refute it
    assert (case.claim.wrong, case.claim.bound, record.told) == ("", None, ())
    assert "its TV is not bounded: rows are not independent" in step_page(record)


def test_a_frozen_generator_is_dependent():
    def frozen(models, generator):
        return proposing("sampled")(models, torch.Generator().manual_seed(1))

    record = audited(frozen)
    assert (record.verdict.outcome, record.exit_code) == (Outcome.DEPENDENT, 1)


def test_a_limited_run_has_no_verdict_and_fixed_samples_have():
    assert audited("reference", settings=Settings(limit=200)).verdict.outcome is Outcome.NO_VERDICT
    fixed = audited("reference", settings=Settings(tier="smoke", samples=20_000))
    assert fixed.verdict.outcome is Outcome.PASS
    assert fixed.cases[0].rounds == 20_000


def test_the_command_prints_and_writes_the_result(tmp_path, capsys):
    file, page = tmp_path / "step.json", tmp_path / "step.html"
    command = ["step", "fault:argmax-draft", "--cases", ARTICLE.id, "--tier", "smoke"]
    assert execute([*command, "--json", str(file), "--html", str(page)]) == 1
    text = capsys.readouterr().out
    record = StepRecord.model_validate(json.loads(file.read_text()))
    assert text == step_text(record, color=False, width=110)
    assert "✗ wrong" in text
    assert "told:" not in text
    shown = page.read_text(encoding="utf-8")
    assert shown == step_page(record)
    assert "<td>the draft model&#39;s most probable token<td>the draft model&#39;s row<td" in shown
    assert "http" not in shown.replace("http-equiv", "")
    assert execute([*command, "-q", "--exit-zero"]) == 0
    assert capsys.readouterr().out.strip() == first_line(record)


def test_a_wrong_name_is_a_usage_error(capsys):
    assert execute(["step", "reference", "--drafts", "nonsense"]) == 2
    assert "no drafts are named 'nonsense'" in capsys.readouterr().err
