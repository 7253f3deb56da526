"""The random numbers of one call, row by row: where they come from and what they were."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np

from audit.steering.answers import ABSENT, Answer
from audit.steering.blocks import Codes
from audit.steering.draws import Draw, Weights
from audit.steering.grids import Indices
from audit.steering.layout import Layout, Mode, Place, Unit

# A unit, the rows of the call it is drawn for, and their weights float64 [rows, width, n]: returns
# indices int64 [rows, width], or None where the generator's own stand.
Choose = Callable[[Unit, slice, Weights | None], Indices | None]


def as_drawn(unit: Unit, rows: slice, weights: Weights | None) -> None:
    """Lets the generator's own values stand."""


class Tape:
    """The supplier of one call of `rows` rows.

    failure: what went wrong in here, which is not the sampler's doing.
    """

    def __init__(self, layout: Layout, mode: Mode, rows: int, choose: Choose) -> None:
        self._layout, self._mode, self._rows, self._choose = layout, mode, rows, choose
        self._seen: Counter[Any] = Counter()
        self._drawn = 0
        self._coins: dict[int, Indices] = {}
        self._weights: dict[int, Weights] = {}
        self.failure: Exception | None = None

    def __call__(self, draw: Draw) -> Indices | None:
        try:
            return self._given(draw)
        except Exception as error:
            self.failure = error
            raise

    def _given(self, draw: Draw) -> Indices | None:
        place = self._mode.place(draw, self._drawn, self._seen, self._rows)
        self._drawn += 1
        if not draw.known:
            self._layout.unknown.add(draw.name)
            return None
        rows = place.rows.stop - place.rows.start
        unit = self._layout.unit(place.key, draw, place.shape(draw, rows))
        weights = None if draw.weights is None else place.by_row(draw, draw.weights, rows)
        chosen = self._choose(unit, slice(0, 1) if place.shared else place.rows, weights)
        if not place.shared:
            own = place.by_row(draw, draw.own, rows) if chosen is None else chosen
            self._note(unit, place, own, weights)
        return None if chosen is None else place.flat(draw, chosen, rows)

    def _note(self, unit: Unit, place: Place, coins: Indices, weights: Weights | None) -> None:
        if unit.start not in self._coins:
            self._coins[unit.start] = np.full((self._rows, unit.width), ABSENT)
        self._coins[unit.start][place.rows] = coins
        if weights is not None:
            empty = np.zeros((self._rows, unit.width, unit.choices))
            self._weights.setdefault(unit.start, empty)[place.rows] = weights

    def answer(self, codes: Codes) -> Answer:
        """Returns the codes with the numbers that led to them."""
        coins = np.full((self._rows, len(self._layout.by_column)), ABSENT)
        for start, values in self._coins.items():
            coins[:, start : start + values.shape[1]] = values
        weights = {
            start + i: w[:, i] for start, w in self._weights.items() for i in range(w.shape[1])
        }
        return Answer(codes, coins, weights)
