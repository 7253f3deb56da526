"""The random numbers of one call, row by row: where they come from and what they were."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np

from audit.steering.answers import ABSENT, Answer
from audit.steering.blocks import Codes
from audit.steering.draws import Draw, Weights
from audit.steering.grids import Indices, Values
from audit.steering.layout import Layout, Mode, Place, Unit

# A unit, the rows of the call it is drawn for, and their weights float64 [rows, width, n]: returns
# indices int64 [rows, width], or None where the generator's own stand.
Choose = Callable[[Unit, slice, Weights | None], Indices | None]


def as_drawn(unit: Unit, rows: slice, weights: Weights | None) -> None:
    """Lets the generator's own values stand."""


class Tape:
    """The supplier of one call of `rows` rows.

    failure: what went wrong in here, which is not the sampler's doing. states: those of generators
    before each draw, hashed.
    """

    def __init__(self, layout: Layout, mode: Mode, rows: int, choose: Choose) -> None:
        self._layout, self._mode, self._rows, self._choose = layout, mode, rows, choose
        self._seen: Counter[Any] = Counter()
        self._drawn = 0
        self._coins: dict[int, Indices] = {}  # what was chosen, int64 [rows, width] by unit
        self._own: dict[int, Values] = {}  # the generator's own values, NaN where there is none
        self._weights: dict[int, Weights] = {}
        self.failure: Exception | None = None
        self.states: list[int] = []

    def __call__(self, draw: Draw) -> Indices | None:
        try:
            return self._given(draw)
        except Exception as error:
            self.failure = error
            raise

    def _given(self, draw: Draw) -> Indices | None:
        place = self._mode.place(draw, self._drawn, self._seen, self._rows)
        self._drawn += 1
        if draw.state is not None and draw.elements:
            self.states.append(draw.state)
        if not draw.known:
            self._layout.unknown.add(draw.name)
            return None
        rows = place.rows.stop - place.rows.start
        unit = self._layout.unit(place.key, draw, place.shape(draw, rows))
        weights = None if draw.weights is None else place.by_row(draw, draw.weights, rows)
        chosen = self._choose(unit, slice(0, 1) if place.shared else place.rows, weights)
        if place.shared:
            self._layout.shared.add(draw.name)
        else:
            self._note(unit, place, draw, chosen, weights)
        return None if chosen is None else place.flat(draw, chosen, rows)

    def _note(
        self,
        unit: Unit,
        place: Place,
        draw: Draw,
        chosen: Indices | None,
        weights: Weights | None,
    ) -> None:
        """Remembers the numbers of rows; the own ones as they come, to be read all at once."""
        start, rows = unit.start, place.rows
        if chosen is not None:
            self._room(self._coins, start, (unit.width,), ABSENT)[rows] = chosen
        else:
            own = place.by_row(draw, draw.read(), rows.stop - rows.start)
            self._room(self._own, start, (unit.width,), np.nan)[rows] = own
        if weights is not None:
            self._room(self._weights, start, (unit.width, unit.choices), 0.0)[rows] = weights

    def _room(self, kept: dict[int, Any], start: int, width: tuple[int, ...], empty: float) -> Any:
        if start not in kept:
            kept[start] = np.full((self._rows, *width), empty)
        return kept[start]

    def answer(self, codes: Codes) -> Answer:
        """Returns the codes with the numbers that led to them."""
        coins = np.full((self._rows, len(self._layout.by_column)), ABSENT)
        own = {start: self._read(start, values) for start, values in self._own.items()}
        for start, values in (*self._coins.items(), *own.items()):
            part = coins[:, start : start + values.shape[1]]
            part[values != ABSENT] = values[values != ABSENT]
        weights = {
            start + i: w[:, i] for start, w in self._weights.items() for i in range(w.shape[1])
        }
        return Answer(codes, coins, weights)

    def _read(self, start: int, values: Values) -> Indices:
        """Returns the indices behind the generator's own values of a unit."""
        grid, there = self._layout.by_column[start].grid, ~np.isnan(values)
        known = np.where(there, values, 0.0)
        indices = known.astype(np.int64) if grid is None else grid.indices(known)
        return np.where(there, indices, ABSENT)
