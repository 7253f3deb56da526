"""What each case shows of each entry of the catalogue, in exact fractions.

A cell holds three measures. completed: total variation between the completed laws of the entry
and of the target, which is the bias. block: that between the laws of the emitted blocks of the
entry and of its base, by which rules are told apart. impossible: probability per round of a
(draft, emitted) pair that the base cannot produce. The base is the rule that a fault departs
from, and for lossless rules the standard one. A case is blind to an entry whose completed law on
it is the target's.

Where code draws from nothing its outcome is undefined: an outcome of its own in the first two
measures, and not an impossible one in the third, since nobody knows what the code makes of it. An
empty block is impossible for every base.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Literal, get_args

import numpy as np

from audit.case import Case
from audit.exact.catalogue import RULES, rules_for
from audit.exact.comparison import standard_rule
from audit.exact.engine import block_law, completed_law, target_law
from audit.exact.ratios import Ratios
from audit.exact.tables import joint_masses

Measure = Literal["completed", "block", "impossible"]
MEASURES: tuple[Measure, ...] = get_args(Measure)


@dataclass(frozen=True)
class Cell:
    """What a case shows of an entry: the three measures, and the mass of undefined outcomes."""

    rule: str
    case: str
    completed: Fraction
    block: Fraction
    impossible: Fraction
    undefined: Fraction

    @property
    def blind(self) -> bool:
        """Whether the case cannot show that the entry is biased."""
        return not self.completed

    def measure(self, name: Measure) -> Fraction:
        """Returns the measure of this name."""
        value: Fraction = getattr(self, name)
        return value


@dataclass(frozen=True)
class FaultMatrix:
    """The cells of some cases, case by case, entries in the order of the catalogue."""

    cells: tuple[Cell, ...]

    @cached_property
    def cases(self) -> tuple[str, ...]:
        """The ids of the cases."""
        return tuple(dict.fromkeys(cell.case for cell in self.cells))

    @cached_property
    def rules(self) -> tuple[str, ...]:
        """The ids of the entries that verify drafts of some case, in the catalogue's order."""
        found = {cell.rule for cell in self.cells}
        return tuple(name for name in RULES if name in found)

    @property
    def biased(self) -> tuple[str, ...]:
        """The ids of those entries that are not lossless."""
        return tuple(name for name in self.rules if not RULES[name].lossless)

    def of_rule(self, rule: str) -> tuple[Cell, ...]:
        """Returns the cells of one entry."""
        return tuple(cell for cell in self.cells if cell.rule == rule)

    def of_case(self, case: str) -> tuple[Cell, ...]:
        """Returns the cells of one case."""
        return tuple(cell for cell in self.cells if cell.case == case)

    def best(self, rule: str, measure: Measure = "completed") -> Cell:
        """Returns the cell that shows an entry best, one without undefined outcomes if any does.

        Raises: KeyError where the entry has no cell.
        """
        cells = self.of_rule(rule)
        if not cells:
            raise KeyError(rule)
        seeing = [cell for cell in cells if cell.measure(measure)]
        defined = [cell for cell in seeing if not cell.undefined]
        return max(defined or seeing or cells, key=lambda cell: cell.measure(measure))


def fault_matrix(cases: Iterable[Case]) -> FaultMatrix:
    """Returns the matrix of these cases and all entries that verify drafts of their shape.

    Raises:
        UsageError: a case is beyond CELL_LIMIT.
    """
    return FaultMatrix(tuple(cell for case in cases for cell in _cells(case)))


def _cells(case: Case) -> Iterator[Cell]:
    bases = {name: _base(case, name) for name in rules_for(case)}
    joint = {base: joint_masses(case, base) for base in set(bases.values())}
    for name, base in bases.items():
        completed = completed_law(case, name)
        yield Cell(
            rule=name,
            case=case.id,
            completed=completed.total_variation(target_law(case)),
            block=block_law(case, name).total_variation(block_law(case, base)),
            impossible=1 - completed.undefined - _inside(joint_masses(case, name), joint[base]),
            undefined=completed.undefined,
        )


def _base(case: Case, name: str) -> str:
    return standard_rule(case) if RULES[name].lossless else RULES[name].base


def _inside(masses: Sequence[Ratios], base: Sequence[Ratios]) -> Fraction:
    """Returns the mass of the pairs that the base can produce."""
    found: list[Fraction] = []
    for mine, theirs in zip(masses, base, strict=True):
        flat = mine.flat()
        both = np.flatnonzero((theirs.flat().numerators > 0) & (flat.numerators > 0))
        found += Ratios(flat.numerators[both], flat.denominators[both]).fractions()
    return _sum(found)


def _sum(fractions: Sequence[Fraction]) -> Fraction:
    """Returns the sum over one common denominator, which many terms share."""
    common = math.lcm(*(value.denominator for value in fractions))
    return Fraction(sum(v.numerator * (common // v.denominator) for v in fractions), common)
