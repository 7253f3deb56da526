"""State audits: every state fault found and named, a correct loop never accused.

Each audit of a correct loop accuses it with a chance of at most alpha = 1e-6 and fails to certify
it with a chance of about 0.1 a look at the expected size; the sizes here are well above. The faults
are the negative controls.
"""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
import torch
from decoding import context_free, decoder_for, g2, without_a_cache, world_of

from audit.cli import execute
from audit.errors import UsageError
from audit.exact.state_faults import STATE_FAULTS
from audit.render.state import first_line, state_text
from audit.samplers.decoders.loading import wrap_decoder
from audit.samplers.decoders.loop import decode
from audit.selection import select_cases
from audit.state import checks
from audit.state.auditing import audit_state
from audit.state.judging import enough
from audit.state.law import LawWatch, StateBudget, sequences_needed
from audit.state.naming import suspects
from audit.state.one_world import audit_world, follow_law
from audit.state.record import StateOutcome, StateRecord, to_json
from audit.state.running import calls
from audit.state.settings import StateSettings, prompt_of
from audit.state.vocabulary import compare_files
from audit.state.worlds import tiny_world

CASES = select_cases(["basis-1", "basis-2"])
BASIS = CASES[:1]
QUICK = StateSettings(watched=20)
FAULTS = [fault.id for fault in STATE_FAULTS.values() if fault.id != "correct"]


@pytest.mark.parametrize("fault", FAULTS)
def test_every_state_fault_is_found_and_named(fault: str) -> None:
    lossless = STATE_FAULTS[fault].lossless
    settings = replace(QUICK, watched=20 if lossless else 2)
    record = audit_state(f"fault:{fault}", CASES, settings=settings)
    if lossless:
        assert record.outcome is StateOutcome.CONSISTENT
        assert record.exit_code == 0
        assert record.suspects is None
        assert "lossless, but fewer drafts are accepted" in record.sentence
        ending = "full acceptance" if fault == "draft-misses-bonus" else "rejection"
        assert any(f"after a {ending}" in note for w in record.worlds for note in w.notes)
    else:
        assert record.outcome is StateOutcome.BROKEN
        assert record.exit_code == 1
        assert record.suspects is not None
        assert record.suspects.names == (fault,)
        assert fault in record.sentence


def test_sequences_that_the_target_excludes_are_no_outputs_seen() -> None:
    decoder = decoder_for("target-not-rolled-back")
    world = world_of(CASES[0], decoder)
    reading = follow_law(decoder, world, StateBudget(), QUICK).reading()
    assert reading.impossible.events > 0
    assert reading.distinct <= reading.possible


def test_a_correct_loop_is_consistent_and_excludes_every_fault() -> None:
    record = audit_state("reference", CASES, settings=replace(QUICK, watched=25))
    assert (record.outcome, record.exit_code) == (StateOutcome.CONSISTENT, 0)
    assert record.not_excluded == ()
    assert record.suspects is None
    for world in record.worlds:
        assert world.reasons == world.notes == ()
        assert world.law.certified is not None
        assert world.law.certified <= 0.1
        assert world.steps.largest == (0.0, 0.0)
        assert world.greedy is not None
        assert world.greedy.different == 0
        assert world.repeatable
    assert StateRecord.model_validate_json(to_json(record)) == record


@pytest.mark.parametrize("seed", range(20))
def test_no_seed_accuses_a_correct_loop(seed: int) -> None:
    world, decoder, budget = world_of(), decoder_for("correct"), StateBudget()
    watch = follow_law(decoder, world, budget, StateSettings(seed=seed, sequences=1_000))
    assert watch.failures() == ()
    assert watch.dependent() == ""
    stops = checks.stops(decoder, world, 300, seed=seed)
    assert stops.beyond == 0
    assert stops.log_e < budget.log_threshold(StateBudget.STOPS)


def test_a_run_that_is_too_short_decides_nothing() -> None:
    record = audit_state("reference", BASIS, settings=replace(QUICK, sequences=200, watched=2))
    assert (record.outcome, record.exit_code) == (StateOutcome.UNDECIDED, 3)
    assert "about 2,000 sequences are needed" in record.sentence


def test_a_frozen_generator_is_dependent() -> None:
    def frozen(*models, generator, **more):
        return decode(*models, generator=torch.Generator().manual_seed(1), **more)

    frozen.draftproof = {"max_batch": None}  # type: ignore[attr-defined]
    record = audit_state(frozen, BASIS, settings=QUICK)
    assert (record.outcome, record.exit_code) == (StateOutcome.DEPENDENT, 1)


def test_rows_that_share_their_randomness_are_dependent() -> None:
    def shared(target, draft, prompt_ids, **more):
        half = decode(target, draft, prompt_ids[::2], **more)
        return half.repeat_interleave(2, 0)[: len(prompt_ids)]

    shared.draftproof = {"max_batch": None}  # type: ignore[attr-defined]
    record = audit_state(shared, BASIS, settings=QUICK)
    assert record.outcome is StateOutcome.DEPENDENT


def test_text_behind_a_stop_token_is_broken() -> None:
    def deaf(*models, stop_token_id=None, **more):
        return decode(*models, **more)

    record = audit_state(deaf, BASIS, settings=replace(QUICK, sequences=50))
    assert record.outcome is StateOutcome.BROKEN
    assert "go on behind their stop token" in record.sentence


def test_a_stop_token_that_is_forgotten_by_chance_changes_the_law() -> None:
    def biased(*models, stop_token_id=None, **more):
        text = decode(*models, stop_token_id=stop_token_id, **more)
        whole = text[(text >= 0).all(1)]  # stand in for the texts that met the stop token
        return text if len(whole) == 0 else whole.repeat(len(text), 1)[: len(text)]

    biased.draftproof = {"max_batch": None}  # type: ignore[attr-defined]
    record = audit_state(biased, BASIS, settings=replace(QUICK, sequences=800))
    assert any("with a stop token the law" in r for w in record.worlds for r in w.reasons)


def test_a_greedy_loop_that_is_not_greedy_is_broken() -> None:
    def drawing(*models, greedy=False, **more):
        return decode(*models, **more)

    record = audit_state(drawing, ["prefix-dependent-2"], settings=replace(QUICK, sequences=50))
    assert record.outcome is StateOutcome.BROKEN
    assert "no tie" in record.sentence


def test_context_free_cases_show_no_state_and_one_hot_ones_nothing() -> None:
    few = replace(QUICK, sequences=200, watched=2)
    record = audit_state("reference", ["article-three-tokens"], settings=few)
    assert "target-not-rolled-back" in record.not_excluded
    assert "reseeded-each-round" not in record.not_excluded
    one_hot = context_free(2, "0 1 0", "1/2 3/10 1/5")
    record = audit_state("reference", [one_hot], settings=few)
    assert (record.outcome, record.exit_code) == (StateOutcome.NOT_TESTABLE, 3)


def test_too_few_events_are_no_pass() -> None:
    assert enough(20, 20, 10, possible=81) == ""
    assert enough(20, 20, 8, possible=8) == ""
    assert enough(20, 20, 7, possible=8) == "too few events for a pass: 7 distinct outputs of 8"
    assert enough(3, 20, 10, possible=81) == "too few events for a pass: 3 rejections of 20"
    record = audit_state("reference", BASIS, settings=replace(QUICK, watched=2))
    assert record.outcome is StateOutcome.UNDECIDED
    assert "too few events for a pass" in record.sentence


def test_a_loop_of_functions_is_audited() -> None:
    decoder, budget = wrap_decoder(without_a_cache), StateBudget()
    world = world_of(g2(1), decoder)
    settings = StateSettings(sequences=200, watched=10)
    result, _ = audit_world(decoder, world, budget, settings)
    assert result.outcome is StateOutcome.UNDECIDED
    assert result.steps.departing == (0, 0)
    assert result.greedy is result.stops is None


def test_an_unlisted_fault_is_given_no_name() -> None:
    world, budget = world_of(), StateBudget()
    watch = LawWatch(world, budget)

    def odd(*models, **more):  # the last token is replaced by the first
        text = decode(*models, **more)
        return torch.cat([text[:, :-1], text[:, :1]], 1)

    decoder = replace(decoder_for("correct"), call=odd)
    watch.update([*calls(decoder, world, 500, seed=1, purpose="test")])
    named = suspects([(world, watch.counts)])
    assert watch.failures()
    assert named is not None
    assert named.names == ()
    assert named.unlisted > 0.5
    assert suspects([(replace(world, faults={}), watch.counts)]) is None


def test_what_a_certificate_takes_is_told_beforehand() -> None:
    assert sequences_needed(world_of(), StateBudget()) in (1_000, 2_000)
    assert sequences_needed(world_of(), StateBudget(epsilon=1e-6)) is None


def test_settings_that_do_not_fit_are_refused() -> None:
    assert prompt_of("0, 2") == (0, 2)
    for text in ("", "a", "1,-1"):
        with pytest.raises(UsageError, match="list of token ids"):
            prompt_of(text)
    with pytest.raises(UsageError, match="more than the limit of 4096"):
        audit_state("reference", BASIS, settings=replace(QUICK, tokens=9))
    with pytest.raises(UsageError, match="token ids 0 to 2, but the prompt holds 99"):
        audit_state("reference", BASIS, settings=replace(QUICK, prompt=(1, 99)))
    with pytest.raises(UsageError, match="token ids 0 to 7, but the prompt holds 99"):
        tiny_world("llama", prompt=(1, 99))
    with pytest.raises(UsageError, match="drafts a tree"):
        audit_state("reference", ["tree-basis"], settings=QUICK)
    short = replace(BASIS[0], target=replace(BASIS[0].target, extend="none"))
    with pytest.raises(UsageError, match='case "basis-1" over several rounds: no row for prefix'):
        audit_state("reference", [short], settings=QUICK)
    with pytest.raises(UsageError, match="no world is selected"):
        audit_state("reference", [], settings=QUICK)
    with pytest.raises(UsageError, match="--architecture is for"):
        audit_state("reference", CASES, settings=replace(QUICK, architectures=("gpt2",)))


def test_the_command(capsys: pytest.CaptureFixture[str], tmp_path) -> None:
    command = ["--cases", "basis-1", "--watched"]
    assert execute(["state", "reference", *command, "25", "-q"]) == 0
    assert capsys.readouterr().out.startswith("✓ CONSISTENT  reference: ")
    place = f"{tmp_path}/record.json"
    assert execute(["state", "fault:nothing-rolled-back", *command, "5", "--json", place]) == 1
    out = capsys.readouterr().out
    assert "✗ BROKEN  fault:nothing-rolled-back: basis-1: " in out
    assert "consistent with nothing-rolled-back" in out
    assert "no verdict on" in out
    record = json.loads((tmp_path / "record.json").read_text())
    assert (record["evidence"], record["outcome"]) == ("state", "BROKEN")
    assert execute(["state", "nonsense"]) == 2


def test_a_permuted_vocabulary_is_broken(capsys, tmp_path) -> None:
    target, draft = tmp_path / "target.json", tmp_path / "draft.json"
    target.write_text('["a", "b", "c"]')
    draft.write_text('["a", "c", "b"]')
    found = compare_files((target, draft), None)
    record = audit_state("reference", BASIS, settings=QUICK, vocabulary=found)
    assert record.outcome is StateOutcome.BROKEN
    assert "do not mean the same tokens by 2 ids" in record.sentence
    assert "'c' is target 1 'b'" in state_text(record, color=False, width=100)
    (tmp_path / "map.json").write_text("[0, 2, 1]")
    mapped = compare_files((target, draft), tmp_path / "map.json")
    record = audit_state("reference", BASIS, settings=replace(QUICK, watched=25), vocabulary=mapped)
    assert record.outcome is StateOutcome.CONSISTENT
    assert first_line(record).startswith("✓ CONSISTENT  reference: TV of 4 tokens")


def test_a_greedy_difference_between_equal_tokens_is_a_tie() -> None:
    tied = context_free(2, "2/5 2/5 1/5", "1/2 3/10 1/5")

    def highest(target, draft, prompt_ids, *, greedy=False, max_new_tokens, **more):
        if not greedy:
            return decode(target, draft, prompt_ids, max_new_tokens=max_new_tokens, **more)
        return torch.ones(len(prompt_ids), max_new_tokens, dtype=torch.int64)

    highest.draftproof = {"max_batch": None}  # type: ignore[attr-defined]
    record = audit_state(highest, [tied], settings=replace(QUICK, sequences=100, watched=2))
    (world,) = record.worlds
    assert world.greedy is not None
    assert (world.greedy.first, world.greedy.structural) == (1, False)
    assert "at token 1, where two tie" in "".join(world.notes)
    assert record.outcome is not StateOutcome.BROKEN
