"""One recorded law: probabilities of all tokens, or of the listed ones and of the rest together.

A row is checked and never repaired in silence: what its sum lacks or exceeds is kept beside it and
is added to the tolerance of whatever is judged by it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from audit.tracefile.problems import BadRecord

SUM_BOUND = 0.01  # half-precision rows of a few dominant tokens reach some thousandths
Array = npt.NDArray[np.float64]
Ids = npt.NDArray[np.int64]
LAST = -1  # the cell of all tokens that are not listed
_SAME = 1e-6  # what rounding may put between equal probabilities


@dataclass(frozen=True, eq=False)
class Row:
    """A law over cells.

    probs float64 [cells] sum to 1; deviation: how far the recorded ones were from that. ids None:
    cell i is token i. Else cell i is token ids[i], and the last cell is every other token.
    """

    probs: Array
    deviation: float = 0.0
    ids: Ids | None = None

    @property
    def rest(self) -> float:
        """The probability of all tokens that are not listed; 0 where every token is."""
        return 0.0 if self.ids is None else float(self.probs[LAST])

    def cell(self, token: int) -> int:
        """Returns the cell that holds the token."""
        if self.ids is None:
            return token
        found = np.flatnonzero(self.ids == token)
        return int(found[0]) if len(found) else len(self.probs) - 1

    def between(self, token: int) -> tuple[float, float]:
        """Returns bounds on the token's probability, equal where it is listed.

        A token that is not listed may have nothing, and no more than the rest or, since the
        likeliest are listed, than the last of these.
        """
        if self.ids is None:
            value = float(self.probs[token]) if token < len(self.probs) else 0.0
            return value, value
        cell = self.cell(token)
        value = float(self.probs[cell])
        if cell < len(self.ids):
            return value, value
        return 0.0, min(value, float(self.probs[len(self.ids) - 1]))


def numbers(field: str, value: object) -> Array:
    """Returns numbers as float64, of any shape. Raises BadRecord for anything else."""
    try:
        array = np.asarray(value)
    except (ValueError, OverflowError, RecursionError):
        raise BadRecord(field, value, "is no array of numbers of one length") from None
    if array.dtype.kind not in "fiu":
        raise BadRecord(field, value, "does not hold numbers only")
    return array.astype(np.float64)


def token_ids(field: str, value: object) -> Ids:
    """Returns token ids, int64 [n], without the -1 behind them. Raises BadRecord for others."""
    if isinstance(value, list) and not value:
        return np.empty(0, dtype=np.int64)
    try:
        array = np.asarray(value)
    except (ValueError, OverflowError, RecursionError):
        raise BadRecord(field, value, "is no list of token ids") from None
    flags = isinstance(value, list) and any(isinstance(one, bool) for one in value)
    if array.ndim != 1 or array.dtype.kind not in "iu" or flags:
        raise BadRecord(field, value, "is no list of whole numbers")
    ids = array.astype(np.int64)
    ids = ids[: len(ids) - int((ids[::-1] != -1).argmax())] if (ids != -1).any() else ids[:0]
    if (ids < 0).any():
        raise BadRecord(field, int(ids[ids < 0][0]), "is no token id: it is negative")
    return ids


def dense(field: str, value: object) -> Row:
    """Returns the row of these probabilities. Raises BadRecord unless they are a law."""
    probs = numbers(field, value)
    if probs.ndim != 1 or not probs.size:
        raise BadRecord(field, probs.shape, "is the shape of no row: one number a token is needed")
    return _law(field, probs)


def softmax(field: str, value: object, temperature: float) -> Row:
    """Returns the row of these logits at a temperature; -inf stands for probability 0."""
    logits = numbers(field, value)
    if logits.ndim != 1 or not logits.size:
        raise BadRecord(field, logits.shape, "is the shape of no row: one number a token is needed")
    bad = np.flatnonzero(np.isnan(logits) | (logits == np.inf))
    if len(bad) or logits.max() == -np.inf:
        at = int(bad[0]) if len(bad) else 0
        raise BadRecord(f"{field}[{at}]", float(logits[at]), "makes no law: finite or -inf")
    weights = np.exp((logits - logits.max()) / temperature)
    return Row(weights / weights.sum())


def listed(field: str, value: object) -> Row:
    """Returns the row of `{"ids": ..., "logprobs" or "probs": ..., "rest": ...}`.

    rest: the probability of all other tokens, what is missing to 1 where it is not given. The
    likeliest tokens must be listed, in falling order: a list that also holds whatever was emitted
    would depend on what is to be judged.
    """
    if not isinstance(value, Mapping):
        raise BadRecord(field, value, "is no object with ids and logprobs")
    ids = token_ids(f"{field}.ids", value.get("ids"))
    if len(np.unique(ids)) < len(ids):
        raise BadRecord(f"{field}.ids", ids.tolist(), "lists a token twice")
    kind = "logprobs" if "logprobs" in value else "probs"
    probs = numbers(f"{field}.{kind}", value.get(kind))
    if kind == "logprobs":
        with np.errstate(over="ignore"):
            probs = np.exp(probs)
    if probs.shape != ids.shape or not ids.size:
        raise BadRecord(f"{field}.{kind}", probs.shape, f"is not the shape of ids, {ids.shape}")
    if (probs[1:] > probs[:-1] * (1 + _SAME)).any():
        raise BadRecord(f"{field}.{kind}", probs.tolist(), "do not fall: list the likeliest only")
    rest = value.get("rest")
    missing = max(1 - float(probs.sum()), 0.0) if rest is None else _rest(field, rest)
    return _law(field, np.append(probs, missing), ids)


def _rest(field: str, value: object) -> float:
    rest = numbers(f"{field}.rest", value)
    if rest.ndim:
        raise BadRecord(f"{field}.rest", value, "is no number")
    return float(rest)


def _law(field: str, probs: Array, ids: Ids | None = None) -> Row:
    bad = np.flatnonzero(~(np.isfinite(probs) & (probs >= 0)))
    if len(bad):
        at = int(bad[0])
        raise BadRecord(f"{field}[{at}]", float(probs[at]), "is no probability")
    total = float(probs.sum())
    if not abs(total - 1) <= SUM_BOUND:
        raise BadRecord(f"sum of {field}", total, f"is not 1 within {SUM_BOUND:g}")
    return Row(probs / total, abs(total - 1), ids)
