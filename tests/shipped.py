"""The shipped cases that can be enumerated, and what they show of the catalogue, made once."""

from __future__ import annotations

from functools import lru_cache

from audit.exact.aliases import Pair, separations
from audit.exact.matrix import FaultMatrix, fault_matrix
from audit.selection import select_cases

CASES = select_cases(["small", "trees"])


@lru_cache
def shipped_matrix() -> FaultMatrix:
    """Returns the matrix fault x case."""
    return fault_matrix(CASES)


@lru_cache
def shipped_pairs() -> list[Pair]:
    """Returns how far apart the entries of the catalogue are."""
    return separations(CASES)
