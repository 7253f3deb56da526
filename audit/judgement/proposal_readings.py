"""What drafts and claimed rows are, in terms of the rows that were handed over.

Drafts are compared with laws that code is known to draft from, claimed rows with rows that it is
known to claim. A law is read from the counts where it fits them (G at 1e-6 in every place) and is
the likeliest of those that do, half a logarithm of the draws charged for a fitted constant
(Schwarz, 1978); rows are read where they are equal. Readings explain what was proven: they never
prove anything.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import torch
from scipy import special

from audit.case import Case, Prefix
from audit.counts import Table
from audit.harness.proposals import Places
from audit.statistics.chi_square import likelihood_ratio
from audit.statistics.results import Array

FIT_LEVEL = 1e-6
UNLISTED, NOTHING, CHANGING = "unlisted", "nothing", "changing"
_CHANGING_WORDS = "rows that differ between rounds of one prefix"
_EQUAL = 1e-5  # between a row and itself in float32; a fitted constant may be ten times that off
_TOP_P = (0.5, 0.6, 0.7, 0.8, 0.9, 0.95)
_MOST_BLOCKS = 4096
_BEFOREHAND = math.log(100)  # the odds for the draft model's row


@dataclass(frozen=True, eq=False)
class Reading:
    """Rows by place, [places, vocab]; kind: the one of several that differ by a constant alone.

    fitted: how many constants were chosen by what was seen.
    """

    kind: str
    words: str
    rows: Array
    fitted: int = 0


@dataclass(frozen=True, eq=False)
class Ground:
    """The rows that were handed over, by place, [places, vocab]."""

    case: Case
    places: Places
    draft: Array
    target: Array

    @classmethod
    def of(cls, case: Case) -> Ground:
        """Returns the ground of a case."""
        places = Places.of(case)
        return cls(case, places, places.rows(case.draft), places.rows(case.target))

    def after(self, shorten: Callable[[Prefix], Prefix]) -> Array:
        """Returns the draft's rows after shortened prefixes."""
        return self.places.rows(self.case.draft, shorten)


def what_was_drawn(ground: Ground, drawn: Table) -> Reading:
    """Returns the reading of the drafts, int64 [places, vocab]; UNLISTED where none fits."""
    charge = math.log(max(int(drawn.sum()), 2)) / 2
    return min(
        (one for one in _readings(ground, drawn.astype(np.float64)) if _fits(drawn, one.rows)),
        key=lambda one: (
            one.fitted * charge
            + (one.kind != "row") * _BEFOREHAND
            - float(special.xlogy(drawn, one.rows).sum())
        ),
        default=Reading(UNLISTED, "no listed law", ground.draft),
    )


def what_was_claimed(
    ground: Ground, claimed: Array, first: Array, varies: Array, along: float
) -> Reading:
    """Returns the reading of the claimed rows.

    claimed [places, vocab]: their sums; first: one of each place, -1 where there is none; varies
    [places]: how far others are from it; along: how far apart those of one round are.
    """
    seen = claimed.sum(axis=1) > 0
    if not seen.any():
        return Reading(NOTHING, "nothing", ground.draft)
    if (varies[seen] > _EQUAL).any():
        same = ground.case.num_speculative_tokens > 1 and along <= _EQUAL
        words = "one row for all positions of a round" if same else _CHANGING_WORDS
        return Reading(CHANGING, words, first)
    for one in _readings(ground, claimed):
        near = _EQUAL * (10 if one.kind in ("temperature", "processed") else 1)
        if np.abs(one.rows - first)[seen].max() <= near:
            return one
    return Reading(UNLISTED, "no listed row", first)


def follows_model(ground: Ground, drawn: Table) -> bool:
    """Whether the drafts may be draws from the draft model's rows."""
    return _fits(drawn, ground.draft)


def _readings(ground: Ground, seen: Array) -> Iterator[Reading]:
    """Yields what drafts and claims may be, the likeliest beforehand first; seen fits constants."""
    rows, size, model = ground.draft, ground.draft.shape[1], "the draft model's"
    yield Reading("row", f"{model} row", rows)
    yield Reading("argmax", f"{model} most probable token", top(rows, 1))
    yield Reading("frozen", f"{model} row of the first position", ground.after(lambda _: ()))
    yield Reading("late", f"{model} row of the position before", ground.after(lambda s: s[:-1]))
    yield Reading("target", "the target's row", ground.target)
    for dtype in (torch.bfloat16, torch.float16):
        name = str(dtype).removeprefix("torch.")
        yield Reading("rounded", f"{model} row rounded to {name}", rounded(rows, dtype), 1)
    yield Reading("bfloat16", f"{model} row from logits in bfloat16", coarse(rows), 1)
    for k in range(2, size):
        yield Reading(f"top-{k}", f"{model} {k} most probable tokens", top(rows, k), 1)
    for p in _TOP_P:
        yield Reading("top-p", f"{model} row after top-p {p:g}", top_p(rows, p), 1)
    if ground.case.num_speculative_tokens > 1 and (block := likeliest_block(ground)) is not None:
        yield Reading("beam", f"{model} most probable block", block)
    power = fitted_power(rows, seen)
    if (times := f"{1 / power:.3g}") != "1":
        words = f"{model} row at {times} times its temperature"
        yield Reading("temperature", words, normalised(rows**power), 1)
    for k in range(2, size):
        yield from _tempered_top(rows, seen, k)
    yield Reading("mapped", f"{model} row under other token ids", renamed(rows, seen), size)


def _tempered_top(rows: Array, seen: Array, k: int) -> Iterator[Reading]:
    """Yields the k most probable tokens at a fitted temperature, if no other token was seen."""
    cut = top(rows, k)
    if seen[cut <= 0].any():
        return
    power = fitted_power(cut, seen)
    words = f"the draft model's {k} most probable tokens at {1 / power:.3g} times its temperature"
    yield Reading("processed", words, normalised(cut**power), 2)


def _fits(drawn: Table, rows: Array) -> bool:
    """Whether the draws of every place fit its row."""
    visited = np.flatnonzero(drawn.sum(axis=1))
    if drawn[rows <= 0].any():
        return False
    return all(
        likelihood_ratio(drawn[i], rows[i] / rows[i].sum(), n=int(drawn[i].sum())).p_value
        >= FIT_LEVEL / len(visited)
        for i in visited
    )


def normalised(rows: Array) -> Array:
    """Returns each row over its sum."""
    return np.asarray(rows / rows.sum(axis=1, keepdims=True), dtype=np.float64)


def top(rows: Array, k: int) -> Array:
    """Returns the rows cut to their k most probable tokens, the lower id among equals."""
    rank = np.argsort(np.argsort(-rows, axis=1, kind="stable"), axis=1)
    return normalised(np.where(rank < k, rows, 0.0))


def top_p(rows: Array, p: float) -> Array:
    """Returns the rows cut to the fewest most probable tokens with a mass of at least p."""
    order = np.argsort(-rows, axis=1, kind="stable")
    before = np.cumsum(np.take_along_axis(rows, order, 1), axis=1)
    before = np.concatenate([np.zeros((len(rows), 1)), before[:, :-1]], axis=1)
    kept = np.empty(rows.shape, dtype=bool)
    np.put_along_axis(kept, order, before < p, 1)
    return normalised(np.where(kept, rows, 0.0))


def rounded(rows: Array, dtype: torch.dtype) -> Array:
    """Returns the rows rounded to a type."""
    return normalised(np.asarray(torch.from_numpy(rows).to(dtype).double().numpy()))


def coarse(rows: Array) -> Array:
    """Returns the rows that logits in bfloat16 give."""
    logits = torch.from_numpy(rows).log().bfloat16().double()
    return np.asarray(logits.softmax(1).numpy(), dtype=np.float64)


def fitted_power(rows: Array, seen: Array) -> float:
    """Returns the power b at which rows ** b, normalised, are likeliest, by bisection.

    The mean of log row falls with the power; at the likeliest it is the one that was seen.
    """
    logs = np.log(np.where(rows > 0, rows, 1.0))
    wanted, sizes = float((seen * logs).sum()), seen.sum(axis=1)
    low, high = 2.0**-6, 2.0**6
    for _ in range(50):
        middle = math.sqrt(low * high)
        mean = float(sizes @ (normalised(rows**middle) * logs).sum(axis=1))
        low, high = (middle, high) if mean < wanted else (low, middle)
    return low


def renamed(rows: Array, seen: Array) -> Array:
    """Returns the rows with the one renaming of tokens that puts both in the same order."""
    expected = (seen.sum(axis=1, keepdims=True) * rows).sum(axis=0)
    by_size = np.empty(rows.shape[1], dtype=np.int64)
    by_size[np.argsort(-seen.sum(axis=0), kind="stable")] = np.argsort(-expected, kind="stable")
    return np.asarray(rows[:, by_size], dtype=np.float64)


def likeliest_block(ground: Ground) -> Array | None:
    """Returns the rows that draft one block, the likeliest; None where there are too many."""
    case, gamma = ground.case, ground.case.num_speculative_tokens
    if case.vocab_size**gamma > _MOST_BLOCKS:
        return None
    blocks = torch.tensor(list(case.prefixes(gamma)))
    index = ground.places.index(blocks).numpy()
    best = int(ground.draft[index, blocks.numpy()].prod(axis=1).argmax())
    rows = ground.draft.copy()
    rows[index[best]] = np.eye(case.vocab_size)[blocks[best].numpy()]
    return rows
