"""Finds out how rows and random numbers go together, and whether a call is steerable at all."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from audit.steering.answers import ABSENT, UNDECIDED, Answer, Request
from audit.steering.coupling import Missed
from audit.steering.draws import Draw, UnsteerableError
from audit.steering.grids import Indices
from audit.steering.layout import Batched, Key, Mode, Single, looped
from audit.steering.probes import RANDOM
from audit.steering.probing import MANY, Prober

HIDDEN = "it reads a clock, counts its calls, or draws from a source that cannot be seen"
ROWS = 148
ALONE = 16
TWICE = 50_000
REPEATS = 6


def settle(prober: Prober) -> None:
    """Sets the mode in which the prober asks: many rows a call where that gives the same.

    Rows that share a number of their call are asked one by one: no count of rows bounds what such a
    number decides.

    Raises: UnsteerableError where a row differs although all its known numbers are the same.
    """
    many = prober.batch_size >= MANY and prober.sampler.facts.independent_rows
    prober.mode = Single()
    prober.learn([1, MANY] if many else [1])
    alone = _alone(prober)
    for mode in _candidates(prober) if many else []:
        prober.mode = mode
        steady = _steady(prober, alone)
        if steady and not (isinstance(mode, Batched) and prober.layout.shared):
            return
    prober.mode = Single()


def _alone(prober: Prober) -> Answer:
    request = _rows(prober, np.arange(ALONE))
    first = prober.run(request)
    for _ in range(REPEATS):
        if not np.array_equal(prober.run(request).codes, first.codes):
            raise UnsteerableError(_reason(prober))
    return first


def confirm(prober: Prober, missed: Missed) -> None:
    """Checks that rows that were not foretold emit the same again under the same numbers.

    Raises: UnsteerableError where they do not.
    """
    coins = np.where(missed.answer.coins == ABSENT, UNDECIDED, missed.answer.coins)
    again = prober.run(Request(missed.blocks, coins, np.zeros_like(missed.blocks))).codes
    changed = int((again != missed.answer.codes).sum())
    if changed:
        raise UnsteerableError(
            f"{changed} of {len(missed)} rows that its random numbers do not explain emit "
            f"something else when they come with the same numbers again; {HIDDEN}"
        )


def unsteady(prober: Prober) -> str:
    """Returns what is wrong where rows that come twice with the same numbers differ, else ""."""
    request = _rows(prober, np.arange(TWICE if isinstance(prober.mode, Batched) else ROWS))
    once, again = (prober.run(request).codes for _ in range(2))
    changed = int((once != again).sum())
    return (
        f"{changed} of {len(request)} rows differ under the same random numbers; {HIDDEN}"
        if changed
        else ""
    )


def _reason(prober: Prober) -> str:
    unknown = sorted(prober.layout.unknown)
    if unknown:
        return f"its output depends on {', '.join(unknown)}, which cannot be steered"
    if not prober.layout.by_column:
        return "its output varies, but it draws no random number here that can be seen"
    return f"its output varies although all its random numbers are the same; {HIDDEN}"


def _candidates(prober: Prober) -> list[Mode]:
    one, many = (_trace(prober, rows) for rows in (1, MANY))
    loop = looped([key for key, _ in one], [key for key, _ in many], MANY)
    return [loop] if loop else [Batched()]


def _trace(prober: Prober, rows: int) -> Sequence[tuple[Key, Indices]]:
    """Returns what each draw of a call is, and its values."""
    found: list[tuple[Key, Indices]] = []

    def note(draw: Draw) -> None:
        found.append(((draw.site, draw.name, draw.shape), draw.own))

    prober.watch(rows, note)
    return found


def _rows(prober: Prober, numbers: Indices) -> Request:
    blocks = numbers % len(prober.blocks.tokens)
    nothing = np.full((len(numbers), 0), UNDECIDED)
    return Request(blocks, nothing, numbers % RANDOM)


def _steady(prober: Prober, alone: Answer) -> bool:
    """Returns whether rows emit the same whatever rows stand beside them.

    Raises: UnsteerableError where a call that failed this gives something else when it is repeated.
    """
    rng = np.random.default_rng(prober.seed)
    for _ in range(REPEATS):
        order = rng.permutation(ROWS)
        codes = prober.run(_rows(prober, order)).codes
        if not np.array_equal(codes[np.argsort(order)][:ALONE], alone.codes):
            if not np.array_equal(prober.run(_rows(prober, order)).codes, codes):
                raise UnsteerableError(_reason(prober))
            return False
    return True
