"""One probability row over a vocabulary, held exactly.

A row is integer numerators over one common denominator, so that a vocabulary of 128,256 ids
costs one array and no arithmetic on it ever rounds.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

Numerators = npt.NDArray[Any]  # int64 where every numerator fits, else Python integers
_INT64_BITS = 62


def integer_array(values: Iterable[int]) -> Numerators:
    """Returns the integers as a read-only array: int64 where they fit, else object.

    >>> integer_array([1, 2]).dtype, integer_array([2**70]).dtype
    (dtype('int64'), dtype('O'))
    """
    listed = [int(value) for value in values]
    small = all(value.bit_length() <= _INT64_BITS for value in listed)
    array = np.array(listed, dtype=np.int64 if small else object)
    array.flags.writeable = False
    return array


@dataclass(frozen=True, eq=False)
class Row:
    """Probabilities numerators[i] / denominator of the ids 0..V-1; they sum to exactly 1.

    >>> row = Row.of([Fraction(1, 5), Fraction(1, 2), Fraction(3, 10)])
    >>> row[1], len(row), row.denominator
    (Fraction(1, 2), 3, 10)
    """

    numerators: Numerators
    denominator: int

    @classmethod
    def of(cls, probabilities: Iterable[Fraction]) -> Row:
        """Returns the row of these probabilities over their least common denominator."""
        listed = list(probabilities)
        denominator = math.lcm(*(value.denominator for value in listed))
        scaled = (v.numerator * (denominator // v.denominator) for v in listed)
        return cls(integer_array(scaled), denominator)

    @classmethod
    def normalised(cls, weights: Iterable[int]) -> Row:
        """Returns the row proportional to these non-negative integers, in lowest terms."""
        listed = [int(weight) for weight in weights]
        divisor = math.gcd(*listed)
        array = integer_array(weight // divisor for weight in listed)
        return cls(array, sum(listed) // divisor)

    def __len__(self) -> int:
        return len(self.numerators)

    def __getitem__(self, token: int) -> Fraction:
        return Fraction(int(self.numerators[token]), self.denominator)

    def __iter__(self) -> Iterator[Fraction]:
        return (Fraction(int(value), self.denominator) for value in self.numerators)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Row):
            return NotImplemented
        return len(self) == len(other) and all(
            a * other.denominator == b * self.denominator
            for a, b in zip(self.numerators.tolist(), other.numerators.tolist(), strict=True)
        )

    def __hash__(self) -> int:
        return hash(tuple(self))

    def floats(self) -> npt.NDArray[np.float64]:
        """Returns the probabilities as float64 [vocab], each correctly rounded."""
        return np.array([value / self.denominator for value in self.numerators.tolist()])

    def rotated(self, by: int) -> Row:
        """Returns the row v with v[i] = self[(i + by) mod V].

        >>> [str(v) for v in Row.normalised([1, 2, 3]).rotated(1)]
        ['1/3', '1/2', '1/6']
        """
        array = np.roll(self.numerators, -by)
        array.flags.writeable = False
        return Row(array, self.denominator)
