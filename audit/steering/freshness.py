"""Whether the random numbers of fresh calls are what they should be: new ones, by their laws.

The proof of a map rests on numbers that nobody has seen before. A sampler that restarts its
generator at every call or row, draws two numbers from generators of one seed, or seeds one with a
number of few values, follows its map to the letter and does not have its law. All checks of a proof
together raise a false alarm with a probability below 1e-8, where the rows of a call are
independent.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from audit.statistics.binomial import upper_tail
from audit.steering.answers import ABSENT, Answer
from audit.steering.blocks import Codes
from audit.steering.draws import UnsteerableError
from audit.steering.grids import Grid, Indices
from audit.steering.layout import Layout
from audit.steering.map import Node

UNFORETOLD = -9  # the code of a row whose numbers its map does not know
ENOUGH = 64  # numbers from which repetition is told from chance
FINE = 2**24  # values of a grid that hardly repeats itself within a call
DISTINCT = 0.9  # the least share of what would differ among fresh numbers on such a grid
LOOKED = 2048  # rows of a call that are compared with each other
ALARM = 1e-9  # how often fresh numbers may fail the check of frequencies
RESTARTS = "it restarts its random numbers: "
_LOOKS = 1e6  # more than there are columns and calls
_APART = 2**40  # more than there are codes


@dataclass(eq=False)
class Freshness:
    """What was seen of the numbers of a layout, call after call."""

    layout: Layout
    _states: set[int] = field(default_factory=set)
    _seen: set[bytes] = field(default_factory=set)
    _first: Answer | None = None
    _foretold: Counter[tuple[int, int]] = field(default_factory=Counter)

    def unrepeated(self, states: Sequence[int]) -> None:
        """Looks at the states, hashed, that generators had before the draws of further calls.

        Raises: UnsteerableError where one comes twice: what follows it is the same each time.
        """
        new = set(states)
        if len(new) < len(states) or not self._states.isdisjoint(new):
            raise UnsteerableError(f"{RESTARTS}two draws begin at one state of a generator")
        self._states |= new

    def check(self, answer: Answer) -> None:
        """Looks at the numbers of a call, or of several that follow one another.

        Raises: UnsteerableError where they come again.
        """
        fine: dict[Grid, list[Indices]] = {}
        for column, unit in enumerate(self.layout.by_column):
            grid, coins = unit.grid, answer.coins[:, column]
            coins = coins[coins != ABSENT]
            if grid is not None and len(coins) >= ENOUGH and _is_fine(grid):
                fine.setdefault(grid, []).append(coins[:LOOKED])
                self._new(unit.name, coins)
        for columns in fine.values():
            _distinct(np.concatenate(columns))
        self._first = self._first or answer
        for column in answer.weights if self._first is not answer else ():
            self._drawn_anew(column, answer)

    def _new(self, name: str, coins: Indices) -> None:
        digest = hashlib.sha256(coins.tobytes()).digest()
        if digest in self._seen:
            raise UnsteerableError(f"{RESTARTS}{len(coins)} by {name} came twice in the same order")
        self._seen.add(digest)

    def _drawn_anew(self, column: int, answer: Answer) -> None:
        """Counts the rows that draw what they drew first by the same weights, and should not.

        The bound on their excess is that of Hoeffding (1963).
        """
        first = self._first
        if first is None or column not in first.weights:
            return
        rows = np.arange(min(len(first.coins), len(answer.coins)))
        known, weights = first.weights[column][rows], answer.weights[column][rows]
        same = (known == weights).all(axis=1) & (answer.coins[rows, column] != ABSENT)
        same &= first.coins[rows, column] != ABSENT
        shares = weights[same] / weights[same].sum(axis=1, keepdims=True)
        again = first.coins[rows, column][same] == answer.coins[rows, column][same]
        excess = float(again.sum() - (shares**2).sum())
        if excess > np.sqrt(np.log(_LOOKS / ALARM) / 2 * len(again)):
            name = self.layout.by_column[column].name
            raise UnsteerableError(f"{RESTARTS}{name} draws in a call what it drew in the first")

    def count(self, blocks: Indices, codes: Codes) -> None:
        """Counts what the numbers of rows lead to by their maps, codes int64 [rows]."""
        keys, times = np.unique(blocks * _APART + (codes - UNFORETOLD), return_counts=True)
        for key, n in zip(keys.tolist(), times.tolist(), strict=True):
            self._foretold[key // _APART, key % _APART + UNFORETOLD] += n

    def weigh(self, maps: Mapping[int, Node]) -> None:
        """Holds the counts against the laws of the maps, which they have where numbers are fresh.

        Raises: UnsteerableError where an outcome came far too often or too seldom.
        """
        rows: Counter[int] = Counter()
        for (block, _), n in self._foretold.items():
            rows[block] += n
        cells = [(block, code, mass) for block, m in maps.items() for code, mass in m.law.items()]
        for block, code, mass in cells:
            seen, open_ = self._foretold[block, code], self._foretold[block, UNFORETOLD]
            tail = _tail(seen, open_, rows[block], float(mass), slack=maps[block].hidden)
            if tail < ALARM / (2 * len(cells)):
                raise UnsteerableError(
                    f"its random numbers are not fresh: one outcome came {seen} times in "
                    f"{rows[block]} rows, where numbers by their laws give it a share of "
                    f"{float(mass):.3g}; it restarts a generator, or draws from two of one seed"
                )


def _is_fine(grid: Grid) -> bool:
    """Returns whether numbers on a grid hardly repeat: it is long, and neighbours differ."""
    middle = int(grid.at(np.array(0.5)))
    low, high = grid.values(np.array([middle, middle + 1])).tolist()
    return grid.last - grid.first >= FINE - 1 and low != high


def _distinct(coins: Indices) -> None:
    """Checks that numbers on one grid differ about as often as fresh ones would."""
    fresh = FINE * -np.expm1(-len(coins) / FINE)
    if len(np.unique(coins)) < DISTINCT * fresh:
        raise UnsteerableError(f"{RESTARTS}among {len(coins)} in a row, too many are the same")


def _tail(seen: int, open_: int, n: int, chance: float, *, slack: float = 0.0) -> float:
    """Returns how probable what was seen in n rows is, or worse, with `open_` rows either way.

    slack: how far the chance may be off.

    >>> _tail(0, 0, 10, 0.5) == _tail(10, 0, 10, 0.5) == 0.5**10, _tail(0, 10, 10, 0.5)
    (True, 1.0)
    """
    return min(
        upper_tail(seen, n, min(chance + slack, 1.0)),
        upper_tail(n - seen - open_, n, min(1 - chance + slack, 1.0)),
    )
