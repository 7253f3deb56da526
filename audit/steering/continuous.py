"""Grids of floats under a continuous law: exponential, normal, log-normal, Cauchy, Gumbel."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal, NamedTuple

import numpy as np
import torch
from scipy import special

from audit.steering.grids import Indices, Values

LawName = Literal["exponential", "normal", "log-normal", "cauchy", "gumbel"]
_TINY = 2.0**-100
_EDGE = 2.0**-53


class _Law(NamedTuple):
    """A law at location 0 and scale 1; `of_log`: location and scale are those of the logarithm."""

    cdf: Callable[[Any], Any]
    quantile: Callable[[Any], Any]
    positive: bool = False
    of_log: bool = False


_LAWS: Mapping[str, _Law] = {
    "exponential": _Law(lambda x: -special.expm1(-x), lambda s: -special.log1p(-s), positive=True),
    "normal": _Law(special.ndtr, special.ndtri),
    "log-normal": _Law(special.ndtr, special.ndtri, positive=True, of_log=True),
    "cauchy": _Law(lambda x: 0.5 + np.arctan(x) / np.pi, lambda s: np.tan(np.pi * (s - 0.5))),
    "gumbel": _Law(
        lambda x: np.exp(-np.exp(-np.maximum(x, -700.0))), lambda s: -np.log(-np.log(s))
    ),
}


@dataclass(frozen=True)
class Continuous:
    """The floats of a dtype under location + scale x for x with one of the laws.

    The index of a float is its bits read as a whole number, which keeps the order, counted from
    those of 2^-100, which like all below stands for 0, and mirrored for negative ones. Each float
    has the mass of the law that is nearest to it.

    >>> grid = Continuous("exponential", torch.float32)
    >>> grid.values(grid.indices(np.array([0.5, 2.0])))
    array([0.5, 2. ])
    """

    law: LawName
    dtype: torch.dtype
    location: float = 0.0
    scale: float = 1.0

    @property
    def first(self) -> int:
        """The index of 0, or of the lowest float."""
        largest = float(torch.finfo(self.dtype).max)
        return int(self.indices(np.array(0.0 if _LAWS[self.law].positive else -largest)))

    @property
    def last(self) -> int:
        """The index of the largest float."""
        return int(self.indices(np.array(float(torch.finfo(self.dtype).max))))

    def values(self, indices: Indices) -> Values:
        """Returns the values with these indices, float64."""
        bits = torch.from_numpy(np.abs(indices) + self._zero)
        floats = bits.to(self._whole).view(self.dtype).double().numpy()
        return np.where(indices == 0, 0.0, np.copysign(floats, indices))

    def indices(self, values: Values) -> Indices:
        """Returns the index of the float next to each value."""
        floats = torch.from_numpy(np.array(np.abs(values), dtype=np.float64)).to(self.dtype)
        bits = floats.view(self._whole).to(torch.int64).numpy()
        return np.asarray(np.where(values < 0, -1, 1) * np.maximum(bits - self._zero, 0))

    def mass(self, start: int, stop: int) -> Fraction:
        """Returns the probability of the indices start..stop - 1, worked out in float64."""
        return self._below(stop) - self._below(start)

    def _below(self, index: int) -> Fraction:
        if index <= self.first:
            return Fraction(0)
        if index > self.last:
            return Fraction(1)
        law = _LAWS[self.law]
        low, high = self.values(np.array([index - 1, index])).tolist()
        middle = low / 2 + high / 2
        middle = np.log(middle) if law.of_log else middle
        return Fraction(float(law.cdf((middle - self.location) / self.scale)))

    def at(self, shares: Values) -> Indices:
        """Returns the indices at these shares of the probability."""
        law = _LAWS[self.law]
        x = self.location + self.scale * law.quantile(np.clip(shares, _EDGE, 1 - _EDGE))
        return np.clip(self.indices(np.exp(x) if law.of_log else x), self.first, self.last)

    @property
    def _zero(self) -> int:
        return int(torch.tensor(_TINY, dtype=self.dtype).view(self._whole))

    @property
    def _whole(self) -> torch.dtype:
        """The whole numbers as wide as the floats."""
        return {2: torch.int16, 4: torch.int32, 8: torch.int64}[self.dtype.itemsize]
