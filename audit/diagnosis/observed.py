"""What was observed, and the laws of rules on exactly that: (draft block, emitted block).

The cells of a case stand by emitted length, then draft block, then emitted block.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TypeVar

import numpy as np

from audit.case import Case
from audit.counts import Table
from audit.diagnosis.handed import handed_law
from audit.exact.engine import rounds_of_case
from audit.exact.rule import Rule
from audit.statistics.results import Array, Labels

_UNDEFINED = 1e-12  # what rounding may leave of a law that defines every outcome
Cells = TypeVar("Cells", Array, Table)


@dataclass(frozen=True, eq=False)
class Pairs:
    """The (draft block, emitted block) pairs of one case, as its rows were handed over.

    tolerance: the total variation that the arithmetic of the dtype may cause. The laws that were
    asked for are kept, without their zeros.
    """

    case: Case
    tolerance: float = 0.0
    _known: dict[str, tuple[Labels, Array]] = field(default_factory=dict, init=False, repr=False)

    @cached_property
    def drafted(self) -> Array:
        """The probability of every draft block, float64 [drafts]."""
        return rounds_of_case(self.case).weight.floats()

    @property
    def lengths(self) -> range:
        """The possible numbers of emitted tokens."""
        return range(1, self.case.num_speculative_tokens + 2)

    @cached_property
    def size(self) -> int:
        """The number of cells."""
        return len(self.drafted) * sum(int(self.case.vocab_size**n) for n in self.lengths)

    def by_length(self, cells: Cells) -> list[Cells]:
        """Returns the cells by emitted length, each [drafts, V ** length]."""
        drafts, size = len(self.drafted), self.case.vocab_size
        ends = np.cumsum([drafts * size**length for length in self.lengths])
        return [part.reshape(drafts, -1) for part in np.split(cells, ends[:-1])]

    def law(self, rule: Rule) -> Array:
        """Returns a rule's law, float64 [cells]; it lacks the mass of undefined outcomes."""
        if rule.id not in self._known:
            law = handed_law(self.case, rule)
            support = np.flatnonzero(law)
            self._known[rule.id] = support, law[support]
        cells, (support, masses) = np.zeros(self.size), self._known[rule.id]
        cells[support] = masses
        return cells


def is_open(law: Array) -> bool:
    """Returns whether a law leaves some outcome undefined: nobody knows what code does then."""
    return bool(law.sum() < 1 - _UNDEFINED)


@dataclass(frozen=True, eq=False)
class Seen:
    """The rounds of one case: int64 [cells], `mixed` those made in calls that mix cases."""

    pairs: Pairs
    counts: Table
    mixed: Table

    @property
    def trials(self) -> int:
        """The number of rounds."""
        return int(self.counts.sum())

    @property
    def case(self) -> Case:
        """The case, its rows as they were handed over."""
        return self.pairs.case


def have_one_law(one: Rule, other: Rule, seen: Sequence[Seen]) -> bool:
    """Returns whether two rules have one and the same law on all cells of all cases.

    Every entry of a law is its exact value, rounded once: equal values are equal here.
    """
    return all(np.array_equal(s.pairs.law(one), s.pairs.law(other)) for s in seen)
