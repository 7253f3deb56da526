"""Which entries of the catalogue are one and the same law, and how far apart the others are.

Aliases have the same law of (draft block, emitted block) on every case that they verify, so that
no number of rounds there tells them apart.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np
import numpy.typing as npt

from audit.case import Case
from audit.exact.catalogue import RULES, rules_for
from audit.exact.engine import block_law
from audit.exact.ratios import Ratios
from audit.exact.tables import joint_masses, joint_table

Table = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Pair:
    """Two entries and the largest total variations between their laws over some cases.

    joint: of the law of (draft block, emitted block), on `case`; block: of the emitted block.
    """

    one: str
    other: str
    case: str
    joint: float = 0.0
    block: float = 0.0


def alias_classes(cases: Sequence[Case]) -> tuple[tuple[str, ...], ...]:
    """Returns the groups of two or more entries that no case tells apart, exactly."""
    laws: dict[str, list[object]] = {}
    for case in cases:
        for name in rules_for(case):
            tables = tuple(_exact(table) for table in joint_masses(case, name))
            laws.setdefault(name, []).append((case.id, tables))
    groups: dict[object, list[str]] = {}
    for name in (name for name in RULES if name in laws):
        groups.setdefault(tuple(laws[name]), []).append(name)
    return tuple(tuple(group) for group in groups.values() if len(group) > 1)


def _exact(masses: Ratios) -> object:
    flat = masses.flat().reduced()
    return tuple(flat.numerators.tolist()), tuple(flat.denominators.tolist())


def separations(cases: Sequence[Case]) -> list[Pair]:
    """Returns every pair of entries that verify the same case, the nearest joint laws first."""
    found: dict[tuple[str, str], Pair] = {}
    for case in cases:
        names = rules_for(case)
        joint, block = (_distances([law(case, n) for n in names]) for law in (_joint, _block))
        for (i, one), (j, other) in combinations(enumerate(names), 2):
            pair = found.setdefault((one, other), Pair(one, other, case.id))
            if joint[i, j] > pair.joint:
                pair = replace(pair, case=case.id, joint=float(joint[i, j]))
            found[one, other] = replace(pair, block=max(pair.block, float(block[i, j])))
    return sorted(found.values(), key=lambda pair: (pair.joint, pair.one, pair.other))


def _distances(laws: Sequence[Table]) -> Table:
    """Returns the total variation of all pairs of laws that may lack undefined mass, [n, n]."""
    table = np.stack(laws)
    missing = 1 - table.sum(axis=1)
    table = table[:, table.min(axis=0) < table.max(axis=0)]  # most pairs are alike to all
    apart = np.stack([np.abs(table - law).sum(axis=1) for law in table])
    return np.asarray((apart + np.abs(missing[:, np.newaxis] - missing)) / 2, dtype=np.float64)


def _joint(case: Case, name: str) -> Table:
    return np.concatenate([table.ravel() for table in joint_table(case, name)])


def _block(case: Case, name: str) -> Table:
    """Returns the law of the emitted blocks, undefined and empty ones left out."""
    law, size = block_law(case, name), case.vocab_size
    parts = [
        law.tables[length].floats() if length in law.tables else np.zeros(size**length)
        for length in range(1, case.num_speculative_tokens + 2)
    ]
    return np.concatenate(parts)
