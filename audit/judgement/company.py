"""What rows of other cases in the same call do to a case: how a mix-up of rows is told.

A row may depend on its own inputs alone, so that a case has the same law in calls of its own and in
calls that mix cases. What is said here explains a failure and decides none.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np

from audit.counts import Counts, Table
from audit.statistics.independence import Association
from audit.statistics.results import Array

_LEVEL = 1e-4  # of a comparison that only explains


def log_e_of_company(mixed: Counts, everything: Counts, law: Array) -> float:
    """Returns the natural log of the e-value that calls which mix cases show another law.

    mixed: the counts of such calls, a part of `everything`; law float64 [cells]: that of completed
    blocks. Blocks that it excludes are compared as one event, if there are any, else all blocks.
    0 where there are calls of one kind alone.
    """
    together = mixed.completed()
    table = np.stack([together, everything.completed() - together])
    if (table.sum(axis=1) == 0).any():
        return 0.0
    excluded = _excluded(table, law)
    compared = excluded if excluded[:, 0].any() else table
    return Association().updated(compared[np.newaxis]).log_e


def _excluded(table: Table, law: Array) -> Table:
    events = table[:, law <= 0].sum(axis=1)
    return np.stack([events, table.sum(axis=1) - events], axis=1)


def mixed_up(log_es: Iterable[float]) -> str:
    """Returns the sentence on what calls that mix cases show of several cases, or ""."""
    log_e = sum(log_es)
    if log_e < -math.log(_LEVEL):
        return ""
    return (
        "calls that mix cases show another law than calls of one case "
        f"(p = {math.exp(-log_e):.2g}): rows of a call are mixed up"
    )
