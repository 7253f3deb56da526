"""An exact law of outcomes: integers over one denominator.

An outcome is the tuple of emitted tokens, the same key as in Counts. The empty tuple holds the
mass of what the code leaves undefined, such as a draw from a residual that has no mass.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from audit.counts import Outcome, tokens_of
from audit.exact import integers
from audit.exact.ratios import Ratios
from audit.row import Numerators

_UNDEFINED = np.zeros(1, dtype=object)


@dataclass(frozen=True, eq=False)
class Law(Mapping[Outcome, Fraction]):
    """Probabilities of outcomes; they sum to exactly 1 and stand in lowest terms.

    tables[length] holds the numerators [vocab_size ** length] of the outcomes of that length in
    the order of their codes. Iteration yields the outcomes of positive probability; every other
    outcome has probability 0.

    >>> coin = Law.of([(1, Ratios(np.array([1, 2]), np.array([3])))], vocab_size=2)
    >>> coin[(1,)], coin[(0, 1)], coin.undefined, len(coin)
    (Fraction(2, 3), Fraction(0, 1), Fraction(0, 1), 2)
    """

    tables: Mapping[int, Numerators]
    denominator: int
    vocab_size: int
    __hash__ = None  # type: ignore[assignment]

    @classmethod
    def of(cls, parts: Iterable[tuple[int, Ratios]], *, vocab_size: int) -> Law:
        """Returns the law of the masses [vocab_size ** length] added up by length.

        Each part has one denominator; what is missing to 1 is the mass of the outcome ().
        """
        sums: dict[int, Ratios] = {}
        for length, part in parts:
            sums[length] = sums[length] + part if length in sums else part
        denominator = math.lcm(*(int(part.denominators.item()) for part in sums.values()))
        tables = {
            length: part.numerators.astype(object) * (denominator // int(part.denominators.item()))
            for length, part in sums.items()
        }
        missing = denominator - sum(int(table.sum()) for table in tables.values())
        tables[0] = tables.get(0, _UNDEFINED) + missing
        return cls._lowest(tables, denominator, vocab_size)

    @classmethod
    def _lowest(cls, tables: Mapping[int, Numerators], denominator: int, vocab_size: int) -> Law:
        divisor = math.gcd(denominator, *(int(np.gcd.reduce(table)) for table in tables.values()))
        lowest = {}
        for length, table in sorted(tables.items()):
            if table.any():
                lowest[length] = integers.narrowed(table // divisor)
                lowest[length].flags.writeable = False
        return cls(lowest, denominator // divisor, vocab_size)

    @property
    def undefined(self) -> Fraction:
        """The probability of the outcome ()."""
        return self[()]

    def __getitem__(self, outcome: Outcome) -> Fraction:
        table = self.tables.get(len(outcome))
        if table is None or not all(0 <= token < self.vocab_size for token in outcome):
            return Fraction(0)
        code = 0
        for token in outcome:
            code = code * self.vocab_size + token
        return Fraction(int(table[code]), self.denominator)

    def __contains__(self, outcome: object) -> bool:
        return isinstance(outcome, tuple) and self[outcome] > 0

    def __iter__(self) -> Iterator[Outcome]:
        for length, table in self.tables.items():
            for code in np.flatnonzero(table).tolist():
                yield tokens_of(code, base=self.vocab_size, length=length)

    def __len__(self) -> int:
        return sum(int(np.count_nonzero(table)) for table in self.tables.values())

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Law):
            return NotImplemented
        same_shape = (self.denominator, self.vocab_size, self.tables.keys()) == (
            other.denominator,
            other.vocab_size,
            other.tables.keys(),
        )
        return same_shape and all(
            np.array_equal(table, other.tables[length]) for length, table in self.tables.items()
        )

    def total_variation(self, other: Law) -> Fraction:
        """Returns half the sum of the absolute differences over all outcomes."""
        distance = 0
        for length in self.tables.keys() | other.tables.keys():
            mine = self._table(length) * other.denominator
            theirs = other._table(length) * self.denominator
            distance += int(np.abs(mine - theirs).sum())
        return Fraction(distance, 2 * self.denominator * other.denominator)

    def of_length(self, length: int) -> Fraction:
        """Returns the probability that `length` tokens are emitted."""
        return Fraction(int(self._table(length).sum()), self.denominator)

    def first_token(self) -> Law:
        """Returns the law of the first token alone."""
        parts = [
            (length and 1, table.reshape(self.vocab_size if length else 1, -1).sum(axis=1))
            for length, table in ((length, self._table(length)) for length in self.tables)
        ]
        over = np.array([self.denominator], dtype=object)
        return Law.of(
            ((length, Ratios(table, over)) for length, table in parts),
            vocab_size=self.vocab_size,
        )

    def _table(self, length: int) -> Numerators:
        """Returns the numerators of one length as Python integers."""
        empty = np.zeros(self.vocab_size**length, dtype=object)
        return self.tables[length].astype(object) if length in self.tables else empty
