"""Which state fault the emitted sequences are consistent with.

The listed faults compete with each other, evenly, and with any other law of the sequences, which
is as probable beforehand as all of them together. A fault is named only where its posterior is at
least .95 and its law fits in all worlds (G and sequences that it excludes, at 1e-6). Ask only
after a failure: the least bad of many names is found in any data.

References: Krichevsky and Trofimov (1981) for the evidence of any law.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import special

from audit.counts import Table
from audit.exact.state_faults import STATE_FAULTS
from audit.state.world import World
from audit.statistics.chi_square import likelihood_ratio
from audit.statistics.impossible import impossible_events
from audit.statistics.results import Result

FIT_LEVEL = 1e-6
LEAST_POSTERIOR = 0.95


@dataclass(frozen=True)
class StateSuspects(Result):
    """The likeliest law and what it came to.

    names: the faults that are named, aliases of one law, () for none. leader: the likeliest of
    the listed; posterior and fit: its probability and the p-value of its fit. unlisted: the
    probability of a law that is not listed.
    """

    names: tuple[str, ...]
    leader: str
    posterior: float
    fit: float
    unlisted: float

    @property
    def meaning(self) -> str:
        """What the likeliest fault does."""
        return STATE_FAULTS[self.leader].meaning


def suspects(seen: Sequence[tuple[World, Table]]) -> StateSuspects | None:
    """Returns which fault the sequences of several worlds name; None where no law is known."""
    known = [(world, counts) for world, counts in seen if world.faults]
    if not known:
        return None
    evidence = {name: _log_likelihood(known, name) for name in known[0][0].faults}
    free = sum(_free(counts) for _, counts in known) + np.log(len(evidence))
    total = special.logsumexp([*evidence.values(), free])
    leader = max(evidence, key=evidence.__getitem__)
    alike = [name for name in evidence if _one_law(known, leader, name)]
    posterior = float(sum(np.exp(evidence[name] - total) for name in alike))
    fit = _fit(known, leader)
    named = posterior >= LEAST_POSTERIOR and fit >= FIT_LEVEL
    return StateSuspects(
        names=tuple(alike) if named else (),
        leader=leader,
        posterior=min(posterior, 1.0),
        fit=fit,
        unlisted=float(np.exp(free - total)),
    )


def _log_likelihood(seen: Sequence[tuple[World, Table]], name: str) -> float:
    """Returns the log-likelihood of a fault, impossible sequences at the numerical tolerance."""
    total = 0.0
    for world, counts in seen:
        law = (1 - world.tolerance) * world.faults[name] + world.tolerance / len(counts)
        total += float(special.xlogy(counts, law).sum())
    return total


def _free(counts: Table) -> float:
    """Returns the logarithm of the evidence of the counts under any law of these cells."""
    n, cells = int(counts.sum()), len(counts)
    each = special.gammaln(counts + 0.5) - special.gammaln(0.5)
    return float(each.sum() + special.gammaln(cells / 2) - special.gammaln(n + cells / 2))


def _one_law(seen: Sequence[tuple[World, Table]], one: str, other: str) -> bool:
    return all(np.allclose(w.faults[one], w.faults[other], atol=1e-12) for w, _ in seen)


def _fit(seen: Sequence[tuple[World, Table]], name: str) -> float:
    """Returns the p-value of the fit, over all worlds (Bonferroni)."""
    found = []
    for world, counts in seen:
        law, n = world.faults[name], int(counts.sum())
        events = int(counts[law <= 0].sum())
        excluded = impossible_events(events, n, tolerance=world.tolerance).p_value
        found += [likelihood_ratio(counts, law, n=n).p_value, excluded]
    return float(min(1.0, len(found) * min(found)))
