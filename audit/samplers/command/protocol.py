"""The lines of the protocol, version 1: what a request holds, and what an answer must hold.

A line is one JSON object. Numbers are decimal and round-trip: the shortest that give the same
float64. Rows of probabilities are sent once and then called by their number.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from audit.samplers.facts import facts_from, nearest
from audit.samplers.interface import Facts, StepBatch

VERSION = 1
SEEDS = 2**53  # a float64 holds every seed below it: JavaScript has no other numbers
MAX_BATCH = 1024  # rows a call where a program does not say: larger calls are no faster
_FACTS = ("declares", "claims", "ragged", "independent_rows", "max_batch")
_HELLO = ("version", "name", "randomness", *_FACTS)
_ANSWER = ("number", "tokens", "num_accepted", "error")
_RANDOMNESS = ("seed", "coins")
_MOST_BYTES = 1 << 25  # of rows that a program is asked to remember, at 8 a probability

Lists = list[list[int]]
Answer = Tensor | tuple[Tensor, Tensor]


class BadAnswerError(Exception):
    """Raised for an answer that breaks the protocol: what it did, without a subject.

    lost: what comes next from the program can no longer be told from this answer.
    """

    def __init__(self, did: str, *, lost: bool = False) -> None:
        super().__init__(did)
        self.lost = lost


@dataclass(frozen=True)
class Hello:
    """What a program said at its start; `coins`: it wants coins instead of a seed."""

    name: str
    coins: bool
    facts: Facts


def line_of(message: Mapping[str, Any]) -> bytes:
    """Returns a message as a line, its keys in their order and without spaces."""
    return json.dumps(message, separators=(",", ":")).encode() + b"\n"


def hello_line() -> bytes:
    """Returns the first line that a program reads."""
    return line_of({"type": "hello", "version": VERSION})


def message_of(line: bytes) -> dict[str, Any]:
    """Returns the JSON object of a line. Raises BadAnswerError where it is none."""
    try:
        message = json.loads(line)
    except ValueError:
        message = None
    if not isinstance(message, dict):
        raise BadAnswerError(
            f"wrote {shown(line)}, which is no JSON object; its standard output is for answers, "
            "one a line, and its error output for all else",
            lost=True,
        )
    return message


def shown(text: bytes) -> str:
    """Returns the beginning of a program's text in quotes.

    >>> shown(b"x" * 99)[:12], shown(b"no")
    ("'xxxxxxxxxxx", "'no'")
    """
    said = text.decode(errors="replace").rstrip("\n")
    return repr(said if len(said) <= 60 else f"{said[:57]}...")


def hello_of(line: bytes, *, name: str) -> Hello:
    """Returns what a program `name` said at its start.

    Raises: BadAnswerError for a broken answer; UsageError for facts that cannot be.
    """
    said = message_of(line)
    if "error" in said:
        raise BadAnswerError(f"says: {_sentence(said['error'])}")
    if said.get("version") != VERSION:
        raise BadAnswerError(
            f"answered the hello with version {said.get('version')!r}; this is version {VERSION}, "
            f'and the answer must hold "version":{VERSION}'
        )
    _refuse_unknown(said, _HELLO, where="the hello")
    randomness = said.get("randomness", "seed")
    if randomness not in _RANDOMNESS:
        raise BadAnswerError(f"wants the randomness {nearest(randomness, _RANDOMNESS)}".rstrip("."))
    given = {"max_batch": MAX_BATCH} | {key: said[key] for key in _FACTS if key in said}
    facts = facts_from(given, name=name, where="'s hello")
    return Hello(str(said.get("name", "")), randomness == "coins", facts)


class Requests:
    """Writes the requests to one program, and remembers the rows that it was sent."""

    def __init__(self) -> None:
        self._known: dict[bytes, int] = {}  # rows by their float64 values

    def line(self, batch: StepBatch, number: int, random: Mapping[str, Any]) -> bytes:
        """Returns the request to verify a batch; `random` holds its seed or its coins."""
        lengths = batch.num_draft_tokens.tolist()
        first = len(self._known)
        target, draft = self._named(batch, lengths)
        if first and sum(map(len, self._known)) > _MOST_BYTES:
            first = 0
            self._known.clear()
            target, draft = self._named(batch, lengths)
        return line_of(
            {
                "type": "verify",
                "number": number,
                "batch": len(lengths),
                "gamma": batch.draft_token_ids.shape[1],
                "vocab_size": batch.target_probs.shape[2],
                "dtype": str(batch.target_probs.dtype).removeprefix("torch."),
                "first_row": first,
                "rows": [np.frombuffer(row).tolist() for row in islice(self._known, first, None)],
                "draft_token_ids": cut(batch.draft_token_ids, lengths),
                "draft_rows": draft,
                "target_rows": target,
                **random,
            }
        )

    def _named(self, batch: StepBatch, lengths: Sequence[int]) -> tuple[Lists, Lists]:
        """Returns the numbers of the target and of the draft rows; new rows become known."""
        target = self._numbers(batch.target_probs, [n + 1 for n in lengths])
        return target, self._numbers(batch.draft_probs, lengths)

    def _numbers(self, probs: Tensor, lengths: Sequence[int]) -> Lists:
        """Returns the numbers of the first rows of each [rows, vocab]."""
        repeats = [slice(1) if stride == 0 else slice(None) for stride in probs.stride()[:2]]
        stored = probs[tuple(repeats)].double().cpu().contiguous().numpy()
        numbers, used = np.full(stored.shape[:2], -1), np.full(stored.shape[:2], True)
        if stored.shape == probs.shape:  # else a row may stand for others that are longer
            used = np.arange(stored.shape[1]) < np.array(lengths)[:, np.newaxis]
        rows: list[bytes] = stored[used].view(f"V{stored.shape[2] * 8}").ravel().tolist()
        for row in dict.fromkeys(rows):
            self._known.setdefault(row, len(self._known))
        numbers[used] = [self._known[row] for row in rows]
        return cut(np.broadcast_to(numbers, probs.shape[:2]), lengths)


def cut(rows: Tensor | npt.NDArray[Any], lengths: Sequence[int]) -> list[list[Any]]:
    """Returns the rows of a table as lists, each with as many of its values as `lengths` says.

    >>> cut(np.array([[4, 5], [6, -1]]), [2, 1])
    [[4, 5], [6]]
    """
    lists: list[list[Any]] = rows.tolist()
    if min(lengths) == rows.shape[1]:  # cutting costs as much as all the rest
        return lists
    return [row[:length] for row, length in zip(lists, lengths, strict=True)]


def rows_of(line: bytes, *, number: int, count: int, width: int) -> Answer:
    """Returns the rows of an answer, int64 [count, width], with the numbers accepted if given.

    Raises: BadAnswerError. Whether the ids are lawful is for the contract to say.
    """
    answer = message_of(line)
    if answer.get("number") != number:
        given = answer.get("number")
        raise BadAnswerError(f"answered call {number} with the number {given!r}", lost=True)
    _refuse_unknown(answer, _ANSWER, where=f"the answer to call {number}")
    if "error" in answer:
        raise BadAnswerError(f"says in call {number}: {_sentence(answer['error'])}")
    rows = _listed(answer.get("tokens"), "tokens", count)
    for row, tokens in enumerate(rows):
        if type(tokens) is not list or len(tokens) > width:
            raise BadAnswerError(f"gave {_brief(tokens)} for row {row}, not 1 to {width} tokens")
    tokens = _padded(rows, width)
    if "num_accepted" not in answer:
        return tokens
    accepted = _listed(answer["num_accepted"], "num_accepted", count)
    return tokens, torch.from_numpy(_integers(accepted, "num_accepted"))


def _listed(value: object, key: str, count: int) -> list[Any]:
    if type(value) is not list:
        raise BadAnswerError(f"gave {_brief(value)} for {key}, not a list of {count}")
    if len(value) != count:
        raise BadAnswerError(f"gave {key} of {len(value)} rows for a batch of {count}")
    return value


def _padded(rows: Sequence[list[Any]], width: int) -> Tensor:
    lengths = np.fromiter(map(len, rows), np.int64, len(rows))
    padded = np.full((len(rows), width), -1)
    padded[np.arange(width) < lengths[:, np.newaxis]] = _integers(chain(*rows), "tokens")
    return torch.from_numpy(padded)


def _integers(values: Iterable[Any], key: str) -> npt.NDArray[np.int64]:
    listed = list(values)
    strange = next((v for v in listed if type(v) is not int or not -(2**63) <= v < 2**63), None)
    if strange is not None:
        raise BadAnswerError(f"gave {_brief(strange)} in {key}, which holds whole numbers alone")
    return np.array(listed, dtype=np.int64)


def _refuse_unknown(message: Mapping[str, Any], known: Sequence[str], *, where: str) -> None:
    for key in message:
        if key not in known:
            raise BadAnswerError(f"gave {where} an unknown key {nearest(key, known)}".rstrip("."))


def _sentence(said: object) -> str:
    """Returns a program's own words as one line without a full stop."""
    return " ".join(str(said).split())[:200].rstrip(".")


def _brief(value: object) -> str:
    said = json.dumps(value)
    return said if len(said) <= 40 else f"{said[:37]}..."
