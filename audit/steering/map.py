"""The map of one block: which random numbers lead to which outcome, as a decision tree.

A node decides one number (`Split` for a number on a grid, `Choice` for one of several things) or
one race of several (`Race`), and hands over to the node for what it found; a `Leaf` is an outcome.
Columns are those of the layout. The law of a node follows from the laws of its numbers.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property

import numpy as np
import numpy.typing as npt

from audit.steering.answers import ABSENT, Answer
from audit.steering.draws import Weights
from audit.steering.grids import Grid, Indices, Values

CodeLaw = Mapping[int, Fraction]
Clock = Callable[[Values], Values]
DRIFT = 2.0**-22  # how far weights may be apart, in total variation, and be the same


@dataclass(eq=False, kw_only=True)
class Node(ABC):
    """A decision; children are filled in when they are found.

    slack: how far the law of its numbers may be from the one that it is read with.
    """

    children: list[Node] = field(default_factory=list)
    slack: float = 0.0

    @property
    @abstractmethod
    def chances(self) -> Sequence[Fraction]:
        """The probability of each child."""

    @abstractmethod
    def found(self, answer: Answer, rows: Indices) -> Indices:
        """Returns the child of these rows of an answer, int64 [rows]; -1 where there is none."""

    @cached_property
    def law(self) -> CodeLaw:
        """The probability of every outcome behind this node."""
        total: dict[int, Fraction] = defaultdict(Fraction)
        for chance, child in zip(self.chances, self.children, strict=True):
            for code, mass in child.law.items():
                total[code] += chance * mass
        return total

    @property
    def hidden(self) -> float:
        """The most that the slacks of this node and those behind it make of its law."""
        pairs = zip(self.chances, self.children, strict=True)
        return self.slack + sum(float(chance) * child.hidden for chance, child in pairs)

    def nodes(self) -> Iterator[Node]:
        """Yields this node and those behind it."""
        yield self
        for child in self.children:
            yield from child.nodes()


@dataclass(eq=False, kw_only=True)
class Leaf(Node):
    """An outcome, whatever the numbers that are not decided."""

    code: int

    @property
    def chances(self) -> Sequence[Fraction]:
        """There are no children."""
        return ()

    def found(self, answer: Answer, rows: Indices) -> Indices:
        """Returns -1 for every row."""
        return np.full(len(rows), -1)

    @cached_property
    def law(self) -> CodeLaw:
        """The outcome alone."""
        return {self.code: Fraction(1)}


@dataclass(eq=False, kw_only=True)
class Split(Node):
    """A number on a grid; child i stands for the indices from starts[i] to starts[i + 1] - 1."""

    column: int
    grid: Grid
    starts: tuple[int, ...]

    def range_of(self, child: int) -> tuple[int, int]:
        """Returns the first index of a child and the one after its last."""
        return self.starts[child], (*self.starts[1:], self.grid.last + 1)[child]

    @property
    def chances(self) -> Sequence[Fraction]:
        """The masses of the ranges."""
        return [self.grid.mass(*self.range_of(child)) for child in range(len(self.starts))]

    def found(self, answer: Answer, rows: Indices) -> Indices:
        """Returns the range of each row's number."""
        coins = answer.coins[rows, self.column]
        return np.asarray(np.searchsorted(self.starts, coins, side="right") - 1)


@dataclass(eq=False, kw_only=True)
class Choice(Node):
    """One of several things; child i stands for thing things[i] of weight weights[things[i]]."""

    column: int
    weights: Weights
    things: tuple[int, ...]
    drift: float = 0.0  # the most, in total variation, that weights taken for these were off

    @property
    def chances(self) -> Sequence[Fraction]:
        """The shares of the weights."""
        return shares_of(self.weights, self.things)

    @property
    def hidden(self) -> float:
        """That of any node, and the drift."""
        return super().hidden + self.drift

    def found(self, answer: Answer, rows: Indices) -> Indices:
        """Returns the thing of each row; -1 where its weights were others."""
        child = np.full(len(self.weights), -1)
        child[list(self.things)] = np.arange(len(self.things))
        coins = answer.coins[rows, self.column]
        if self.column not in answer.weights:
            return np.full(len(rows), -1)
        far = apart(answer.weights[self.column][rows], self.weights)
        fits = (coins >= 0) & (far <= DRIFT)
        self.drift = max(self.drift, float(far[fits].max(initial=0.0)))
        return np.where(fits, child[np.maximum(coins, 0)], -1)


@dataclass(eq=False, kw_only=True)
class Race(Node):
    """Several numbers of which the earliest wins: number i is done after times[i] / weights[i].

    times is what `clock` makes of the numbers: unit exponentials. Child i stands for the win of
    columns[things[i]].
    """

    columns: tuple[int, ...]
    grid: Grid
    clock: Clock
    weights: Weights
    things: tuple[int, ...]

    @property
    def chances(self) -> Sequence[Fraction]:
        """The shares of the weights."""
        return shares_of(self.weights, self.things)

    def found(self, answer: Answer, rows: Indices) -> Indices:
        """Returns the winner of each row."""
        columns = [self.columns[thing] for thing in self.things]
        there, times = run_times(answer, rows, columns, self.grid, self.clock)
        first = (times / self.weights[list(self.things)]).argmin(axis=1)
        return np.where(there, first, -1)


def run_times(
    answer: Answer, rows: Indices, columns: Sequence[int], grid: Grid, clock: Clock
) -> tuple[npt.NDArray[np.bool_], Values]:
    """Returns which rows have all these numbers, and the times on their clocks [rows, columns]."""
    coins = answer.coins[rows[:, None], list(columns)]
    there = (coins != ABSENT).all(axis=1)
    return there, clock(grid.values(np.where(there[:, None], coins, grid.last)))


def shares_of(weights: Weights, things: Sequence[int]) -> list[Fraction]:
    """Returns the weights of some things over their sum, exactly.

    >>> [str(share) for share in shares_of(np.array([0.25, 0.5, 0.0]), [0, 1])]
    ['1/3', '2/3']
    """
    exact = [Fraction(float(weights[thing])) for thing in things]
    return [weight / sum(exact) for weight in exact]


def apart(weights: Weights, known: Weights) -> Values:
    """Returns the total variation of rows float64 [rows, n] of weights to the known ones.

    NaN for rows of zeros.
    """
    sums = weights.sum(axis=1, keepdims=True)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(np.abs(weights / sums - known / known.sum()).sum(axis=1) / 2)
