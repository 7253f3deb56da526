"""What is known of one random operation, and who may decide its values.

A call of a sampler is a function of its draws. A `Supplier` sees every draw in the order in which
the sampler makes them and either lets the generator's own values stand or gives others.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from types import FrameType
from typing import Any

import numpy as np
import numpy.typing as npt

from audit.steering.grids import Grid, Indices, Values

Weights = npt.NDArray[np.float64]
Site = tuple[int, ...]  # a code object, a place in it, and the number of a part
_OURS = __name__.rpartition(".")[0]
_SKIPPED = ("torch", "numpy", "random", "contextlib", _OURS)


@dataclass(frozen=True, eq=False)
class Draw:
    """One random operation of a call; element e of it is drawn by itself.

    site: where in the sampler it stands. name: as a reader knows it, `torch.rand`. shape: of its
    result. grid: the values of an element that is a number; weights float64 [elements, n]: of an
    element that is one of n; both None where the operation is unknown. read: its own values,
    float64 [elements]. slack: how far, in total variation, the generator's law may be from this.
    state: of its generator before it, hashed; None where it is not known.
    """

    site: Site
    name: str
    shape: tuple[int, ...]
    read: Callable[[], Values]
    grid: Grid | None = None
    weights: Weights | None = None
    slack: float = 0.0
    state: int | None = None

    @cached_property
    def own(self) -> Indices:
        """The generator's own indices, int64 [elements]."""
        values = self.read()
        return values.astype(np.int64) if self.grid is None else self.grid.indices(values)

    @property
    def known(self) -> bool:
        """Whether values can be given to it."""
        return self.grid is not None or self.weights is not None

    @property
    def elements(self) -> int:
        """The number of its elements."""
        return int(np.prod(self.shape, dtype=np.int64))


Supplier = Callable[[Draw], Indices | None]  # int64 [elements], None: the own values stand


class UnsteerableError(Exception):
    """Raised where the law of a sampler cannot be read off; the message says why."""


def site_of(frame: FrameType | None = None) -> Site:
    """Returns the place in the sampler that called, past the frames of libraries and of ours."""
    at = frame or sys._getframe(1)
    while at.f_back is not None and _skipped(at):
        at = at.f_back
    return id(at.f_code), at.f_lasti


def _skipped(frame: FrameType) -> bool:
    name: Any = frame.f_globals.get("__name__", "")
    return str(name).startswith(_SKIPPED)
