"""Large-vocabulary rows made from a seed: Zipf's law for the target, a perturbed copy as draft.

Everything is integer arithmetic, so that a seed means the same rows on every machine:
- the id of rank r (1 is the most probable) comes from a shuffle keyed by the seed;
- target weight of rank r: the integer part of 2^40 / r^exponent;
- draft weight: the target weight times an integer drawn evenly from 0..draft_spread, so that about
  one id in draft_spread + 1 is never drafted, and draft / target is spread evenly over 0..2.

The random integers are SplitMix64 (Steele, Lea and Flood, 2014) of a counter.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from audit.row import Row

_SCALE = 2**40
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_MIX_1, _MIX_2 = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_SHIFTS = (np.uint64(30), np.uint64(27), np.uint64(31))
_SHUFFLE, _SPREAD = 0, 1  # which use of the seed a random integer belongs to


def splitmix64(counters: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """Returns uint64 like `counters`: the SplitMix64 output at each counter.

    >>> hex(splitmix64(np.array([0], dtype=np.uint64))[0])
    '0xe220a8397b1dcdaf'
    """
    mixed = (counters + np.uint64(1)) * _GOLDEN
    mixed = (mixed ^ (mixed >> _SHIFTS[0])) * _MIX_1
    mixed = (mixed ^ (mixed >> _SHIFTS[1])) * _MIX_2
    return mixed ^ (mixed >> _SHIFTS[2])


def zipf_weights(count: int, exponent: Fraction) -> list[int]:
    """Returns the weights of the ranks 1..count for an exponent that is a multiple of 1/2.

    >>> zipf_weights(4, Fraction(1)) == [2**40 // rank for rank in (1, 2, 3, 4)]
    True
    """
    squared = int(2 * exponent)  # 1 / r^(m/2) is the root of 1 / r^m, and isqrt is exact
    return [math.isqrt(_SCALE**2 // rank**squared) for rank in range(1, count + 1)]


@dataclass(frozen=True)
class GeneratedRows:
    """What decides a pair of generated rows: called with a vocabulary size, it makes them.

    seed is in 0..2^31 - 1, exponent a multiple of 1/2, draft_spread at least 1.
    """

    seed: int
    exponent: Fraction
    draft_spread: int

    def __call__(self, vocab_size: int) -> tuple[Row, Row]:
        """Returns the target row and the draft row.

        Raises: ValueError where this seed leaves the draft nothing to propose.
        """
        ids = np.argsort(self._words(vocab_size, _SHUFFLE), kind="stable")
        weights = np.empty(vocab_size, dtype=object)
        weights[ids] = zipf_weights(vocab_size, self.exponent)
        factors = self._words(vocab_size, _SPREAD) % np.uint64(self.draft_spread + 1)
        drafted = [w * f for w, f in zip(weights.tolist(), factors.tolist(), strict=True)]
        if not any(drafted):
            raise ValueError(f"is {self.seed}, which makes every draft weight 0; choose another.")
        return Row.normalised(weights), Row.normalised(drafted)

    def _words(self, count: int, use: int) -> npt.NDArray[np.uint64]:
        start = np.uint64((2 * self.seed + use) << 32)
        return splitmix64(start + np.arange(count, dtype=np.uint64))
