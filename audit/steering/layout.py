"""Which random number belongs to which row of a call.

A unit is one random operation as a single row sees it: a place in the sampler, the how-manieth
time a row comes by, and `width` numbers, each a column of its own. The attribution is a guess
(`Batched`, `Looped`, or `Single` where a call has one row); the search checks it and the coupling
proves it.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from audit.steering.draws import Draw, UnsteerableError
from audit.steering.grids import Grid, Indices

Key = tuple[Any, ...]
MOST = 4096  # numbers that a row may draw


@dataclass(frozen=True)
class Unit:
    """Columns start..start + width - 1; `last` is the size of the innermost dimension.

    grid: the values of each number; choices: how many things it is one of (0 for a grid). name
    and slack are those of its draws.
    """

    name: str
    start: int
    width: int
    last: int
    grid: Grid | None
    choices: int
    slack: float

    @property
    def columns(self) -> range:
        """The columns of its numbers."""
        return range(self.start, self.start + self.width)

    @property
    def groups(self) -> list[range]:
        """Its columns cut into runs of the innermost dimension."""
        return [range(at, at + self.last) for at in self.columns[:: self.last]]


@dataclass(eq=False)
class Layout:
    """The units found so far.

    shared names the operations whose numbers all rows of a call share; unknown those that cannot be
    steered.
    """

    units: dict[Key, Unit] = field(default_factory=dict)
    shared: set[str] = field(default_factory=set)
    unknown: set[str] = field(default_factory=set)
    by_column: list[Unit] = field(default_factory=list)

    def unit(self, key: Key, draw: Draw, shape: tuple[int, ...]) -> Unit:
        """Returns the unit of a draw that gives every row numbers of this shape.

        Raises: UnsteerableError where the numbers are too many.
        """
        width = math.prod(shape)
        if len(self.by_column) + width > MOST:
            raise UnsteerableError(f"a row draws more than {MOST} numbers, {width} by {draw.name}")
        choices = 0 if draw.weights is None else draw.weights.shape[1]
        whole = (*key, draw.name, width, draw.grid, choices)
        if whole not in self.units:
            last = shape[-1] if shape else 1
            unit = Unit(draw.name, len(self.by_column), width, last, draw.grid, choices, draw.slack)
            self.units[whole] = unit
            self.by_column += [unit] * width
        return self.units[whole]


@dataclass(frozen=True)
class Place:
    """Where a draw of a call belongs: `rows` of it, all sharing its numbers if `shared`.

    axis: the dimension of the draw that the rows lie along, None where it is one row's.
    """

    key: Key
    rows: slice
    axis: int | None
    shared: bool = False

    def shape(self, draw: Draw, rows: int) -> tuple[int, ...]:
        """Returns the shape of what one row gets."""
        if self.axis is None:
            return draw.shape
        split = list(draw.shape)
        split[self.axis] //= rows
        more = [split.pop(self.axis)]
        return tuple((more if more != [1] else []) + split)

    def by_row(self, draw: Draw, array: npt.NDArray[Any], rows: int) -> npt.NDArray[Any]:
        """Returns [rows, width, ...] from an array [elements, ...]."""
        more = array.shape[1:]
        if self.axis is None:
            return array.reshape(1, -1, *more)
        size = draw.shape[self.axis] // rows
        before, after = draw.shape[: self.axis], draw.shape[self.axis + 1 :]
        split = array.reshape(*before, rows, size, *after, *more)
        return np.moveaxis(split, self.axis, 0).reshape(rows, -1, *more)

    def flat(self, draw: Draw, array: Indices, rows: int) -> Indices:
        """Returns [elements] from an array [rows, width]: what `by_row` undoes."""
        if self.axis is None:
            return array.reshape(-1)
        size = draw.shape[self.axis] // rows
        before, after = draw.shape[: self.axis], draw.shape[self.axis + 1 :]
        split = array.reshape(rows, *before, size, *after)
        return np.moveaxis(split, 0, self.axis).reshape(-1)


class Mode(Protocol):
    """A guess at which row a draw belongs to."""

    def place(self, draw: Draw, number: int, seen: Counter[Any], rows: int) -> Place:
        """Returns where draw `number` (0, 1, ...) of a call of `rows` rows belongs.

        seen counts the places of the sampler, by row or for all of them, and is kept up to date.
        """
        ...


@dataclass(frozen=True)
class Single:
    """Every call has one row."""

    def place(self, draw: Draw, number: int, seen: Counter[Any], rows: int) -> Place:
        return Place((draw.site, _times(seen, draw.site)), slice(0, 1), None)


@dataclass(frozen=True)
class Batched:
    """A draw has a dimension that is a multiple of the number of rows; else they share it."""

    def place(self, draw: Draw, number: int, seen: Counter[Any], rows: int) -> Place:
        key = (draw.site, _times(seen, draw.site))
        axes = [i for i, size in enumerate(draw.shape) if size and size % rows == 0]
        if rows == 1 or not axes:
            return Place(key, slice(0, rows), None, shared=rows > 1)
        return Place(key, slice(0, rows), axes[0])


@dataclass(frozen=True)
class Looped:
    """After `prologue` draws that rows share, every row in turn makes `period` draws."""

    prologue: int
    period: int

    def place(self, draw: Draw, number: int, seen: Counter[Any], rows: int) -> Place:
        row, _ = divmod(number - self.prologue, self.period)
        if number < self.prologue or row >= rows:
            return Place((draw.site, _times(seen, draw.site)), slice(0, rows), None, shared=True)
        return Place((draw.site, _times(seen, (row, draw.site))), slice(row, row + 1), None)


def _times(seen: Counter[Any], what: Any) -> int:
    seen[what] += 1
    return seen[what] - 1


def looped(one: Sequence[Key], many: Sequence[Key], rows: int) -> Looped | None:
    """Returns the loop over rows that a call of one row and one of `rows` rows fit, if any.

    one and many tell for each draw what it is; a row's draws are the last ones of `one`.
    """
    period, rest = divmod(len(many) - len(one), rows - 1)
    if rest or not 0 < period <= len(one):
        return None
    prologue = len(one) - period
    fits = [*one[:prologue], *(list(one[prologue:]) * rows)] == list(many)
    return Looped(prologue, period) if fits else None
