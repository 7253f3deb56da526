"""A program as a sampler: what it is told, what it may answer, and what each mistake costs it.

The programs are small Python scripts in real processes; docs/process.md describes the protocol.
"""

from __future__ import annotations

import json
import shlex
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from exact_instances import seed
from hypothesis import given, settings
from hypothesis import strategies as st
from steps import step_batch

from audit.errors import SamplerError, UsageError
from audit.run import run_audit
from audit.samplers.command import requests as writing
from audit.samplers.command.answers import BadAnswerError, hello_of, rows_of
from audit.samplers.command.identity import code_of_command, words_of
from audit.samplers.command.requests import Requests
from audit.samplers.interface import Facts, LoadedSampler, StepBatch
from audit.samplers.registry import load_sampler

HELLO = {"version": 1}
PROGRAM = """
import json, sys, time
def say(message):
    print(json.dumps(message), flush=True)
sys.stdin.readline()
say({hello})
for line in sys.stdin:
    request = json.loads(line)
    number, rows = request["number"], request["batch"]
    answer = {{"number": number, "tokens": [[1]] * rows}}
{body}
    say(answer)
"""
Load = Callable[..., LoadedSampler]


@pytest.fixture
def load(tmp_path: Path) -> Iterator[Load]:
    """Loads a program that answers [[1], [1], ...], changed by the lines of `body`."""
    loaded: list[LoadedSampler] = []

    def load_body(*body: str, hello: object = HELLO, timeout: float = 60.0) -> LoadedSampler:
        lines = "".join(f"    {line}\n" for line in body)
        file = tmp_path / "program.py"
        file.write_text(PROGRAM.format(hello=repr(hello), body=lines))
        command = shlex.join([sys.executable, "-S", str(file)])
        loaded.append(load_sampler(f"process:{command}", timeout=timeout))
        return loaded[-1]

    yield load_body
    for sampler in loaded:
        sampler.close()
        assert sampler.call.ended  # type: ignore[attr-defined]


def generator(number: int = 1) -> torch.Generator:
    return torch.Generator().manual_seed(number)


def batch(rows: int = 3, dtype: torch.dtype = torch.float32) -> StepBatch:
    return step_batch(seed(2), rows, generator(1), dtype)


def failure(sampler: LoadedSampler, rows: int = 3) -> SamplerError:
    with pytest.raises(SamplerError) as caught:
        sampler.call(batch(rows), generator())
    return caught.value


class Memory:
    """What a program that follows docs/process.md has read: the rows by number, and a batch."""

    def __init__(self) -> None:
        self.rows: list[list[float]] = []

    def read(self, line: bytes) -> dict[str, Any]:
        """Returns the batch of a request with the rows themselves in place of their numbers."""
        request: dict[str, Any] = json.loads(line)
        self.rows[request["first_row"] :] = request["rows"]
        for name in ("draft_rows", "target_rows"):
            request[name] = [[self.rows[i] for i in row] for row in request[name]]
        return request


def cut(rows: torch.Tensor, lengths: list[int]) -> list[list[Any]]:
    return [row[:length] for row, length in zip(rows.tolist(), lengths, strict=True)]


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_every_number_arrives_exactly_whatever_was_sent_before(data: st.DataObject) -> None:
    memory, requests = Memory(), Requests()
    for number in range(1, 4):
        rows, gamma, vocab = (data.draw(st.integers(1, most)) for most in (4, 3, 5))
        dtype = data.draw(st.sampled_from([torch.float32, torch.float64, torch.bfloat16]))
        source = generator(data.draw(st.integers(0, 99)))
        lengths = data.draw(st.lists(st.integers(1, gamma), min_size=rows, max_size=rows))
        draft = torch.rand(rows, gamma, vocab, generator=source, dtype=torch.float64).to(dtype)
        target = torch.rand(1, 1, vocab, generator=source).to(dtype).expand(rows, gamma + 1, -1)
        tokens = torch.randint(vocab, (rows, gamma), generator=source)
        given_batch = StepBatch(tokens, draft, target, torch.tensor(lengths))
        read = memory.read(requests.line(given_batch, number, {"seed": 5}))
        assert read["draft_token_ids"] == cut(tokens, lengths)
        assert read["draft_rows"] == cut(draft.double(), lengths)
        assert read["target_rows"] == cut(target.double(), [n + 1 for n in lengths])
        assert (read["number"], read["batch"], read["gamma"]) == (number, rows, gamma)
        assert (read["vocab_size"], read["seed"]) == (vocab, 5)


def test_rows_are_sent_once_and_forgotten_when_they_are_too_many(monkeypatch):
    monkeypatch.setattr(writing, "_MOST_BYTES", 8 * 3 * 40)
    memory, requests = Memory(), Requests()
    sent, starts = [], []
    for number in range(20):
        own = batch(2, torch.float64)._replace(
            draft_probs=torch.rand(2, 2, 3, generator=generator(number), dtype=torch.float64)
        )
        line = requests.line(own, number, {})
        sent.append(len(json.loads(line)["rows"]))
        starts.append(json.loads(line)["first_row"])
        read = memory.read(line)
        assert read["draft_rows"] == own.draft_probs.tolist()
        assert read["target_rows"] == own.target_probs.tolist()
    assert sent[1] == 4  # the target rows were known
    assert starts.count(0) == 3  # at first, and whenever 40 rows were passed
    assert len(memory.rows) <= 40


def test_keys_come_in_the_documented_order_without_spaces():
    line = Requests().line(batch(1), 1, {"seed": 7})
    assert b" " not in line
    assert line.endswith(b"}\n")
    assert list(json.loads(line)) == [
        "type", "number", "batch", "gamma", "vocab_size", "dtype", "first_row", "rows",
        "draft_token_ids", "draft_rows", "target_rows", "seed",
    ]  # fmt: skip


def test_what_the_hello_says_becomes_facts(load):
    plain = load().facts
    assert plain == Facts(max_batch=1024)
    said = {
        "version": 1, "name": "mine", "declares": ["ratio"], "ragged": True, "max_batch": 9,
        "independent_rows": False, "claims": "",
    }  # fmt: skip
    told = load(hello=said)
    assert told.facts == Facts(
        declares=("ratio",), ragged=True, max_batch=9, independent_rows=False
    )
    assert told.identity["program"] == "mine"


@pytest.mark.parametrize(
    ("hello", "error", "said"),
    [
        ({}, SamplerError, "answered the hello with version None; this is version 1"),
        ({"version": 2}, SamplerError, "with version 2; this is version 1"),
        ({"version": 1, "declare": []}, SamplerError, "'declare'; did you mean declares?"),
        ({"version": 1, "trees": ["distinct"]}, SamplerError, "an unknown key 'trees'"),
        ({"version": 1, "randomness": "coin"}, SamplerError, "'coin'; did you mean coins?"),
        ({"version": 1, "max_batch": 0}, UsageError, "hello['max_batch'] is 0; it must be a"),
        ({"version": 1, "declares": ["x"]}, UsageError, "declares an unknown rule 'x'"),
        ({"version": 1, "error": "no GPU."}, SamplerError, "says: no GPU."),
        ([1], SamplerError, "wrote '[1]', which is no JSON object"),
    ],
)
def test_a_wrong_hello_has_its_sentence(load, hello, error, said):
    with pytest.raises(error) as caught:
        load(hello=hello)
    assert said in str(caught.value)
    assert str(caught.value).startswith("process:")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ("no JSON", "wrote 'no JSON', which is no JSON object"),
        ("[" * 100_000, "[[[...', which is no JSON object"),
        ({"number": 6, "tokens": []}, "answered call 7 with the number 6"),
        ({"tokens": []}, "answered call 7 with the number None"),
        ({"number": 7}, "gave null for tokens, not a list of 2"),
        ({"number": 7, "token": [[1]] * 2}, "unknown key 'token'; did you mean tokens?"),
        ({"number": 7, "tokens": [[1]]}, "gave tokens of 1 row for a batch of 2"),
        ({"number": 7, "tokens": [1, 1]}, "gave 1 for row 0, not 1 to 3 tokens"),
        ({"number": 7, "tokens": [[1], [1] * 4]}, "gave [1, 1, 1, 1] for row 1, not 1 to 3"),
        ({"number": 7, "tokens": [[1], [0.5]]}, "gave 0.5 in tokens, which holds whole numbers"),
        ({"number": 7, "tokens": [[1], [True]]}, "gave true in tokens"),
        ({"number": 7, "tokens": [[1], [2**63]]}, "gave 9223372036854775808 in tokens"),
        ({"number": 7, "tokens": [[1], [float("nan")]]}, "gave NaN in tokens"),
        ({"number": 7, "tokens": [[1]] * 2, "num_accepted": [0]}, "gave num_accepted of 1 row"),
        ({"number": 7, "error": "out of\nmemory."}, "says in call 7: out of memory"),
    ],
)
def test_a_wrong_answer_has_its_sentence(answer, said):
    line = answer.encode() if isinstance(answer, str) else json.dumps(answer).encode()
    with pytest.raises(BadAnswerError) as caught:
        rows_of(line, number=7, count=2, width=3)
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)
    assert caught.value.lost == ("answered call" in said or "JSON" in said)


def test_rows_are_padded_and_numbers_accepted_are_taken():
    rows = rows_of(b'{"number":7,"tokens":[[],[5,6],[1,2,3]]}', number=7, count=3, width=3)
    assert isinstance(rows, torch.Tensor)
    assert rows.tolist() == [[-1] * 3, [5, 6, -1], [1, 2, 3]]
    both = rows_of(b'{"number":7,"tokens":[[1]],"num_accepted":[0]}', number=7, count=1, width=2)
    assert [part.tolist() for part in both] == [[[1, -1]], [0]]


def test_facts_with_no_limit_have_none():
    assert hello_of(b'{"version":1,"max_batch":null}', name="x").facts.max_batch is None


def test_a_call_gives_the_answered_rows(load):
    sampler = load("answer['tokens'] = [[t[0], 2] for t in request['draft_token_ids']]")
    drafted = batch(5)
    tokens = sampler.call(drafted, generator())
    assert tokens.dtype == torch.int64
    assert tokens.tolist() == [[int(t), 2, -1] for t in drafted.draft_token_ids[:, 0]]


def test_the_generator_decides_the_seed_and_the_coins(load):
    seeded = load("answer['tokens'] = [[request['seed'] >> 40]] * rows")
    calls = [int(seeded.call(batch(), generator(n))[0, 0]) for n in (1, 1, 2)]
    assert calls[0] == calls[1] != calls[2]
    assert max(calls) < 2**13
    coins = load(
        "assert 'seed' not in request",
        "answer['tokens'] = [[int(c * 2**60) for c in row] for row in request['coins']]",
        hello={"version": 1, "randomness": "coins"},
    )
    tossed = torch.rand(3, 3, dtype=torch.float64, generator=generator(4))
    assert coins.call(batch(), generator(4)).tolist() == (tossed * 2**60).long().tolist()


def test_a_small_mistake_is_an_error_and_the_program_lives_on(load):
    sampler = load(
        "print('what went wrong', file=sys.stderr, flush=True)",
        "if number == 1: answer['tokens'] = [[1]]",
        "if number == 2: answer = {'number': 2, 'error': 'no row is good'}",
    )
    first = failure(sampler)
    assert "gave tokens of 1 row for a batch of 3." in str(first)
    assert first.detail == "what went wrong\n"
    assert str(failure(sampler)).endswith("says in call 2: no row is good.")
    assert sampler.call(batch(), generator()).tolist() == [[1, -1, -1]] * 3


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("print('verifying', flush=True)", "wrote '"),
        ("answer['number'] += 1", "answered call 1 with the number 2, and it was stopped."),
        ("answer = 'x'", "which is no JSON object"),
        ("sys.exit('bad weights')", "ended in call 1 (exit code 1: bad weights)."),
        (
            "sys.exit('TypeError: no\\n at f (a.js:3)\\nNode.js v20')",
            "1: TypeError: no).",
        ),
        ("import os; os.kill(os.getpid(), 11)", "ended in call 1 (signal SIGSEGV)."),
        ("import os; os.close(1); time.sleep(60)", "ended in call 1 (it was killed, or closed its"),
        ("time.sleep(60)", "did not answer within 0.7 s in call 1"),
        ("print(end='half', flush=True); time.sleep(60)", "did not answer within 0.7 s"),
    ],
)
def test_a_program_that_lost_count_or_life_is_stopped(load, line, said):
    sampler = load(line, timeout=0.7)
    assert said in str(failure(sampler))
    assert "cannot be called: its program has ended." in str(failure(sampler))


def test_a_second_line_is_noise_whenever_it_comes(load):
    twice = load("if number > 1: say(answer)")
    twice.call(batch(), generator())
    assert "in call 2, besides its one line of answer" in str(failure(twice))
    late = load("if number == 1: say(answer); time.sleep(.1); answer = 'done'")
    late.call(batch(), generator())
    time.sleep(0.5)
    assert "wrote 'done'" in str(failure(late)).replace('"', "")


def test_neither_side_waits_for_ever_on_a_full_pipe(load):
    # Every line here is far longer than a pipe holds.
    talkative = load(
        "answer['error'] = 'x' * 3_000_000",
        hello={"version": 1, "name": "y" * 3_000_000},
    )
    wide = torch.rand(1, 1, 100_000, dtype=torch.float64).expand(2, 2, -1)
    given_batch = StepBatch(torch.zeros(2, 1).long(), wide[:, :1], wide, torch.ones(2).long())
    with pytest.raises(SamplerError, match="says in call 1: xxx"):
        talkative.call(given_batch, generator())


def test_prints_to_the_error_output_are_kept_short(load):
    sampler = load("print('x' * 700_000, file=sys.stderr, flush=True)")
    for _ in range(5):
        sampler.call(batch(), generator())
    assert len(sampler.call.process.printed()) <= 4000


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("", "names no program"),
        ("  ", "names no program"),
        ("'open", "cannot be split: No closing quotation"),
        ("no-such-program --fast", "no program 'no-such-program' is found"),
    ],
)
def test_a_command_that_cannot_be_started_is_bad_usage(command, said):
    with pytest.raises(UsageError, match=said):
        load_sampler(f"process:{command}")


def test_the_identity_is_over_the_program_its_files_and_nothing_that_cannot_be_seen(tmp_path):
    script = tmp_path / "my program.py"
    script.write_text("1")
    words = words_of(f"{sys.executable} '{script}' --fast 3")
    assert words == [sys.executable, str(script), "--fast", "3"]
    before = code_of_command(words)
    assert before["hashed"] == ", ".join(sorted(words[:2]))
    script.write_text("2")
    assert code_of_command(words)["sha256"] != before["sha256"]
    assert code_of_command([*words, str(tmp_path)])["hashed"].startswith("nothing, for its")


def test_a_folder_among_the_arguments_is_refused_with_a_run_directory(load, tmp_path):
    name = load().name
    with pytest.raises(UsageError, match="cannot be identified"):
        run_audit(f"{name} {tmp_path}", run_dir=tmp_path / "run")


def test_the_requests_of_the_document_are_what_is_written():
    text = (Path(__file__).parent.parent / "docs" / "process.md").read_text()
    said = [line[2:] for line in text.splitlines() if line.startswith("> {")]
    assert said[0].encode() + b"\n" == writing.hello_line()
    memory, requests = Memory(), Requests()
    for line in said[1:]:
        read = memory.read(line.encode())
        batch_of_line = StepBatch(
            torch.tensor(read["draft_token_ids"]),
            torch.tensor(read["draft_rows"], dtype=torch.float64),
            torch.tensor(read["target_rows"], dtype=torch.float64),
            torch.full((read["batch"],), read["gamma"]),
        )
        written = requests.line(batch_of_line, read["number"], {"coins": read["coins"]})
        assert written == line.encode() + b"\n"
