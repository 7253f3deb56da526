"""An exact law of outcomes.

An outcome is the tuple of emitted tokens, the same key as in Counts. The empty tuple holds the
mass of what the code leaves undefined, such as a draw from a residual that has no mass.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from audit.counts import Outcome, tokens_of
from audit.exact.ratios import Ratios, summed, whole

_NOTHING = whole([0])


@dataclass(frozen=True, eq=False)
class Law(Mapping[Outcome, Fraction]):
    """Probabilities of outcomes; they sum to exactly 1.

    tables[length] holds the outcomes of that length in the order of their codes, [vocab_size **
    length], each in lowest terms. (One denominator for all of them would have thousands of bits
    where every prefix has its own rows.) Iteration yields the outcomes of positive probability;
    every other outcome has probability 0.

    >>> coin = Law.of([(1, Ratios(np.array([1, 2]), np.array([3, 3])))], vocab_size=2)
    >>> coin[(1,)], coin[(0, 1)], coin.undefined, len(coin)
    (Fraction(2, 3), Fraction(0, 1), Fraction(0, 1), 2)
    """

    tables: Mapping[int, Ratios]
    vocab_size: int
    __hash__ = None  # type: ignore[assignment]

    @classmethod
    def of(cls, parts: Iterable[tuple[int, Ratios]], *, vocab_size: int) -> Law:
        """Returns the law of the masses [vocab_size ** length], added up by length.

        What is missing to 1 is the mass of the outcome ().
        """
        sums: dict[int, Ratios] = {}
        for length, part in parts:
            sums[length] = (sums.get(length, _NOTHING) + part).flat().reduced()
        missing = 1 - sum(summed(part, vocab_size) for part in sums.values())
        undefined = np.array([[missing.numerator], [missing.denominator]], dtype=object)
        sums[0] = sums.get(0, _NOTHING) + Ratios(*undefined)
        found = {length: part for length, part in sorted(sums.items()) if part.numerators.any()}
        return cls(found, vocab_size)

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
        return Fraction(int(table.numerators[code]), int(table.denominators[code]))

    def __contains__(self, outcome: object) -> bool:
        return isinstance(outcome, tuple) and self[outcome] > 0

    def __iter__(self) -> Iterator[Outcome]:
        for length, table in self.tables.items():
            for code in np.flatnonzero(table.numerators).tolist():
                yield tokens_of(code, base=self.vocab_size, length=length)

    def __len__(self) -> int:
        return sum(int(np.count_nonzero(table.numerators)) for table in self.tables.values())

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Law):
            return NotImplemented
        alike = (self.vocab_size, self.tables.keys()) == (other.vocab_size, other.tables.keys())
        return alike and all(
            np.array_equal(table.numerators, other.tables[length].numerators)
            and np.array_equal(table.denominators, other.tables[length].denominators)
            for length, table in self.tables.items()
        )

    def total_variation(self, other: Law) -> Fraction:
        """Returns half the sum of the absolute differences over all outcomes."""
        distance = Fraction(0)
        for length in self.tables.keys() | other.tables.keys():
            mine, theirs = (law.tables.get(length, _NOTHING) for law in (self, other))
            distance += summed((mine - theirs).absolute().reduced(), self.vocab_size)
        return distance / 2

    def of_length(self, length: int) -> Fraction:
        """Returns the probability that `length` tokens are emitted."""
        return summed(self.tables.get(length, _NOTHING), self.vocab_size)

    def first_token(self) -> Law:
        """Returns the law of the first token alone."""
        return Law.of(
            (self._first_tokens(length) for length in self.tables if length),
            vocab_size=self.vocab_size,
        )

    def _first_tokens(self, length: int) -> tuple[int, Ratios]:
        table = self.tables[length].column()
        return 1, table.grouped(self.vocab_size, times=length - 1).flat()
