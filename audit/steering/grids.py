"""The values that a random operation can return, in order, each with its exact probability.

A grid numbers them: index i stands for one value and a larger index never for a smaller one, so
that a threshold in values is a threshold in indices, found by bisection. What torch returns is
checked on the spot (`uniform_grid`), because it has changed between releases.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import Protocol

import numpy as np
import numpy.typing as npt
import torch

Indices = npt.NDArray[np.int64]
Values = npt.NDArray[np.float64]

_BITS = {torch.float64: 53, torch.float32: 24}
_SHORT = {torch.bfloat16: 8, torch.float16: 11}
_CHECKED = 4096


class Grid(Protocol):
    """Ordered values."""

    @property
    def first(self) -> int:
        """The lowest index."""
        ...

    @property
    def last(self) -> int:
        """The highest index."""
        ...

    def values(self, indices: Indices) -> Values:
        """Returns the values with these indices, float64."""
        ...

    def indices(self, values: Values) -> Indices:
        """Returns the lowest index of each value."""
        ...

    def mass(self, start: int, stop: int) -> Fraction:
        """Returns the probability of the indices start..stop - 1."""
        ...

    def at(self, shares: Values) -> Indices:
        """Returns the indices below which these shares in [0, 1) of the probability lie."""
        ...


@dataclass(frozen=True)
class Uniform:
    """low + u (high - low) for u uniform on the multiples of 2^-bits in [0, 1).

    dtype is what u is rounded to; `wrapped` values of u round up to 1 and count as 0.

    >>> grid = Uniform(24)
    >>> grid.mass(0, 2**23), grid.values(np.array([1])) == 2.0**-24
    (Fraction(1, 2), array([ True]))
    """

    bits: int
    low: float = 0.0
    high: float = 1.0
    dtype: torch.dtype = torch.float64
    wrapped: int = 0

    @property
    def first(self) -> int:
        """The index of `low`."""
        return 0

    @property
    def last(self) -> int:
        """The index of the value below `high`; the next one stands for `high` itself."""
        return (1 << self.bits) - 1

    def values(self, indices: Indices) -> Values:
        """Returns the values with these indices, float64."""
        unit = np.maximum(indices - self.wrapped, 0) * 2.0**-self.bits
        scaled = torch.from_numpy(np.atleast_1d(unit)).to(self.dtype)
        if (self.low, self.high) != (0.0, 1.0):
            scaled = scaled * (self.high - self.low) + self.low
        return np.asarray(scaled.double().numpy().reshape(np.shape(indices)))

    def indices(self, values: Values) -> Indices:
        """Returns the lowest index of each value."""
        unit = (values - self.low) / (self.high - self.low)
        near = np.rint(unit * 2.0**self.bits).astype(np.int64)
        if self.dtype in _SHORT:
            near = self._lowest(values)
        return np.minimum(np.maximum(near, self.first), self.last)

    def _lowest(self, values: Values) -> Indices:
        """Returns the lowest index of each value where several are rounded to one."""
        low = np.zeros(np.shape(values), dtype=np.int64)
        high = np.full(np.shape(values), self.last, dtype=np.int64)
        for _ in range(self.bits + 1):
            middle = (low + high) // 2
            below = self.values(middle) < values
            low, high = np.where(below, middle + 1, low), np.where(below, high, middle)
        return low

    def mass(self, start: int, stop: int) -> Fraction:
        """Returns the probability of the indices start..stop - 1."""
        return Fraction(stop - start, 1 << self.bits)

    def at(self, shares: Values) -> Indices:
        """Returns the indices at these shares."""
        return np.minimum((shares * 2.0**self.bits).astype(np.int64), self.last)


@dataclass(frozen=True)
class Whole:
    """The whole numbers low..low + size - 1, equally probable."""

    size: int
    low: int = 0

    @property
    def first(self) -> int:
        """The index of `low`."""
        return 0

    @property
    def last(self) -> int:
        """The index of the largest."""
        return self.size - 1

    def values(self, indices: Indices) -> Values:
        """Returns the values with these indices, float64."""
        return np.asarray(indices + self.low, dtype=np.float64)

    def indices(self, values: Values) -> Indices:
        """Returns the index of each value."""
        return np.asarray(values - self.low, dtype=np.int64)

    def mass(self, start: int, stop: int) -> Fraction:
        """Returns the probability of the indices start..stop - 1."""
        return Fraction(stop - start, self.size)

    def at(self, shares: Values) -> Indices:
        """Returns the indices at these shares."""
        return np.minimum((shares * self.size).astype(np.int64), self.last)


@cache
def uniform_grid(dtype: torch.dtype) -> Uniform | None:
    """Returns the grid of torch.rand in this dtype on a CPU, None where it is not a known one.

    Releases differ for the short types: they give either as many bits as the type holds, or a
    float32 number rounded to it, with 0 in place of 1.
    """
    drawn = torch.rand(_CHECKED, generator=torch.Generator().manual_seed(0), dtype=dtype)
    for grid in _candidates(dtype):
        values = drawn.double().numpy()
        if np.array_equal(grid.values(grid.indices(values)), values):
            return grid
    return None


def _candidates(dtype: torch.dtype) -> list[Uniform]:
    if dtype in _BITS:
        return [Uniform(_BITS[dtype])]
    if dtype not in _SHORT:
        return []
    bits = _SHORT[dtype]
    return [Uniform(bits), Uniform(24, dtype=dtype, wrapped=1 << (24 - bits - 1))]
