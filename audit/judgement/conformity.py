"""The second question, asked only where a rule is declared: do the steps follow it?

Judged on (draft block, emitted block): accept, recovered and bonus steps together. Where several
rules are declared the sampler may follow any of them, and switch, so that only what all of them
exclude refutes.
"""

from __future__ import annotations

import numpy as np

from audit.counts import Counts
from audit.judgement.joint import JointNull
from audit.judgement.preservation import power_of_ten
from audit.plural import counted
from audit.statistics.impossible import ImpossibleEvents, impossible_events, look_alpha
from audit.verdict import Budget

SHARE = Budget.CONFORMITY / 2  # half for the e-process, half for excluded events


class ConformityWatch:
    """What (draft, emitted) pairs of one case have shown about the declared rules."""

    def __init__(self, null: JointNull, budget: Budget, *, tolerance: float) -> None:
        self.null, self.budget, self.tolerance = null, budget, tolerance
        self._gate = null.gate
        self._flat = np.zeros(len(null.law), dtype=np.int64)
        self._chunks = 0

    def update(self, counts: Counts) -> None:
        """Takes in the counts of one chunk."""
        flat = JointNull.flat(counts)
        if self._gate is not None:
            self._gate = self._gate.updated(self.null.inside(flat))
        self._flat = self._flat + flat
        self._chunks += 1

    @property
    def log_e(self) -> float:
        """The natural log of the e-value against the declared rule; 0 where several are."""
        return self._gate.log_e if self._gate is not None else 0.0

    @property
    def log_e_max(self) -> float:
        """The highest `log_e` at the end of a chunk."""
        return self._gate.log_e_max if self._gate is not None else 0.0

    @property
    def log_threshold(self) -> float:
        """The natural log of the e-value that refutes the rule."""
        return self.budget.log_threshold(SHARE)

    def impossible(self) -> ImpossibleEvents:
        """Returns the test of pairs that the declared rules exclude."""
        excluded, n = int(self._flat[self.null.law <= 0].sum()), int(self._flat.sum())
        return impossible_events(excluded, n, tolerance=self.tolerance)

    def deviates(self, preservation: str) -> list[str]:
        """Returns the sentence of a refuted rule, or nothing.

        preservation: "certified", "undecided" or "failed", said beside it.
        """
        test = self.impossible()
        excluded = test.p_value <= look_alpha(self.budget.level(SHARE), self._chunks)
        if not excluded and self.log_e < self.log_threshold:
            return []
        proof = (
            f"{test.events:,} of {counted(test.n, 'trial')} it excludes"
            if excluded
            else f"e-value {power_of_ten(self.log_e)} after {counted(test.n, 'trial')}"
        )
        rules = " or ".join(self.null.rules)
        return [f"does not follow the declared rule {rules}: {proof}; preservation: {preservation}"]
