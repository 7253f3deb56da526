"""Reading traces: what is accepted, what is refused with line, field and reason, and hostility."""

from __future__ import annotations

import gzip
import json
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from audit.errors import UsageError
from audit.tracefile.problems import BadRecord, Problem, placed, shortened
from audit.tracefile.reading import check_files, rounds_in
from audit.tracefile.rounds import Round, round_of
from audit.tracefile.rows import dense, listed, softmax

P, Q = [0.25, 0.5, 0.25], [0.5, 0.25, 0.25]


def record(**changes: Any) -> dict[str, Any]:
    """Returns the fields of a sound round of two drafts, with these changes."""
    fields = {
        "draft_token_ids": [0, 1],
        "emitted_token_ids": [0, 2],
        "target_probs": [P, P, P],
        "draft_probs": [Q, Q],
    }
    return fields | changes


def lines(path: Path, *records: object) -> str:
    """Returns the path of a file of these records."""
    path.write_text("".join(json.dumps(one) + "\n" for one in records))
    return str(path)


def read(path: str | Path) -> list[Round | Problem]:
    return list(rounds_in(str(path)))


def test_a_round_holds_what_its_record_says() -> None:
    one = round_of(record(stopped=True, request="r1", position=7, anything={"else": 1}))
    assert one.draft.tolist() == [0, 1]
    assert one.emitted.tolist() == [0, 2]
    assert [row.probs.tolist() for row in one.target] == [P, P, P]
    assert [row.probs.tolist() for row in one.drafting] == [Q, Q]
    assert (one.gamma, one.judged, one.stopped, one.greedy) == (2, 2, True, False)


@pytest.mark.parametrize(
    ("emitted", "judged"), [([2], 1), ([0, 1], 2), ([0, 1, 2], 3), ([2, 1], 1), ([0, 2, 2], 2)]
)
def test_a_token_is_judged_where_only_drafted_tokens_stand_before_it(
    emitted: list[int], judged: int
) -> None:
    assert round_of(record(emitted_token_ids=emitted)).judged == judged


def test_padding_and_missing_drafts_are_allowed() -> None:
    one = round_of(record(emitted_token_ids=[0, -1, -1], draft_token_ids=[0, 1, -1]))
    assert (one.emitted.tolist(), one.gamma) == ([0], 2)
    alone = round_of({"draft_token_ids": [], "emitted_token_ids": [1], "target_probs": [P]})
    assert (alone.gamma, alone.drafting) == (0, ())
    assert round_of(record(target_probs=[P, P])).target[1].probs.tolist() == P  # as many as emitted


def test_rows_are_read_in_every_form() -> None:
    logits = [0.0, 2.0, -np.inf]
    assert softmax("x", logits, 2.0).probs == pytest.approx([1 / (1 + np.e), np.e / (1 + np.e), 0])
    row = listed("x", {"ids": [7, 3], "logprobs": [np.log(0.5), np.log(0.25)]})
    assert row.probs == pytest.approx([0.5, 0.25, 0.25])
    assert (row.rest, row.cell(3), row.cell(99)) == (pytest.approx(0.25), 1, 2)
    assert row.between(7) == (0.5, 0.5)
    assert row.between(99) == (0.0, 0.25)  # no more than the last listed one
    assert listed("x", {"ids": [1], "probs": [0.9], "rest": 0.1}).rest == pytest.approx(0.1)


def test_a_sum_is_never_normalised_in_silence() -> None:
    row = dense("x", [0.25, 0.5, 0.246])
    assert row.deviation == pytest.approx(0.004)
    assert row.probs.sum() == pytest.approx(1)
    with pytest.raises(BadRecord, match=r"sum of x = 0\.9 is not 1 within 0\.01"):
        dense("x", [0.5, 0.4])


BAD: dict[str, tuple[dict[str, Any], str, str]] = {
    "no drafts": ({"draft_token_ids": None}, "draft_token_ids", "missing"),
    "floats as ids": ({"draft_token_ids": [0.5, 1]}, "draft_token_ids", "whole numbers"),
    "a flag as an id": ({"emitted_token_ids": [0, True]}, "emitted_token_ids", "whole numbers"),
    "text as ids": ({"draft_token_ids": "01"}, "draft_token_ids", "whole numbers"),
    "ragged ids": ({"draft_token_ids": [[0], [1, 2]]}, "draft_token_ids", "list of token ids"),
    "a negative id": ({"emitted_token_ids": [-7]}, "emitted_token_ids", "negative"),
    "an id beyond": ({"emitted_token_ids": [3]}, "emitted_token_ids", "not below"),
    "a huge id": ({"emitted_token_ids": [10**30]}, "emitted_token_ids", "whole numbers"),
    "nothing emitted": ({"emitted_token_ids": []}, "emitted_token_ids", "not 1 to 3"),
    "too many emitted": ({"emitted_token_ids": [0, 1, 1, 1]}, "emitted_token_ids", "not 1 to 3"),
    "no rows": ({"target_probs": None}, "target_probs or", "exactly one"),
    "two forms": ({"target_logits": [P, P, P]}, "target_probs or", "exactly one"),
    "too few rows": ({"target_probs": [P]}, "rows of target_probs", "not 2 to 3"),
    "too few draft rows": ({"draft_probs": [Q]}, "rows of draft_probs", "not 2"),
    "a number for rows": ({"target_probs": 3}, "rows of target_probs", "not 2 to 3"),
    "unequal rows": ({"target_probs": [P, [1.0], P]}, "target rows", "one size"),
    "a long draft row": ({"draft_probs": [Q, [0.25] * 4]}, "draft row", "longer"),
    "NaN": ({"target_probs": [P, [np.nan, 0.5, 0.5], P]}, "target_probs[1][0]", "no prob"),
    "infinity": ({"target_probs": [P, [np.inf, 0.5, 0.5], P]}, "target_probs[1][0]", "no prob"),
    "a negative one": ({"draft_probs": [[1.5, -0.5, 0], Q]}, "draft_probs[0][1]", "no prob"),
    "a wrong sum": ({"draft_probs": [[0.5, 0.5, 0.5], Q]}, "sum of draft_probs[0]", "not 1"),
    "text in a row": ({"target_probs": [["a", "b", "c"], P, P]}, "target_probs[0]", "numbers"),
    "a nested row": ({"target_probs": [[P], P, P]}, "target_probs[0]", "no row"),
    "NaN logits": (
        {"target_probs": None, "target_logits": [[np.nan, 0.0, 0.0], P, P]},
        "target_logits[0][0]",
        "-inf",
    ),
    "no finite logit": (
        {"target_probs": None, "target_logits": [[-np.inf] * 3, P, P]},
        "target_logits[0][0]",
        "-inf",
    ),
    "a list that does not fall": (
        {"target_probs": None, "target_top": [{"ids": [0, 1], "probs": [0.2, 0.7]}] * 3},
        "target_top[0].probs",
        "do not fall",
    ),
    "a token twice": (
        {"target_probs": None, "target_top": [{"ids": [0, 0], "probs": [0.5, 0.5]}] * 3},
        "target_top[0].ids",
        "twice",
    ),
    "a rest too large": (
        {"target_probs": None, "target_top": [{"ids": [0], "probs": [0.5], "rest": 0.9}] * 3},
        "sum of target_top[0]",
        "not 1",
    ),
    "a list that is none": (
        {"target_probs": None, "target_top": [[1, 2]] * 3}, "target_top[0]", "no object",
    ),
    "a temperature": ({"temperature": -1}, "temperature", "no temperature"),
    "a temperature of text": ({"temperature": "hot"}, "temperature", "numbers"),
    "a flag": ({"greedy": "yes"}, "greedy", "neither"),
    "a vocabulary size": ({"vocab_size": 0}, "vocab_size", "no number of tokens"),
    "another vocabulary size": ({"vocab_size": 5}, "target rows", "one size"),
    "a misspelt option": ({"temprature": 0.7}, "temprature", "nearly temperature"),
    "a misspelt form": ({"draft_prob": [Q, Q]}, "draft_prob", "nearly draft_probs"),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_a_bad_record_is_named_by_field_value_and_reason(name: str, tmp_path: Path) -> None:
    changes, field, reason = BAD[name]
    found = read(lines(tmp_path / "t.jsonl", record(), record(**changes), record()))
    assert [type(one) for one in found] == [Round, Problem, Round]
    problem = found[1]
    assert isinstance(problem, Problem)
    assert (problem.line, problem.truncated) == (2, False)
    assert problem.field.startswith(field)
    assert reason in problem.reason


def test_a_truncated_last_line_is_normal_and_a_broken_one_before_is_not(tmp_path: Path) -> None:
    sound = json.dumps(record())
    path = tmp_path / "t.jsonl"
    path.write_text(f'{sound}\n\n{{"draft\n[1]\n{sound}\n{sound[:60]}')
    found = read(path)
    problems = [one for one in found if isinstance(one, Problem)]
    assert [(p.line, p.truncated) for p in problems] == [(3, False), (4, False), (6, True)]
    assert sum(isinstance(one, Round) for one in found) == 2


@pytest.mark.parametrize(
    "line",
    [
        b"\xff\xfe\x00nonsense",
        b"[" * 100_000,
        b'{"draft_token_ids": ' + b"[" * 10_000 + b"]" * 10_000 + b"}",
        b'{"draft_token_ids": [' + b"9" * 10_000 + b"]}",
        b'{"draft_token_ids": [1e999], "emitted_token_ids": [0]}',
        b'"\x1b[31m\xe2\x80\xae"',
        b'{"\\ud800": 1}',
        b"\x00" * 1000,
    ],
)
def test_hostile_lines_are_problems_of_their_own(line: bytes, tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    path.write_bytes(line + b"\n" + json.dumps(record()).encode() + b"\n")
    bad, good = read(path)
    assert isinstance(bad, Problem)
    assert isinstance(good, Round)
    assert len(bad.value) <= 60


def test_a_line_beyond_all_bounds_is_skipped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("audit.tracefile.lines.LONGEST_LINE", 500)
    path = lines(tmp_path / "t.jsonl", record(note="x" * 2000), record())
    bad, good = read(path)
    assert isinstance(bad, Problem)
    assert "at most 500" in bad.reason
    assert isinstance(good, Round)


def test_gzipped_lines_are_read_also_where_the_file_is_cut(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl.gz"
    text = "".join(json.dumps(record(note=str(i))) + "\n" for i in range(2000)).encode()
    path.write_bytes(gzip.compress(text))
    assert sum(isinstance(one, Round) for one in read(path)) == 2000
    path.write_bytes(gzip.compress(text)[:-2000])
    *whole, last = read(path)
    assert isinstance(last, Problem)
    assert last.truncated
    assert len(whole) > 100


def arrays(rounds: int = 5, dtype: str = "f4") -> dict[str, np.ndarray]:
    """Returns sound arrays of rounds of two drafts, the last of them of one."""
    drafts = np.tile([0, 1], (rounds, 1))
    drafts[-1, 1] = -1
    emitted = np.tile([0, 2, -1], (rounds, 1))
    target = np.tile(np.array(P, dtype=dtype), (rounds, 3, 1))
    draft = np.tile(np.array(Q, dtype=dtype), (rounds, 2, 1))
    return {
        "draft_token_ids": drafts,
        "emitted_token_ids": emitted,
        "target_probs": target,
        "draft_probs": draft,
    }


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_archives_hold_rounds_row_by_row(save: Any, tmp_path: Path) -> None:
    save(tmp_path / "t.npz", **arrays(), temperature=np.float32(0.5), stopped=np.ones(5, bool))
    found = read(tmp_path / "t.npz")
    assert [one.gamma for one in found if isinstance(one, Round)] == [2, 2, 2, 2, 1]
    first, last = found[0], found[-1]
    assert isinstance(first, Round)
    assert isinstance(last, Round)
    assert (len(last.target), len(last.drafting), last.stopped, last.half) == (2, 1, True, False)
    assert first.where.endswith("t.npz:1")


def test_listed_rows_in_an_archive(tmp_path: Path) -> None:
    top = {
        "target_top_ids": np.tile([1, 0, -1], (5, 3, 1)),
        "target_top_logprobs": np.log(np.tile([0.5, 0.25, 1.0], (5, 3, 1))),
    }
    rest = {k: v for k, v in arrays().items() if k != "target_probs"}
    np.savez(tmp_path / "t.npz", **rest, **top)
    (one, *_) = read(tmp_path / "t.npz")
    assert isinstance(one, Round)
    assert one.target[0].probs == pytest.approx([0.5, 0.25, 0.25])


def test_rounds_without_drafts_in_an_archive(tmp_path: Path) -> None:
    np.savez(
        tmp_path / "t.npz",
        draft_token_ids=np.zeros((3, 0), int),
        emitted_token_ids=np.ones((3, 1), int),
        target_probs=np.tile(P, (3, 1, 1)),
        greedy=np.array([0, 1, 0], dtype="u1"),
    )
    found = read(tmp_path / "t.npz")
    assert [one.greedy for one in found if isinstance(one, Round)] == [False, True, False]


def test_half_precision_is_noticed(tmp_path: Path) -> None:
    np.savez(tmp_path / "t.npz", **arrays(dtype="f2"))
    assert all(isinstance(one, Round) and one.half for one in read(tmp_path / "t.npz"))


def test_a_bad_row_of_an_archive_is_named_and_the_others_are_judged(tmp_path: Path) -> None:
    made = arrays()
    made["target_probs"][2, 1, 0] = np.nan
    np.savez(tmp_path / "t.npz", **made)
    found = read(tmp_path / "t.npz")
    assert isinstance(found[2], Problem)
    assert (found[2].line, found[2].field) == (3, "target_probs[1][0]")
    assert sum(isinstance(one, Round) for one in found) == 4


def test_archives_that_cannot_be_streamed_are_one_problem_each(tmp_path: Path) -> None:
    unlike = arrays() | {"emitted_token_ids": np.zeros((4, 3), int)}
    fortran = arrays() | {"target_probs": np.asfortranarray(arrays()["target_probs"])}
    objects = arrays() | {"draft_token_ids": np.array([[0, None]] * 5)}
    misspelt = arrays() | {"draft_logit": np.zeros(5)}
    flat = arrays() | {"draft_top_ids": np.zeros((5, 2), int)}
    for i, made in enumerate((unlike, fortran, objects, misspelt, flat)):
        np.savez(tmp_path / f"{i}.npz", **made)
    (tmp_path / "5.npz").write_bytes((tmp_path / "0.npz").read_bytes()[:-100])
    (tmp_path / "6.npz").write_bytes(b"PK\x03\x04")
    np.savez(tmp_path / "7.npz", other=np.zeros(3))
    for i in range(8):
        (problem,) = read(tmp_path / f"{i}.npz")
        assert isinstance(problem, Problem)
        assert problem.line == 0


def test_a_hostile_array_header_allocates_nothing(tmp_path: Path) -> None:
    np.savez(tmp_path / "t.npz", **arrays())
    whole = (tmp_path / "t.npz").read_bytes()
    assert b"(5, 3, 3), }" in whole
    # The archive's checksum is looked at only at the end of a member, which is never reached.
    (tmp_path / "t.npz").write_bytes(whole.replace(b"(5, 3, 3), }", b"(5,3,10**9)}"))
    assert all(isinstance(one, Problem) for one in read(tmp_path / "t.npz"))
    (tmp_path / "t.npz").write_bytes(whole.replace(b"(5, 3, 3), }", b"(5,3,9**9),}"))
    assert all(isinstance(one, Problem) for one in read(tmp_path / "t.npz"))
    (tmp_path / "t.npz").write_bytes(whole.replace(b"(5, 3, 3), }", b"(5,3,99999)}"))
    assert all(isinstance(one, Problem) for one in read(tmp_path / "t.npz"))


def tensors(path: Path, header: dict[str, Any], data: bytes) -> Path:
    """Returns the path of a safetensors file, written by its own definition."""
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)
    return path


def safetensors_of(path: Path, made: dict[str, np.ndarray], *, bfloat: bool = False) -> Path:
    header: dict[str, Any] = {"__metadata__": {"format": "pt"}}
    data = b""
    for name, values in made.items():
        kind = "I64" if values.dtype.kind == "i" else "BF16" if bfloat else "F32"
        stored = values.astype("<f4").view("<u4") >> 16 if kind == "BF16" else values
        raw = stored.astype("<u2").tobytes() if kind == "BF16" else stored.tobytes()
        span = [len(data), len(data) + len(raw)]
        header[name] = {"dtype": kind, "shape": list(values.shape), "data_offsets": span}
        data += raw
    return tensors(path, header, data)


@pytest.mark.parametrize("bfloat", [False, True])
def test_safetensors_are_read_bfloat16_included(bfloat: bool, tmp_path: Path) -> None:
    found = read(safetensors_of(tmp_path / "t.safetensors", arrays(), bfloat=bfloat))
    assert len(found) == 5
    for one in found:
        assert isinstance(one, Round)
        assert one.half is bfloat
        assert one.target[0].probs.tolist() == P  # quarters are exact in bfloat16 too


def test_safetensors_are_those_of_the_package(tmp_path: Path) -> None:
    save = pytest.importorskip("safetensors.numpy").save_file
    save(arrays(), tmp_path / "t.safetensors")
    assert all(isinstance(one, Round) for one in read(tmp_path / "t.safetensors"))


def test_broken_safetensors_are_problems(tmp_path: Path) -> None:
    path = safetensors_of(tmp_path / "t.safetensors", arrays())
    whole = path.read_bytes()
    path.write_bytes(whole[:-40])  # while the engine is still writing
    *_, last = read(path)
    assert isinstance(last, Problem)
    assert last.truncated
    entry = {"dtype": "F32", "shape": [5, 10**12], "data_offsets": [0, 8]}
    broken = (
        b"",
        b"\xff" * 20,
        struct.pack("<Q", 5) + b"{oops",
        struct.pack("<Q", 2) + b"[]",
    )
    for data in broken:
        path.write_bytes(data)
        assert all(isinstance(one, Problem) for one in read(path))
    tensors(path, {"target_probs": entry}, b"12345678")
    assert all(isinstance(one, Problem) for one in read(path))
    tensors(path, {"target_probs": 7}, b"12345678")
    assert all(isinstance(one, Problem) for one in read(path))


def test_files_are_checked_before_anything_is_read(tmp_path: Path) -> None:
    path = lines(tmp_path / "t.jsonl", record())
    (tmp_path / "link").symlink_to(path)
    check_files((path, "-"))
    for paths in ((str(tmp_path / "missing"),), (path, str(tmp_path / "link")), ("-", "-")):
        with pytest.raises(UsageError):
            check_files(paths)
    with pytest.raises(UsageError, match="cannot be read"):
        check_files((str(tmp_path),))


def test_only_one_line_is_held(tmp_path: Path) -> None:
    # A generator that hands out the first round before the second is even written.
    path = tmp_path / "t.jsonl"
    lines(path, record())
    rounds = rounds_in(str(path))
    assert isinstance(next(rounds), Round)
    with path.open("a") as file:
        file.write(json.dumps(record()) + "\n")
    assert isinstance(next(rounds), Round)


def test_values_are_shortened_without_being_written_out() -> None:
    nested: list[Any] = []
    for _ in range(100_000):
        nested = [nested]
    for value in (10**10_000, nested, "x" * 10**6, {"a": "b" * 10**5}):
        assert len(shortened(value)) <= 60
    assert shortened(np.array(["0.123456789", "0.987654321"] * 4)).startswith(
        "array(['0.123456789', "
    )
    assert "\n" not in shortened(np.zeros((3, 3)))


def test_a_problem_of_the_file_as_a_whole_has_no_line(tmp_path: Path) -> None:
    (tmp_path / "t.npz").write_text("no archive")
    (problem,) = read(tmp_path / "t.npz")
    assert isinstance(problem, Problem)
    assert placed(problem.file, problem.line).endswith("t.npz")
