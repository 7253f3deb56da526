"""What the declared rules say of draft block and emitted block together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from audit.case import Case
from audit.counts import Counts, Table
from audit.exact.tables import joint_table
from audit.harness.views import Labels
from audit.judgement.bets import gate_faults, start_weights
from audit.statistics.e_process import Gate
from audit.statistics.results import Array


@dataclass(frozen=True, eq=False)
class JointNull:
    """The law of (draft block, emitted block) under the declared rules, as one flat vector.

    With several rules it is their mean, which excludes what all of them exclude; since the
    sampler may switch between them as it likes, nothing is bet (gate None).
    """

    rules: tuple[str, ...]
    law: Array
    support: Labels
    gate: Gate | None

    @classmethod
    def of(cls, case: Case, rules: Sequence[str], *, tolerance: float) -> JointNull:
        """Returns the null of the rules on a case, with the gate's start capital."""
        return _null(case, tuple(rules), tolerance)

    def inside(self, flat: Table) -> Table:
        """Returns the counts of the pairs that the rule allows."""
        return flat[self.support]

    @staticmethod
    def flat(counts: Counts) -> Table:
        """Returns the observed counts in the order of `law`."""
        lengths = range(1, counts.tables[0].shape[1] + 1)
        return np.concatenate([counts.emitted(length).ravel() for length in lengths])


@lru_cache(maxsize=64)
def _null(case: Case, rules: tuple[str, ...], tolerance: float) -> JointNull:
    """Returns the null, kept for the next audit of the case; nothing in it changes."""
    laws = [joint_law(case, rule) for rule in rules]
    law = np.mean(laws, axis=0)
    support = np.flatnonzero(law > 0)
    if len(laws) > 1:
        return JointNull(rules, law, support, None)
    alternatives = {name: joint_law(case, name)[support] for name in gate_faults(case)}
    inside = law[support] / law[support].sum()
    gate = Gate.create(inside, alternatives, tolerance=tolerance, weights=start_weights(case))
    return JointNull(rules, law, support, gate)


def joint_law(case: Case, name: str) -> Array:
    """Returns the law of (draft, emitted) under a rule, in the order of `JointNull.law`."""
    return np.concatenate([table.ravel() for table in joint_table(case, name)])
