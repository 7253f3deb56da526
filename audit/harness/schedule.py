"""When a run looks at its data: fixed before the first trial.

The trials between two looks are made in three chunks: an eighth with rows of several cases mixed
in one call, then two halves of the rest with one case a call. Bets are placed chunk by chunk.
A mixed chunk begins with small calls of several sizes, since engines make them too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

MIXED_SHARE = 8  # at least one trial in eight is made in a mixed call
MIN_CALLS = 8  # calls a chunk, so that dependence between calls and rows can show
SMALL_CALLS = (1, 2, 3, 8, 64)  # rows of the calls with which a mixed chunk begins
VERSION = 3  # of what a chunk is: a run that began with another one cannot be resumed
_TURNS = 4  # of the small calls; they take a quarter of the rows at most
_SMALL_SHARE = 4


@dataclass(frozen=True)
class Chunk:
    """Trials first..first + trials - 1 of a case, made before look `look` (1, 2, ...)."""

    look: int
    part: int
    first: int
    trials: int

    @property
    def mixed(self) -> bool:
        """Whether rows of several cases share the calls of this chunk."""
        return self.part == 0


def chunks(looks: Sequence[int]) -> list[Chunk]:
    """Returns the chunks that lead to these looks (increasing numbers of trials).

    >>> [(c.first, c.trials) for c in chunks([200])]
    [(0, 25), (25, 88), (113, 87)]
    """
    return [
        chunk
        for number, (before, until) in enumerate(zip([0, *looks], looks, strict=False), start=1)
        for chunk in _parts(number, before, until)
    ]


def _parts(look: int, before: int, until: int) -> list[Chunk]:
    increment = until - before
    mixed = -(-increment // MIXED_SHARE)
    half = -(-(increment - mixed) // 2)
    sizes = [mixed, half, increment - mixed - half]
    starts = [before, before + mixed, before + mixed + half]
    return [
        Chunk(look, part, first, size)
        for part, (first, size) in enumerate(zip(starts, sizes, strict=True))
        if size > 0
    ]


def call_rows(rows: int, *, batch_size: int) -> list[range]:
    """Returns the rows of each call: at most `batch_size`, in MIN_CALLS calls or more."""
    size = max(1, min(batch_size, -(-rows // MIN_CALLS)))
    return _cut(rows, [size] * -(-rows // size))


def small_call_rows(rows: int, *, batch_size: int) -> list[range]:
    """Returns the rows of each call of a mixed chunk: calls of SMALL_CALLS rows, then others.

    >>> [len(call) for call in small_call_rows(64, batch_size=40)]
    [1, 2, 3, 8, 1, 1, 6, 6, 6, 6, 6, 6, 6, 6]
    """
    small, left = list[int](), rows // _SMALL_SHARE
    for size in _TURNS * SMALL_CALLS:
        if size <= min(left, batch_size):
            small.append(size)
            left -= size
    rest = call_rows(rows - sum(small), batch_size=batch_size)
    return _cut(rows, [*small, *map(len, rest)])


def only_small_call_rows(rows: int, *, batch_size: int) -> list[range]:
    """Returns the rows of each call: SMALL_CALLS rows alone, each size with a share of the rows.

    >>> [len(call) for call in only_small_call_rows(12, batch_size=3)]
    [1, 1, 1, 1, 2, 2, 3, 1]
    """
    sizes = [size for size in SMALL_CALLS if size <= batch_size]
    share = -(-rows // len(sizes))
    return _cut(rows, [size for size in sizes for _ in range(-(-share // size))])


def _cut(rows: int, sizes: Sequence[int]) -> list[range]:
    """Returns consecutive ranges of these sizes that end at `rows`, without empty ones."""
    stops = [min(stop, rows) for stop in accumulate(sizes)]
    starts = [0, *stops[:-1]]
    return [range(a, b) for a, b in zip(starts, stops, strict=True) if a < b]


def automatic_batch_size(vocab_size: int, drafted: int) -> int:
    """Returns rows a call that keep about 2^19 probabilities in flight, 4 to 65,536 rows."""
    return max(4, min(65_536, 2**19 // (vocab_size * (drafted + 1))))
