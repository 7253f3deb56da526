"""Arrays of exact fractions, so that a rule reads like its formula.

Numerators and denominators are integer arrays that broadcast against each other; a row of
probabilities keeps one denominator, [..., vocab] over [..., 1]. Nothing here rounds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from audit.exact import integers
from audit.row import Numerators, Row

Tokens = npt.NDArray[np.int64]

_FEW = 16


@dataclass(frozen=True, eq=False)
class Ratios:
    """The fractions numerators / denominators, elementwise; every denominator is positive."""

    numerators: Numerators
    denominators: Numerators

    def __add__(self, other: Ratios) -> Ratios:
        mine, theirs, denominators = _aligned(self, other)
        return Ratios(integers.added(mine, theirs), denominators)

    def __sub__(self, other: Ratios) -> Ratios:
        mine, theirs, denominators = _aligned(self, other)
        return Ratios(integers.subtracted(mine, theirs), denominators)

    def __mul__(self, other: Ratios) -> Ratios:
        return Ratios(
            integers.product(self.numerators, other.numerators),
            integers.product(self.denominators, other.denominators),
        )

    def complement(self) -> Ratios:
        """Returns 1 - self."""
        return Ratios(integers.subtracted(self.denominators, self.numerators), self.denominators)

    def positive(self) -> Ratios:
        """Returns max(self, 0)."""
        return Ratios(np.maximum(self.numerators, 0), self.denominators)

    def absolute(self) -> Ratios:
        """Returns |self|."""
        return Ratios(np.abs(self.numerators), self.denominators)

    def column(self) -> Ratios:
        """Returns self as a column [..., 1], to scale rows [..., vocab] with."""
        return Ratios(self.numerators[..., None], self.denominators[..., None])

    def at(self, tokens: Tokens) -> Ratios:
        """Returns the entry [...] of each row [..., vocab] at its token [...]."""
        numerators = np.take_along_axis(self.numerators, tokens[..., None], axis=-1)
        return Ratios(numerators[..., 0], self.denominators[..., 0])

    def taken(self, index: Tokens) -> Ratios:
        """Returns the rows [index, ...] at these places of the first dimension."""
        shape = (len(self.numerators), *self.denominators.shape[1:])
        denominators = np.broadcast_to(self.denominators, shape)
        return Ratios(self.numerators[index], denominators[index])

    def without(self, tokens: Tokens) -> Ratios:
        """Returns the rows with the entry at each token set to 0."""
        ids = np.arange(self.numerators.shape[-1])
        return Ratios(np.where(ids == tokens[..., None], 0, self.numerators), self.denominators)

    def total(self) -> Ratios:
        """Returns the sum [...] of each row [..., vocab] that has one denominator."""
        return Ratios(integers.total(self.numerators), self.denominators[..., 0])

    def normalised(self) -> Ratios:
        """Returns each row over its own sum; a row of sum 0 stays 0, it has no law."""
        sums = integers.total(self.numerators)[..., None]
        return Ratios(self.numerators, np.where(sums == 0, 1, sums))

    def reduced(self) -> Ratios:
        """Returns the same fractions, each row (or entry) in lowest terms."""
        divisors = self._divisors()
        pair = self.numerators, self.denominators
        if not (divisors == 1).all():
            pair = self.numerators // divisors, self.denominators // divisors
        return Ratios(*map(integers.narrowed, pair))

    def _divisors(self) -> Numerators:
        """Returns what numerators and denominator of each row (or entry) have in common."""
        if self.denominators.shape[-1] == self.numerators.shape[-1]:
            return np.asarray(np.gcd(self.numerators, self.denominators))
        # A few entries mostly settle that a long row has no divisor.
        divisors = self.denominators
        for entries in (self.numerators[..., :_FEW], self.numerators):
            divisors = np.gcd(np.gcd.reduce(entries, axis=-1, keepdims=True), divisors)
            if (divisors == 1).all():
                break
        return divisors

    def grouped(self, group: int, *, times: int = 1) -> Ratios:
        """Returns the sums over runs of rows: [n * group ** times, cells] becomes [n, cells].

        Each time merges the last token of the rows' prefixes. Rows after one prefix share
        denominators, so that most of them cancel before they meet those of other prefixes.
        """
        return self if times == 0 else self._merged(group).grouped(group, times=times - 1)

    def _merged(self, group: int) -> Ratios:
        each = np.broadcast_to(self.denominators, (len(self.numerators), 1))
        denominators = each.astype(object).reshape(-1, group, 1)
        common = np.lcm.reduce(denominators, axis=1, keepdims=True)
        terms = self.numerators.reshape(len(common), group, -1)
        scaled = integers.product(terms, integers.narrowed(common // denominators))
        return Ratios(integers.total(scaled, axis=1), common[:, 0]).reduced()

    def spread(self, rows: Ratios) -> Ratios:
        """Returns the products [n, a * vocab] of masses [n, a] with rows [n, vocab]."""
        pairs = self.numerators[:, :, None], rows.numerators[:, None, :]
        numerators = integers.product(*pairs).reshape(len(self.numerators), -1)
        denominators = integers.product(self.denominators, rows.denominators)
        return Ratios(numerators, denominators).reduced()

    def flat(self) -> Ratios:
        """Returns all entries in one dimension, each with its own denominator."""
        denominators = np.broadcast_to(self.denominators, self.numerators.shape)
        return Ratios(self.numerators.ravel(), denominators.ravel())

    def fractions(self) -> list[Fraction]:
        """Returns the entries in order."""
        pairs = np.broadcast_arrays(self.numerators, self.denominators)
        flat = zip(pairs[0].ravel().tolist(), pairs[1].ravel().tolist(), strict=True)
        return [Fraction(numerator, denominator) for numerator, denominator in flat]

    def floats(self) -> npt.NDArray[np.float64]:
        """Returns the entries as float64, each correctly rounded."""
        exact = self.numerators.astype(object) / self.denominators.astype(object)
        return np.asarray(exact, dtype=np.float64)


def of_row(row: Row) -> Ratios:
    """Returns a row as fractions [1, vocab]."""
    return Ratios(row.numerators[None], integers.integer(row.denominator)[None]).reduced()


def stacked(rows: Sequence[Row]) -> Ratios:
    """Returns the rows as fractions [rows, vocab]."""
    denominators = np.array([row.denominator for row in rows], dtype=object)
    numerators = np.stack([row.numerators for row in rows])
    return Ratios(numerators, integers.narrowed(denominators)[:, None])


def whole(values: npt.ArrayLike) -> Ratios:
    """Returns integers as fractions over 1."""
    numerators = np.asarray(values, dtype=np.int64)
    return Ratios(numerators, np.ones((1,) * numerators.ndim, dtype=np.int64))


def constant(value: Fraction) -> Ratios:
    """Returns one fraction, [1], to compute with rows and columns of any length."""
    pair = np.array([[value.numerator], [value.denominator]], dtype=object)
    return Ratios(*map(integers.narrowed, pair))


def one_hot(tokens: Tokens, vocab_size: int) -> Ratios:
    """Returns the rows [..., vocab] that hold 1 at each token [...]."""
    return whole(tokens[..., None] == np.arange(vocab_size))


def clipped_ratio(a: Ratios, b: Ratios) -> Ratios:
    """Returns min(1, a / b) in lowest terms, with x / 0 = 1 for positive x and 0 / 0 = 0."""
    mine, theirs, _ = _aligned(a, b)
    smaller = np.where(theirs == 0, np.minimum(mine, 1), np.minimum(mine, theirs))
    return Ratios(smaller, np.where(theirs == 0, 1, theirs)).reduced()


def quotient(a: Ratios, b: Ratios) -> Ratios:
    """Returns a / b in lowest terms, with x / 0 = 0."""
    mine, theirs, _ = _aligned(a, b)
    nothing = theirs == 0
    return Ratios(np.where(nothing, 0, mine), np.where(nothing, 1, theirs)).reduced()


def minimum(a: Ratios, b: Ratios) -> Ratios:
    """Returns min(a, b)."""
    mine, theirs, denominators = _aligned(a, b)
    return Ratios(np.minimum(mine, theirs), denominators)


def summed(masses: Ratios, vocab_size: int) -> Fraction:
    """Returns the sum of masses [vocab_size ** k], those after one prefix first."""
    rows = masses.column()
    while len(rows.numerators) > 1:
        rows = rows.grouped(vocab_size)
    return rows.fractions()[0]


def _aligned(a: Ratios, b: Ratios) -> tuple[Numerators, Numerators, Numerators]:
    """Returns the numerators of both over their least common denominators."""
    common = integers.lowest_common_multiple(a.denominators, b.denominators)
    return (
        integers.product(a.numerators, common // a.denominators),
        integers.product(b.numerators, common // b.denominators),
        common,
    )
