"""Rules per position, log-probabilities and limits: each mistake is found and named, a right loop
never.

False alarm of each audit: at most alpha = 1e-6 by design of the e-value; the broken loops are the
negative controls. Log-probabilities are compared without chance.
"""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from broken_decoders import REPORTING, Misruled, overshooting
from decoding import decoder_for, g2, world_of

from audit.cli import execute
from audit.errors import SamplerError, UsageError
from audit.render.state import state_text
from audit.samplers.decoders.loading import wrap_decoder
from audit.samplers.decoders.loop import decode
from audit.samplers.decoders.rules import HISTORY, RULES, Rules
from audit.state.auditing import audit_state
from audit.state.law import StateBudget
from audit.state.one_world import follow_law
from audit.state.positions import MISTAKES, positions
from audit.state.record import StateOutcome
from audit.state.reported import BEFORE_RULES, reported
from audit.state.running import call
from audit.state.settings import StateSettings
from audit.state.world import with_rules
from audit.statistics.chi_square import cressie_read

THRESHOLD = StateBudget().log_threshold(StateBudget.RULES)
FAST = StateSettings(sequences=50, watched=40)


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_rule_that_is_applied_wrongly_is_found_and_named(mistake: str) -> None:
    decoder = wrap_decoder(Misruled(mistake=mistake))
    read = positions(decoder, world_of(g2(2)), 40, seed=1)
    assert [one.rule for one in read] == [*HISTORY]
    for one in read:
        assert one.log_e > THRESHOLD, one
        assert (one.leader, one.meaning) == (mistake, MISTAKES[mistake][0])


@pytest.mark.parametrize("seed", range(5))
def test_a_loop_that_applies_them_right_is_not_accused(seed: int) -> None:
    for one in positions(decoder_for("correct"), world_of(g2(2)), 25, seed=seed):
        assert one.log_e < THRESHOLD / 2
        assert one.later > 20


def test_the_audit_says_which_rule_is_applied_how() -> None:
    record = audit_state(Misruled(mistake="round-start"), ["block-basis"], settings=FAST)
    assert record.outcome is StateOutcome.BROKEN
    assert "repetition_penalty 10.0: all tokens of a round see the text that it started from" in (
        record.sentence
    )


def test_under_rules_the_law_is_that_of_the_rules() -> None:
    # False alarm: 1e-8 each (asymptotic Cressie-Read at a tenth of it).
    rules = Rules(repetition_penalty=1.5, temperature=0.8, top_p=0.95)
    world = with_rules(world_of(g2(2)), rules)
    assert world is not None
    assert world.law.sum() == pytest.approx(1)
    n, fits = 4_000, {}
    for name, loop in (("right", Misruled()), ("ignored", Misruled(mistake="ignored"))):
        tokens = call(wrap_decoder(loop), world, rows=n, generator=torch.Generator().manual_seed(1))
        counts = torch.bincount(torch.tensor(world.codes(tokens)), minlength=len(world.law))
        fits[name] = cressie_read(counts.numpy(), world.law, n=n).p_value
    assert fits["right"] > 1e-8 > fits["ignored"]


def test_a_declared_rule_that_is_ignored_is_broken() -> None:
    def deaf(*models, rules=None, **more):
        return decode(*models, **more)

    deaf.draftproof = {"max_batch": None, "rules": ["top_k"]}  # type: ignore[attr-defined]
    settings = StateSettings(sequences=200, watched=2, options={"top_k": 1})
    record = audit_state(deaf, ["block-basis"], settings=settings)
    assert record.outcome is StateOutcome.BROKEN
    assert "impossible" in record.sentence
    assert any("in the sampling rules" in note for note in record.worlds[0].notes)


def test_rules_that_a_decoder_does_not_declare_are_refused() -> None:
    settings = replace(FAST, options={"top_p": 0.5})
    with pytest.raises(UsageError, match="does not say that it applies top_p"):
        audit_state(overshooting, ["block-basis"], settings=settings)


def test_rules_that_leave_no_token_are_refused() -> None:
    settings = replace(FAST, options={"grammar": "no-repeat"})
    with pytest.raises(UsageError, match="leave a text of one-hot-target"):
        audit_state("reference", ["one-hot-target"], settings=settings)


@pytest.mark.parametrize("said", REPORTING)
def test_wrong_log_probabilities_are_found_and_named(said: str) -> None:
    record = audit_state(REPORTING[said], ["prefix-dependent-2"], settings=FAST)
    assert record.outcome is StateOutcome.BROKEN
    assert said in record.sentence


def test_right_log_probabilities_are_right_under_rules_too() -> None:
    world = with_rules(world_of(g2(2)), Rules(temperature=0.5, repetition_penalty=2.0))
    assert world is not None
    told = reported(decoder_for("correct"), world, seed=3)
    assert (told.missing, told.beyond, told.wrong, told.like) == (0, 0, 0, "")
    assert told.tokens > 30
    assert told.largest < 1e-5


def test_those_before_the_rules_are_a_convention() -> None:
    def raw(target, draft, prompt_ids, *, rules=None, logprobs=None, **more):
        tokens = decode(target, draft, prompt_ids, rules=rules, **more)
        if logprobs is not None:
            text = torch.cat([prompt_ids, tokens], 1)
            rows = target(text).logits.double().log_softmax(2)[:, prompt_ids.shape[1] - 1 : -1]
            logprobs.copy_(rows.gather(2, tokens.unsqueeze(2)).squeeze(2))
        return tokens

    raw.draftproof = {"max_batch": None, "rules": RULES}  # type: ignore[attr-defined]
    world = with_rules(world_of(g2(2)), Rules(temperature=0.5))
    assert world is not None
    told = reported(wrap_decoder(raw), world, seed=3)
    assert told.wrong
    assert not told.broken
    assert told.like == BEFORE_RULES


def test_more_tokens_than_were_asked_for_break_the_contract() -> None:
    with pytest.raises(SamplerError, match="emitted 3 tokens where at most 1 were asked for"):
        audit_state(overshooting, ["basis-1"], settings=FAST)


def test_worlds_without_laws_of_faults_are_judged_by_their_memory() -> None:
    world = with_rules(world_of(g2(1)), Rules(temperature=0.9))
    assert world is not None
    assert world.memory() > 0.1
    law = follow_law(decoder_for("correct"), world, StateBudget(), StateSettings(sequences=500))
    assert law.failures() == ()


def test_the_command_takes_options(capsys: pytest.CaptureFixture[str]) -> None:
    few = ["--cases", "block-basis", "--sequences", "40", "--watched", "3"]
    assert execute(["state", "reference", *few, "--option", "top_k=2"]) == 3
    out = capsys.readouterr().out
    assert "top_k=2" in out
    assert "reported log-probabilities read" in out
    settings = StateSettings(sequences=1_000, watched=25, epsilon=0.2, options={"temperature": 0.9})
    record = audit_state("reference", ["basis-1"], settings=settings)
    assert record.outcome is StateOutcome.CONSISTENT, record.sentence
    assert "are not known in these worlds" in state_text(record, color=False, width=200)
    assert execute(["state", "reference", *few, "--option", "top_q=2"]) == 2
    assert "did you mean top" in capsys.readouterr().err
