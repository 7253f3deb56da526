"""Traces from end to end: who is accused, how soon, on what rows, and what the command prints."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from audit.cli import execute
from audit.errors import UsageError
from audit.render.trace import trace_line, trace_text
from audit.samplers.interface import StepBatch
from audit.samplers.rules import sampler_of
from audit.simulation.recorded import recorded, softmax
from audit.trace import chunks, run_trace
from audit.tracefile.rounds import Round
from audit.tracefile.rows import Row
from audit.tracerecord import TraceRecord, TraceSettings, to_json
from audit.traces.judge import trace_verdict
from audit.traces.readings import evidence_of
from audit.traces.rules import RULES
from audit.traces.watch import RULE_SHARE, TraceWatch
from audit.verdict import Budget, Outcome, Verdict
from tests.test_architecture import HEAVY, loaded_by

BUDGET = Budget(alpha=1e-6, delta=1e-3, epsilon=0.05, cases=1)


def followed(
    rounds: Iterable[Round], *, declared: tuple[str, ...] = (), budget: Budget = BUDGET
) -> TraceWatch:
    """Returns a watch that has followed the rounds."""
    watch = TraceWatch(budget, declared=declared, tolerance=None, seed=0)
    for part in chunks(rounds):
        watch.update(part)
    return watch


def verdict_on(rounds: Iterable[Round], **options: Any) -> Verdict:
    watch = followed(rounds, **options)
    return trace_verdict(watch, evidence_of(watch))


def fields_of(one: Round, **changes: object) -> dict[str, object]:
    """Returns the record of a round."""
    return {
        "draft_token_ids": one.draft.tolist(),
        "emitted_token_ids": one.emitted.tolist(),
        "target_probs": [row.probs.tolist() for row in one.target],
        "draft_probs": [row.probs.tolist() for row in one.drafting],
    } | changes


def written(path: Path, rounds: Iterable[Round], **changes: object) -> str:
    """Returns the path of a file of JSON lines."""
    text = "".join(json.dumps(fields_of(one, **changes)) + "\n" for one in rounds)
    path.write_text(text)
    return str(path)


def source(rule: str, rounds: int, *, vocab_size: int = 50, seed: int = 1) -> Iterator[Round]:
    return islice(recorded(rule, vocab_size=vocab_size, seed=seed), rounds)


# Who is accused. A correct engine is, of anything, with a chance of 1e-6 a trace (alpha).


@pytest.mark.parametrize(("vocab_size", "rounds"), [(50, 1500), (1000, 300)])
@pytest.mark.parametrize("rule", RULES)
def test_no_lossless_rule_is_accused(rule: str, vocab_size: int, rounds: int) -> None:
    watch = followed(source(rule, rounds, vocab_size=vocab_size), declared=(rule,))
    verdict = trace_verdict(watch, evidence_of(watch))
    assert verdict.outcome is Outcome.INCONCLUSIVE
    assert not watch.tally.unjudged


@pytest.mark.parametrize("rule", ["ratio", "full-target-fallback"])
def test_rounds_left_out_for_what_they_emitted_accuse_and_acquit_nobody(
    tmp_path: Path, rule: str
) -> None:
    path = tmp_path / "rounds.jsonl"
    rows = [fields_of(one) for one in source(rule, 2000, vocab_size=16)]
    short = [row | {"target_probs": row["target_probs"][:2]} for row in rows]  # type: ignore[index]
    path.write_text("".join(json.dumps(row) + "\n" for row in short))
    record = run_trace([str(path)], settings=TraceSettings(declares=("ratio",)))
    assert record.verdict.outcome is Outcome.INCONCLUSIVE
    assert "a selection by what was emitted" in record.verdict.sentence
    assert record.exit_code == 3


def test_what_cannot_be_emitted_fails_a_selection_too(tmp_path: Path) -> None:
    path = tmp_path / "rounds.jsonl"
    wrong = {"draft_token_ids": [], "emitted_token_ids": [1], "target_probs": [[1.0, 0.0]]}
    short = {"draft_token_ids": [0], "emitted_token_ids": [0, 0], "target_probs": [[1.0, 0.0]]}
    path.write_text("".join(json.dumps(row) + "\n" for row in (wrong, wrong, short)))
    record = run_trace([str(path)])
    assert record.verdict.outcome is Outcome.FAIL
    assert record.verdict.sentence == "2 of 2 tokens have a recorded target probability of 0"


# Twice the 90 % quantiles that benchmarks/trace_detection.py prints, or somewhat more.
FOUND = [
    ("full-target-fallback", 50, (), 512),
    ("full-target-fallback", 1000, (), 448),
    ("full-target-fallback", 50, ("ratio",), 64),
    ("target-without-rejected", 50, (), 576),
    ("target-without-rejected", 50, ("ratio",), 128),
    ("always-accept", 50, (), 64),
    ("target-temperature-wrong", 50, (), 128),
    ("target-temperature-wrong@5/4", 50, (), 960),
    ("target-temperature-wrong@4/5", 50, ("ratio",), 384),
    ("bonus-from-draft", 50, (), 192),
    ("bonus-one-row-early", 50, (), 256),
    ("lenience", 1000, (), 256),
    ("shared-coin", 50, (), 3200),
]


@pytest.mark.parametrize(("fault", "vocab_size", "declared", "rounds"), FOUND)
def test_faults_are_found_within_the_stated_rounds(
    fault: str, vocab_size: int, declared: tuple[str, ...], rounds: int
) -> None:
    verdict = verdict_on(source(fault, rounds, vocab_size=vocab_size), declared=declared)
    assert verdict.outcome is Outcome.FAIL
    if not declared:
        assert "do not follow the recorded target rows" in verdict.sentence


@pytest.mark.parametrize("fault", ["full-target-fallback", "always-accept", "bonus-from-draft"])
def test_a_fault_at_full_strength_is_named(fault: str) -> None:
    assert fault in verdict_on(source(fault, 600)).suspects


@pytest.mark.parametrize("fault", ["bonus-from-draft", "bonus-one-row-early"])
def test_rows_that_are_alike_are_told_apart(fault: str) -> None:
    assert verdict_on(source(fault, 600)).suspects == (fault,)


def test_what_acts_now_and_then_is_proven_and_named_as_no_fault() -> None:
    wrong, right = source("always-accept", 1000), source("ratio", 1000)
    mixed = (next(wrong if i % 4 == 0 else right) for i in range(1000))
    verdict = verdict_on(mixed)
    assert verdict.outcome is Outcome.FAIL
    assert verdict.suspects == ()


def test_a_fault_of_the_bonus_shows_at_its_place() -> None:
    places = evidence_of(followed(source("bonus-from-draft", 600))).places
    assert [place.place for place in places if place.p_value < 1e-9] == ["bonus"]


def test_tokens_behind_a_rejection_cannot_be_judged_unless_a_rule_is_declared() -> None:
    rounds = list(source("continues-after-rejection", 300))
    open_ = verdict_on(rounds)
    assert open_.outcome is Outcome.INCONCLUSIVE
    assert any("behind one that was not drafted" in reason for reason in open_.reasons)
    assert verdict_on(rounds, declared=("ratio",)).outcome is Outcome.FAIL


def test_a_lossless_rule_that_was_not_declared_fails_by_the_declaration_alone() -> None:
    verdict = verdict_on(source("sampler-match", 300), declared=("ratio",))
    assert verdict.outcome is Outcome.FAIL
    assert len(verdict.reasons) == 1
    assert "does not follow the declared rule ratio" in verdict.sentence
    assert verdict.sentence.endswith("preservation: undecided")


# Rows of other kinds.


def changed(rounds: Iterable[Round], change: Callable[[Row], Row], **more: bool) -> list[Round]:
    return [
        Round(
            one.draft,
            one.emitted,
            tuple(map(change, one.target)),
            tuple(map(change, one.drafting)),
            **more,
        )
        for one in rounds
    ]


def likeliest(row: Row) -> Row:
    """Returns the row that lists the 12 likeliest tokens."""
    ids = np.argsort(-row.probs)[:12]
    listed = row.probs[ids]
    return Row(np.append(listed, 1 - listed.sum()), 0.0, ids)


def test_listed_rows_accuse_nobody_and_find_the_fallback() -> None:
    right = changed(source("ratio", 800), likeliest)
    for declared in ((), ("ratio",), ("block",)):
        verdict = verdict_on(right, declared=declared)
        assert verdict.outcome is Outcome.INCONCLUSIVE
    wrong = changed(source("full-target-fallback", 1000), likeliest)
    found = verdict_on(wrong)
    assert found.outcome is Outcome.FAIL
    assert found.suspects == ()  # a bounded law names nobody
    assert verdict_on(wrong[:200], declared=("ratio",)).outcome is Outcome.FAIL


def test_rows_in_half_precision_accuse_nobody(tmp_path: Path) -> None:
    rounds = list(source("ratio", 1500))
    emitted = np.full((len(rounds), 4), -1)
    for i, one in enumerate(rounds):
        emitted[i, : len(one.emitted)] = one.emitted
    rows = {
        "target_probs": np.array([[r.probs for r in one.target] for one in rounds], "f2"),
        "draft_probs": np.array([[r.probs for r in one.drafting] for one in rounds], "f2"),
    }
    drafts = np.array([one.draft for one in rounds])
    path = tmp_path / "t.npz"
    np.savez(path, draft_token_ids=drafts, emitted_token_ids=emitted, **rows)
    record = run_trace([str(path)], settings=TraceSettings(declares=("ratio",)))
    assert record.verdict.outcome is Outcome.INCONCLUSIVE
    assert record.evidence.tolerance > 1e-3


def logits(one: Round, temperature: float) -> dict[str, object]:
    """Returns the rows of a round as logits that have this temperature still to come."""
    return {
        f"{whose}_logits": [(temperature * np.log(row.probs)).tolist() for row in rows]
        for whose, rows in (("target", one.target), ("draft", one.drafting))
    } | {"target_probs": None, "draft_probs": None}


def test_logits_need_their_temperature(tmp_path: Path) -> None:
    rounds = list(source("ratio", 400))
    path = tmp_path / "t.jsonl"
    lines = [fields_of(one, **logits(one, 0.7)) for one in rounds]
    path.write_text("".join(json.dumps(line | {"temperature": 0.7}) + "\n" for line in lines))
    assert run_trace([str(path)]).verdict.outcome is Outcome.INCONCLUSIVE
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert run_trace([str(path)]).verdict.outcome is Outcome.FAIL


def test_a_token_of_probability_zero_is_proof_beyond_the_tolerance() -> None:
    rounds = list(source("ratio", 200, vocab_size=8))
    first = [row.probs.copy() for row in rounds[0].target]
    for i in range(6):  # the tolerance of 1e-6 explains one or two, but not six
        token = int(rounds[i].emitted[0])
        row = rounds[i].target[0].probs.copy()
        row[token] = 0.0
        target = (Row(row / row.sum()), *rounds[i].target[1:])
        one = rounds[i]
        rounds[i] = Round(one.draft, one.emitted, target, one.drafting, where=f"t:{i}")
    assert first[0][rounds[0].emitted[0]] > 0
    watch = followed(rounds)
    evidence = evidence_of(watch)
    verdict = trace_verdict(watch, evidence)
    assert verdict.outcome is Outcome.FAIL
    assert "6 of 800 tokens have a recorded target probability of 0" in verdict.sentence
    assert evidence.traces[0].startswith("t:0: emitted ")
    assert evidence.excluded == {}
    assert verdict_on(rounds[6:]).outcome is Outcome.INCONCLUSIVE


# Greedy rounds, dependence, what a PASS takes.


def greedy_rounds(count: int, *, wrong: int = 0) -> list[Round]:
    """Returns rounds of greedy decoding, the first `wrong` of which emit the second best token."""
    made = []
    for i, one in enumerate(source("ratio", count, vocab_size=20)):
        order = np.argsort(-one.target[0].probs)
        emitted = np.array([order[int(i < wrong)]])
        made.append(
            Round(one.draft, emitted, one.target, one.drafting, greedy=True, where=f"t:{i}")
        )
    return made


def test_greedy_tokens_are_judged_by_the_most_probable_one() -> None:
    assert verdict_on(greedy_rounds(200)).outcome is Outcome.PASS
    assert verdict_on(greedy_rounds(20)).outcome is Outcome.INCONCLUSIVE
    found = verdict_on(greedy_rounds(200, wrong=1))
    assert found.outcome is Outcome.FAIL
    assert found.sentence == "1 of 200 greedy tokens are not the most probable of their rows"


def test_a_tie_within_the_tolerance_is_no_error() -> None:
    row = np.array([0.4, 0.4 + 1e-7, 0.2 - 1e-7])
    one = Round(np.array([0]), np.array([0]), (Row(row), Row(row)), (Row(row),), greedy=True)
    assert followed([one]).tally.not_greedy == 0


def same_coins(rule: str, rounds: int, *, shared: bool) -> Iterator[Round]:
    """Yields rounds of which two neighbours toss the same coins, or each its own."""
    rng, sampler = np.random.default_rng(0), sampler_of(rule)
    for k in range(rounds):
        scores = 1.5 * rng.normal(size=(3, 50))
        target, draft = softmax(scores), softmax(scores[:-1] + rng.normal(size=(2, 50)))
        drafted = np.array([rng.choice(50, p=row) for row in draft])
        coins = torch.Generator().manual_seed(k // 2 if shared else k)
        tensors = (torch.from_numpy(part[np.newaxis]) for part in (drafted, draft, target))
        tokens = sampler(StepBatch(*tensors, torch.tensor([2])), coins)[0].numpy()
        rows = tuple(map(Row, target)), tuple(map(Row, draft))
        yield Round(drafted, tokens[tokens >= 0], *rows)


def test_rounds_that_share_their_coins_are_dependent_and_not_biased() -> None:
    verdict = verdict_on(same_coins("sampler-match", 600, shared=True))
    assert verdict.outcome is Outcome.DEPENDENT
    control = verdict_on(same_coins("sampler-match", 600, shared=False))
    assert control.outcome is Outcome.INCONCLUSIVE


def test_a_pass_takes_bounded_bins_draft_rows_and_an_excluded_fallback() -> None:
    wide = Budget(alpha=1e-6, delta=1e-3, epsilon=0.1, cases=1)
    rounds = list(source("ratio", 1500, vocab_size=12))
    passed = verdict_on(rounds, budget=wide)
    assert (passed.outcome, passed.partition, passed.word) == (Outcome.PASS, True, "PARTITION-PASS")
    narrow = verdict_on(rounds)
    assert narrow.outcome is Outcome.INCONCLUSIVE
    assert "more tokens are needed" in narrow.sentence
    bare = [Round(one.draft, one.emitted, one.target, ()) for one in rounds]
    assert "without draft rows" in verdict_on(bare, budget=wide).sentence
    own = [Round(one.draft, one.emitted, one.target, one.target[:-1]) for one in rounds]
    assert "full-target-fallback is not excluded" in verdict_on(own, budget=wide).sentence


# The job: files, settings, record, text.


def test_the_good_rounds_of_bad_files_are_judged(tmp_path: Path) -> None:
    good = written(tmp_path / "a.jsonl", source("ratio", 100))
    bad = tmp_path / "b.jsonl"
    bad.write_text('{"draft\n' * 20 + Path(good).read_text()[:-50])
    record = run_trace([good, str(bad)])
    assert [(f.rounds, f.bad, f.truncated) for f in record.files] == [
        (100, 0, False), (99, 20, True),
    ]  # fmt: skip
    assert (record.bad, len(record.problems), record.evidence.rounds) == (20, 10, 199)
    shown = trace_text(record, color=False, width=300)
    assert f"{bad}:1: line = " in shown.replace("\n", "")
    assert "and 10 more." in shown


def test_nothing_usable_is_a_usage_error(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    path.write_text("not json\n")
    with pytest.raises(UsageError, match=r"of 1 record none can be judged .*t\.jsonl:1: line = "):
        run_trace([str(path)])
    path.write_text("")
    with pytest.raises(UsageError, match="no whole record"):
        run_trace([str(path)])


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"alpha": 0.0}, "alpha = 0.0 is not between"),
        ({"epsilon": float("nan")}, "epsilon"),
        ({"declares": ("greedy",)}, "declare one of ratio, sampler-match, point-mass, block"),
        ({"declares": ("ration",)}, 'the nearest of .* is "ratio"'),
    ],
)
def test_settings_are_checked(settings: dict[str, Any], message: str, tmp_path: Path) -> None:
    path = written(tmp_path / "t.jsonl", source("ratio", 1))
    with pytest.raises((UsageError, ValueError), match=message):
        run_trace([path], settings=TraceSettings(**settings))


def test_a_limited_run_has_no_verdict_but_a_failure_stays_one(tmp_path: Path) -> None:
    good = written(tmp_path / "a.jsonl", source("ratio", 100))
    record = run_trace([good], settings=TraceSettings(limit=50))
    assert (record.verdict.outcome, record.exit_code) == (Outcome.NO_VERDICT, 3)
    assert record.evidence.rounds == 50
    bad = written(tmp_path / "b.jsonl", source("always-accept", 100))
    record = run_trace([bad], settings=TraceSettings(limit=64))
    assert (record.verdict.outcome, record.exit_code) == (Outcome.FAIL, 1)


def test_a_record_is_repeatable_and_survives_json(tmp_path: Path) -> None:
    path = written(tmp_path / "t.jsonl", source("full-target-fallback", 300))
    first, second = run_trace([path]), run_trace([path])
    assert first.evidence == second.evidence
    again = TraceRecord.model_validate_json(to_json(first))
    assert again.evidence == first.evidence
    assert again.verdict == first.verdict


def test_text_from_outside_is_harmless(tmp_path: Path) -> None:
    path = tmp_path / "\x1b[31mred\u202e[bold].jsonl"
    path.write_text(json.dumps({"draft_token_ids": "\x1b]0;title\x07"}) + "\n")
    with path.open("a") as file:
        file.writelines(json.dumps(fields_of(one)) + "\n" for one in source("always-accept", 64))
    record = run_trace([str(path)], settings=TraceSettings(declares=("sampler-match",)))
    shown = trace_text(record, color=False, width=100) + trace_line(record)
    assert not {"\x1b", "\u202e", "\x07"} & set(shown)
    assert "[bold]" in shown


# The command.


def test_the_command_prints_the_result_and_exits_by_the_verdict(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    good = written(tmp_path / "a.jsonl", source("ratio", 200))
    bad = written(tmp_path / "b.jsonl", source("full-target-fallback", 500))
    assert execute(["trace", good, "--declares", "ratio"]) == 3
    shown = capsys.readouterr()
    assert "? INCONCLUSIVE  trace: no bias found at this size" in shown.out
    assert "accepted" in shown.out
    assert shown.err == ""
    assert execute(["trace", good, "--epsilon", "0.9", "-q"]) == 0
    assert capsys.readouterr().out.startswith("✓ PARTITION-PASS  trace: no bias found in ")
    assert execute(["trace", bad, "-q"]) == 1
    assert capsys.readouterr().out.count("\n") == 1
    assert execute(["trace", bad, "-q", "--exit-zero"]) == 0
    assert execute(["trace", str(tmp_path / "missing")]) == 2
    assert "cannot be read: no such file or directory" in capsys.readouterr().err
    assert execute(["trace"]) == 2


def test_json_goes_to_stdout_and_nothing_else(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = written(tmp_path / "a.jsonl", source("ratio", 20))
    assert execute(["trace", path, "--json", "-"]) == 3
    data = json.loads(capsys.readouterr().out)
    assert (data["kind"], data["evidence"]["rounds"]) == ("trace", 20)
    assert execute(["trace", path, "-q", "--json", str(tmp_path / "r.json")]) == 3
    assert json.loads((tmp_path / "r.json").read_text())["evidence"] == data["evidence"]


def test_standard_input_is_read_and_an_interrupt_judges_what_came(tmp_path: Path) -> None:
    text = Path(written(tmp_path / "a.jsonl", source("full-target-fallback", 500))).read_text()
    command = [sys.executable, "-m", "audit", "trace", "-", "-q"]
    whole = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
    assert whole.returncode == 1
    reader = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert reader.stdin is not None
    reader.stdin.write(text)
    reader.stdin.flush()
    # It waits for more as soon as all that was written has left the pipe.
    deadline = time.monotonic() + 60
    while _unread(reader.stdin.fileno()) and time.monotonic() < deadline:
        time.sleep(0.05)
    time.sleep(1)
    reader.send_signal(signal.SIGINT)
    out, err = reader.communicate(timeout=60)
    assert reader.returncode == 130, err
    assert "FAIL  trace: the emitted tokens do not follow" in out
    assert "Traceback" not in err


def _unread(descriptor: int) -> int:
    """Returns how many bytes of a pipe nobody has read yet."""
    import fcntl
    import termios

    return int.from_bytes(fcntl.ioctl(descriptor, termios.FIONREAD, bytes(4)), sys.byteorder)


def test_a_reader_that_has_left_ends_nothing(tmp_path: Path) -> None:
    path = written(tmp_path / "a.jsonl", source("ratio", 20))
    done = subprocess.run(
        f"{sys.executable} -m audit trace {path} | head -1; echo ${{PIPESTATUS[0]}}",
        shell=True, executable="/bin/bash", capture_output=True, text=True, check=True,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
    )  # fmt: skip
    assert done.stdout.splitlines()[-1] == "3"
    assert done.stderr == ""


def test_the_command_loads_nothing_heavy(tmp_path: Path) -> None:
    path = written(tmp_path / "a.jsonl", source("ratio", 64), stopped=False)
    loaded = loaded_by("trace", path, "--epsilon", "0.99", "--exit-zero")
    assert loaded & set(HEAVY) == set()


def test_the_record_of_the_documentation_is_read(tmp_path: Path) -> None:
    text = (Path(__file__).parent.parent / "docs" / "traces.md").read_text(encoding="utf-8")
    path = tmp_path / "t.jsonl"
    path.write_text(text.partition("```json\n")[2].partition("```")[0])
    assert run_trace([str(path)]).evidence.judged == 2


def test_the_share_of_a_declared_rule_is_that_of_a_run() -> None:
    from audit.judgement.conformity import SHARE

    assert RULE_SHARE == SHARE
