"""The second question, asked only where a rule is declared: do the steps follow it?

Judged on (draft block, emitted block): accept, recovered and bonus steps together. Where several
rules are declared the sampler may follow any of them, so all must be refuted.
"""

from __future__ import annotations

from collections.abc import Sequence

from audit.counts import Counts, Table
from audit.judgement.prepare import JointNull
from audit.judgement.preservation import power_of_ten
from audit.statistics.impossible import ImpossibleEvents, impossible_events, look_alpha
from audit.verdict import Budget

_SHARE = Budget.CONFORMITY / 2  # half for the e-process, half for excluded events


class ConformityWatch:
    """What (draft, emitted) pairs of one case have shown about the declared rules."""

    def __init__(self, nulls: Sequence[JointNull], budget: Budget, *, tolerance: float) -> None:
        self.nulls, self.budget, self.tolerance = tuple(nulls), budget, tolerance
        self.gates = tuple(null.gate for null in self.nulls)
        self.log_e_max = 0.0
        self._flat: Table | None = None
        self._chunks = 0

    def update(self, counts: Counts) -> None:
        """Takes in the counts of one chunk."""
        flat = JointNull.flat(counts)
        self.gates = tuple(
            gate.updated(null.inside(flat))
            for null, gate in zip(self.nulls, self.gates, strict=True)
        )
        self.log_e_max = max(self.log_e_max, self.log_e)
        self._flat = flat if self._flat is None else self._flat + flat
        self._chunks += 1

    @property
    def rules(self) -> tuple[str, ...]:
        """The declared rules."""
        return tuple(null.rule for null in self.nulls)

    @property
    def log_e(self) -> float:
        """The natural log of the e-value against the declared rule that fits best."""
        return min(gate.log_e for gate in self.gates)

    @property
    def log_threshold(self) -> float:
        """The natural log of the e-value that refutes the rule."""
        return self.budget.log_threshold(_SHARE)

    def impossible(self) -> ImpossibleEvents:
        """Returns the test of pairs that a rule excludes, of the rule that fits best."""
        if self._flat is None:
            raise ValueError("no chunk was taken in")
        flat, n = self._flat, int(self._flat.sum())
        tests = (
            impossible_events(int(flat[null.law <= 0].sum()), n, tolerance=self.tolerance)
            for null in self.nulls
        )
        return max(tests, key=lambda test: test.p_value)

    def deviates(self, preservation: str) -> list[str]:
        """Returns the sentence of a refuted rule, or nothing.

        preservation: "certified", "undecided" or "failed", said beside it.
        """
        test = self.impossible()
        excluded = test.p_value <= look_alpha(self.budget.level(_SHARE), self._chunks)
        if not excluded and self.log_e < self.log_threshold:
            return []
        proof = (
            f"{test.events} of {test.n} trials it excludes"
            if excluded
            else f"e-value {power_of_ten(self.log_e)} after {test.n} trials"
        )
        rules = " or ".join(self.rules)
        return [f"does not follow the declared rule {rules}: {proof}; preservation: {preservation}"]
