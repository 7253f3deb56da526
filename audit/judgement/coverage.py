"""Which catalogued faults a certificate of a case excludes, and which it does not."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache

import numpy as np

from audit.exact.tables import completed_table
from audit.judgement.bias import as_seen
from audit.judgement.lenses import Lens
from audit.judgement.prepare import CaseSetup
from audit.statistics.pooling import binned
from audit.statistics.results import Array


@lru_cache(maxsize=128)
def certified_distances(setup: CaseSetup) -> Mapping[str, float]:
    """Returns the TV of each compared fault as the certificate of this case measures it.

    Through bins it may be smaller than that of whole blocks; against a declared law it is
    another one than against the target.
    """
    if not setup.claims and (setup.case.large or setup.certify == "full"):
        return setup.fault_distances
    return {name: _distance(setup, name) for name in setup.fault_distances}


def _distance(setup: CaseSetup, fault: str) -> float:
    laws = [completed_table(as_seen(setup, view), fault) for view in range(len(setup.views))]
    return max(_through(lens, laws[lens.view]) for lens in setup.lenses)


def _through(lens: Lens, law: Array) -> float:
    seen = law if lens.labels is None else binned(law, lens.labels, len(lens.probabilities))
    return float(np.abs(seen - lens.probabilities).sum() / 2)


def visibility(setups: Sequence[CaseSetup]) -> Mapping[str, tuple[float | None, ...]]:
    """Returns the TV of each compared fault on every case, None where it is not compared."""
    found = [certified_distances(setup) for setup in setups]
    faults = dict.fromkeys(name for distances in found for name in distances)
    return {name: tuple(distances.get(name) for distances in found) for name in faults}


def beyond(setup: CaseSetup, bound: float) -> set[str]:
    """Returns the faults that this case sees above a bound."""
    return {name for name, far in certified_distances(setup).items() if far > bound}


def not_excluded(setups: Iterable[CaseSetup], epsilon: float) -> tuple[str, ...]:
    """Returns the faults compared on some of the cases that none of them sees above epsilon."""
    best: dict[str, float] = {}
    for setup in setups:
        for fault, distance in certified_distances(setup).items():
            best[fault] = max(best.get(fault, 0.0), distance)
    return tuple(fault for fault, distance in best.items() if distance <= epsilon)
