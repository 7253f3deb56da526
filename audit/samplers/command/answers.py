"""The lines that a program answers, protocol version 1: what they must hold, and what they said."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from audit.plural import counted
from audit.samplers.command.requests import VERSION
from audit.samplers.facts import facts_from, nearest
from audit.samplers.interface import Facts

MAX_BATCH = 1024  # rows a call where a program does not say: larger calls are no faster
_FACTS = ("declares", "claims", "ragged", "independent_rows", "max_batch")
_HELLO = ("version", "name", "randomness", *_FACTS)
_ANSWER = ("number", "tokens", "num_accepted", "error")
_RANDOMNESS = ("seed", "coins")

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


def message_of(line: bytes) -> dict[str, Any]:
    """Returns the JSON object of a line. Raises BadAnswerError where it is none."""
    try:
        message = json.loads(line)
    except (ValueError, RecursionError):
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
        raise BadAnswerError(f"gave {key} of {counted(len(value), 'row')} for a batch of {count}")
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
