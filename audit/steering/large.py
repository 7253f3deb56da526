"""The draws of a sampler over a large vocabulary, read off at some of its ids.

A vocabulary of 32,000 has too many blocks and too many outcomes for a map. But a draw by running
sums is one number, and where it passes an id is found by bisection; a draw by weights shows them.
For a few blocks this tells the law of the recovered and of the bonus token over ranges of ids, and
how much of it is left for the last id, where running sums in a short type fall short of 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

import numpy as np
import torch

from audit.case import Case, Prefix
from audit.samplers.interface import LoadedSampler, Sampler
from audit.samplers.registry import wrap_sampler
from audit.steering.answers import ABSENT
from audit.steering.blocks import EXCEPTION, Blocks
from audit.steering.draws import UnsteerableError
from audit.steering.grids import Indices
from audit.steering.modes import settle
from audit.steering.probing import Prober
from audit.steering.result import Asked, NotSteerable
from audit.steering.searching import Context, Search, together

ROWS = 64
PROBES = np.arange(4)
IDS = 48


@dataclass(frozen=True)
class Steps:
    """The law of the last token of a round over ranges of ids.

    bonus: whether the block was accepted. starts: the first id of each range, the last range is the
    last id alone. masses and ideal: what the sampler gives each range and what is right. number:
    what draws it.
    """

    block: Prefix
    bonus: bool
    starts: tuple[int, ...]
    masses: tuple[Fraction, ...]
    ideal: tuple[Fraction, ...]
    number: str

    @property
    def at_least(self) -> Fraction:
        """The total variation over the ranges, at most that over the ids."""
        pairs = zip(self.masses, self.ideal, strict=True)
        return sum((abs(a - b) for a, b in pairs), Fraction(0)) / 2

    @property
    def leftover(self) -> Fraction:
        """What the last id has too much."""
        return self.masses[-1] - self.ideal[-1]


def steer_large(
    sampler: LoadedSampler | Sampler,
    case: Case,
    *,
    dtype: torch.dtype = torch.float32,
    seed: int = 0,
) -> tuple[Steps, ...] | NotSteerable:
    """Returns the law of the recovered and the bonus token of some blocks, over ranges of ids.

    case: one drafted token, rows that do not depend on the prefix.
    Raises: SamplerError where the sampler breaks its contract.
    """
    loaded = sampler if isinstance(sampler, LoadedSampler) else wrap_sampler(sampler)
    blocks = Blocks.of(case, dtype=dtype, device=torch.device("cpu"), chosen=_blocks(case))
    prober = Prober(loaded, blocks, seed, min(ROWS, loaded.facts.max_batch or ROWS))
    try:
        with prober.watching():
            settle(prober)
            searches = [_ended(prober, number) for number in range(len(blocks.chosen))]
            return tuple(steps for found in together(searches, prober) for steps in found)
    except UnsteerableError as error:
        return NotSteerable(str(error), Asked(prober.calls, prober.rows))


def _blocks(case: Case) -> tuple[Prefix, ...]:
    """Returns the likeliest draft, and the one that the draft overrates most."""
    p, q = case.target[()].floats(), case.draft[()].floats()
    return tuple(dict.fromkeys([(int(q.argmax()),), (int((q - p).argmax()),)]))


def _ended(prober: Prober, block: int) -> Search[list[Steps]]:
    """Finds the laws of a block's last token where its test fails and where it passes."""
    top = Context(block)
    looks = yield from _looked(prober, top)
    ends = {1: top, 2: top}  # a context for each emitted length
    for column, (indices, codes) in looks.items():
        lengths = _lengths(prober, codes)
        for length in ends:
            sure = np.flatnonzero((lengths == length).all(axis=1))
            if len(sure) and (lengths != length).any():
                ends[length] = top.deciding([column], [int(indices[sure[0]])])
    found = []
    for length, context in ends.items():
        steps = yield from _drawn(prober, context, length)
        found += [steps] if steps is not None else []
    return found


Looks = dict[int, tuple[Indices, Indices]]


def _looked(prober: Prober, context: Context) -> Search[Looks]:
    """Finds the numbers on a grid, with some indices and the codes [indices, probes] they give."""
    base = yield context.ask([], np.zeros((1, 0), dtype=np.int64), PROBES)
    found: Looks = {}
    for column in np.flatnonzero((base.coins != ABSENT).any(axis=0)).tolist():
        grid = prober.layout.by_column[column].grid
        if grid is not None and column not in context.decided:
            looks = np.unique([grid.first + 1, *grid.at(np.linspace(0.1, 0.9, 9)), grid.last - 1])
            answer = yield context.ask([column], looks[:, None], PROBES)
            found[column] = looks, answer.codes.reshape(len(looks), -1)
    return found


def _lengths(prober: Prober, codes: Indices) -> Indices:
    """Returns the emitted lengths behind codes, 0 for an exception."""
    lengths = [
        0 if c == EXCEPTION else len(prober.blocks.outcome(c)) for c in codes.ravel().tolist()
    ]
    return np.array(lengths).reshape(codes.shape)


def _drawn(prober: Prober, context: Context, length: int) -> Search[Steps | None]:
    """Finds the law of the last token in a context, None where nothing of this length is drawn."""
    base = yield context.ask([], np.zeros((1, 0), dtype=np.int64), PROBES)
    if (_lengths(prober, base.codes) != length).any():
        return None
    starts = _starts(prober.blocks.case.vocab_size)
    for column, weights in base.weights.items():
        exact = [Fraction(weight) for weight in weights[0].tolist()]
        return _steps(prober, context, length, column, _ranges(exact, starts))
    looks = yield from _looked(prober, context)
    for column, (_, codes) in looks.items():
        if (codes[1:] != codes[:-1]).all(axis=1).any():
            grid = prober.layout.by_column[column].grid
            assert grid is not None
            turns = yield from _passed(prober, context, column, starts[1:])
            masses = [grid.mass(a, b) for a, b in pairwise([grid.first, *turns, grid.last + 1])]
            return _steps(prober, context, length, column, masses)
    return None


def _passed(
    prober: Prober, context: Context, column: int, starts: tuple[int, ...]
) -> Search[list[int]]:
    """Finds the lowest index at which a number draws these ids or later ones."""
    grid = prober.layout.by_column[column].grid
    assert grid is not None
    low, high = np.full(len(starts), grid.first - 1), np.full(len(starts), grid.last + 1)
    while (high - low).max() > 1:
        middle = np.where(high - low > 1, (low + high) // 2, np.maximum(low, grid.first))
        answer = yield context.ask([column], middle[:, None], PROBES[:1])
        tokens = np.array([_last(prober, code) for code in answer.codes.tolist()])
        there, inside = tokens >= starts, high - low > 1
        high = np.where(inside & there, middle, high)
        low = np.where(inside & ~there, middle, low)
    return [int(index) for index in high]


def _last(prober: Prober, code: int) -> int:
    """Returns the last token behind a code, the lowest id where there is none."""
    outcome = () if code == EXCEPTION else prober.blocks.outcome(code)
    return outcome[-1] if outcome else -1


def _starts(vocab_size: int) -> tuple[int, ...]:
    """Returns the first ids of the ranges: close together at first, and the last id alone."""
    spread = np.geomspace(1, vocab_size - 1, IDS).astype(np.int64).tolist()
    return tuple(sorted({0, *spread}))


def _ranges(masses: Sequence[Fraction], starts: tuple[int, ...]) -> list[Fraction]:
    """Returns masses by id as shares of the ranges."""
    total = sum(masses, Fraction(0))
    ends = pairwise((*starts, len(masses)))
    return [sum(masses[a:b], Fraction(0)) / total for a, b in ends]


def _steps(
    prober: Prober, context: Context, length: int, column: int, masses: list[Fraction]
) -> Steps:
    p, q = prober.blocks.case.target[()], prober.blocks.case.draft[()]
    right = list(p)
    if length == 1:
        right = [max(a - b, Fraction(0)) for a, b in zip(p, q, strict=True)]
    starts = _starts(len(p))
    block = prober.blocks.chosen[context.block]
    name = prober.layout.by_column[column].name
    ideal = tuple(_ranges(right, starts))
    return Steps(block, length > 1, starts, tuple(masses), ideal, name)
