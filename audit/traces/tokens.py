"""From rounds to the tokens that are judged, gathered by the shape of their rows.

A rule is lossless exactly if P(token j | the tokens before it, length >= j) is the target's row
there. So token j is judged by that row alone: neither what was drafted at its place nor how long
the round became has a part in it. The draft row only says in which order cells are looked at, and
what a fault would emit; it follows from the tokens before j as the target row does. (A drafter may
choose gamma by what it has drafted, as long as no drafted token is taken back.)
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from audit.tracefile.rounds import Round
from audit.tracefile.rows import Array, Row

HALF_TOLERANCE = 1e-3
_TOLERANCE = 1e-6
_LARGE_TOLERANCE = 1e-5
_LARGE_VOCABULARY = 1000
Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Draft:
    """Draft rows over the cells of target rows, [tokens, cells] each.

    low and high bound the probabilities, and are equal where they are known; rows sum to 1.
    """

    rows: Array
    low: Array
    high: Array


@dataclass(frozen=True, eq=False)
class Tokens:
    """Emitted tokens whose rows have the same number of cells.

    target [tokens, cells]; cell int64 [tokens] is where the emitted token lies; rounds and places
    int64 [tokens] count rounds of the chunk and tokens of the round, from 0. bonus: every drafted
    token stands before it; the draft row is then that of the last drafted token. before: the target
    row of that token over the same cells, elsewhere the target's own. exact: every cell is one
    token, and its probabilities are known. rest [tokens]: the probability of the tokens that are
    not listed.
    """

    target: Array
    before: Array
    draft: Draft | None
    cell: npt.NDArray[np.int64]
    rounds: npt.NDArray[np.int64]
    places: npt.NDArray[np.int64]
    bonus: Flags
    tolerance: Array
    exact: Flags
    rest: Array


@dataclass(frozen=True)
class _Token:
    """One emitted token with its rows."""

    target: Row
    before: Row
    draft: Row | None
    token: int
    round: int
    place: int
    bonus: bool
    tolerance: float


def tokens_of(rounds: Iterable[Round], *, tolerance: float | None) -> list[Tokens]:
    """Returns the tokens of sampled rounds whose target row is known, one batch a shape.

    tolerance: the total variation allowed between a recorded row and the one that the engine
    used; None for what the type and the size of the rows suggest.
    """
    groups: dict[tuple[int, bool], list[_Token]] = {}
    for index, one in enumerate(rounds):
        for token in _judged(one, index, tolerance):
            shape = len(token.target.probs), token.draft is not None
            groups.setdefault(shape, []).append(token)
    return [_gathered(group) for group in groups.values()]


def tolerance_of(row: Row, round_: Round, tolerance: float | None) -> float:
    """Returns what a row may be wrong by: the tolerance, and what its sum was off by."""
    if tolerance is None:
        small = len(row.probs) <= _LARGE_VOCABULARY
        tolerance = _TOLERANCE if small else _LARGE_TOLERANCE
        tolerance = HALF_TOLERANCE if round_.half else tolerance
    return tolerance + row.deviation


def _judged(one: Round, index: int, tolerance: float | None) -> Iterable[_Token]:
    drafting = (*one.drafting, *one.drafting[-1:]) or (None,) * len(one.target)
    for place in range(one.judged):
        row = one.target[place]
        bonus = place == one.gamma
        allowed = tolerance_of(row, one, tolerance)
        token = int(one.emitted[place])
        before = one.target[place - 1] if bonus and place else row
        yield _Token(row, before, drafting[place], token, index, place, bonus, allowed)


def _gathered(group: Sequence[_Token]) -> Tokens:
    beside = [beside_target(t.draft, t.target) for t in group if t.draft is not None]
    draft = Draft(*(np.stack(part) for part in zip(*beside, strict=True))) if beside else None
    exact = np.array([t.target.ids is None and t.before.ids is None for t in group])
    if draft is not None:
        exact &= (draft.low == draft.high).all(axis=1)
    return Tokens(
        target=np.stack([token.target.probs for token in group]),
        before=np.stack([_before(token) for token in group]),
        draft=draft,
        cell=np.array([token.target.cell(token.token) for token in group]),
        rounds=np.array([token.round for token in group]),
        places=np.array([token.place for token in group]),
        bonus=np.array([token.bonus for token in group]),
        tolerance=np.array([token.tolerance for token in group]),
        exact=exact,
        rest=np.array([token.target.rest for token in group]),
    )


def _before(token: _Token) -> Array:
    """Returns the row before over the cells of the token's own row, guessed where it is cut."""
    if token.before is token.target:
        return token.target.probs
    return beside_target(token.before, token.target)[0]


def beside_target(draft: Row, target: Row) -> tuple[Array, Array, Array]:
    """Returns a draft row over the cells of a target row: likeliest guess, low, high.

    Between the bounds the guess is in proportion, so that it sums to 1.
    """
    if target.ids is None:
        low, high = _spread(draft, len(target.probs))
    else:
        bounds = np.array([draft.between(token) for token in target.ids.tolist()])
        ends = 1 - bounds.sum(axis=0)[::-1]
        low, high = np.append(bounds, np.clip(ends, 0, 1)[np.newaxis], axis=0).T
    open_, missing = high - low, 1 - float(low.sum())
    share = missing / float(open_.sum()) if open_.any() else 0.0
    return low + share * open_, low, high


def _spread(draft: Row, size: int) -> tuple[Array, Array]:
    """Returns bounds on the draft's probability of each of `size` tokens."""
    if draft.ids is None:
        row = np.zeros(size)
        row[: len(draft.probs)] = draft.probs
        return row, row
    low, high = np.zeros(size), np.full(size, min(draft.rest, float(draft.probs[-2])))
    low[draft.ids] = high[draft.ids] = draft.probs[:-1]
    return low, high
