"""When a run looks at its data: fixed before the first trial.

The trials between two looks are made in three chunks: an eighth with rows of several cases mixed
in one call, then two halves of the rest with one case a call. Bets are placed chunk by chunk.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

MIXED_SHARE = 8  # at least one trial in eight is made in a mixed call
MIN_CALLS = 8  # calls a chunk, so that dependence between calls and rows can show


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
    return [range(start, min(start + size, rows)) for start in range(0, rows, size)]


def automatic_batch_size(vocab_size: int, gamma: int) -> int:
    """Returns rows a call that keep about 2^19 probabilities in flight, 4 to 65,536 rows."""
    return max(4, min(65_536, 2**19 // (vocab_size * (gamma + 1))))
