"""The question always asked: is the completed law the target's (or the declared one)?

Three tests share the budget: the e-process over completed blocks, blocks that the law excludes,
and, in fixed-n mode at the declared n, a chi-square. Accept and residual factors have no part:
a lossless sampler need not follow Leviathan's rule.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

from audit.counts import Counts
from audit.judgement.prepare import CaseSetup
from audit.plural import counted
from audit.statistics.chi_square import cressie_read
from audit.statistics.e_process import log_mean
from audit.statistics.impossible import ImpossibleEvents, impossible_events, look_alpha
from audit.verdict import Budget

_SAFETY = 10.0  # pooled asymptotic tails are up to 7 times too heavy at 1e-6


class Preservation:
    """What the completed blocks of one case have shown so far."""

    def __init__(self, setup: CaseSetup, budget: Budget) -> None:
        self.setup, self.budget = setup, budget
        self.gates = setup.gates
        self.log_e_max = 0.0
        self.path: list[tuple[int, float]] = []  # trials and log e-value after each chunk
        self._counts: Counts | None = None
        self.chunks = 0

    def update(self, counts: Counts) -> None:
        """Takes in the counts of one chunk."""
        self.gates = tuple(
            gate.updated(counts.completed(view)) for view, gate in enumerate(self.gates)
        )
        self.log_e_max = max(self.log_e_max, self.log_e)
        self._counts = counts if self._counts is None else self._counts + counts
        self.chunks += 1
        self.path.append((self.trials, self.log_e))

    @property
    def counts(self) -> Counts:
        """Everything counted so far; at least one chunk must have been taken in."""
        if self._counts is None:
            raise ValueError("no chunk was taken in")
        return self._counts

    @property
    def trials(self) -> int:
        """The number of trials taken in."""
        return 0 if self._counts is None else self._counts.trials

    @property
    def log_e(self) -> float:
        """The natural log of the e-value: the mean over the views."""
        return log_mean([gate.log_e for gate in self.gates])

    def deviates(self) -> list[str]:
        """Returns the sentence of a bias that the e-process proves, or nothing."""
        return _crossed(self, self.budget.log_threshold(Budget.PRESERVATION))

    def impossible(self) -> ImpossibleEvents:
        """Returns the test of completed blocks that the law excludes, of the worst view."""
        tests = (
            impossible_events(
                int(self.counts.completed(view)[law <= 0].sum()),
                self.trials,
                tolerance=self.setup.tolerance,
            )
            for view, law in enumerate(self.setup.laws)
        )
        return min(tests, key=lambda test: test.p_value)

    def excluded(self) -> list[str]:
        """Returns the sentence of impossible events beyond the tolerance, or nothing."""
        test = self.impossible()
        if test.p_value > impossible_level(self.setup, self.budget, chunk=self.chunks):
            return []
        events = counted(test.events, "impossible event")
        return [f"{events} in {counted(test.n, 'trial')}: {self._law()} excludes them"]

    def chi_square(self) -> list[str]:
        """Returns the sentence of a chi-square that fails at the declared n, or nothing."""
        level = chi_square_level(self.setup, self.budget)
        tests = (
            cressie_read(
                self.counts.completed(view), law, n=self.trials, tolerance=self.setup.tolerance
            )
            for view, law in enumerate(self.setup.laws)
        )
        return [
            f"the emitted law is not {self._law()}: Cressie-Read {test.statistic:.4g} "
            f"on {test.degrees_of_freedom} degrees of freedom"
            for test in tests
            if test.p_value <= level
        ]

    def _law(self) -> str:
        claims = self.setup.claims
        return f"the declared law of {claims}" if claims else "the target's law"


def impossible_level(setup: CaseSetup, budget: Budget, *, chunk: int) -> float:
    """Returns the p-value at which impossible events fail one view after chunk 1, 2, 3, ..."""
    return look_alpha(budget.level(Budget.IMPOSSIBLE) / len(setup.laws), chunk)


def chi_square_level(setup: CaseSetup, budget: Budget) -> float:
    """Returns the p-value at which the chi-square of one view fails."""
    return budget.level(Budget.CHI_SQUARE) / len(setup.laws) / _SAFETY


def _crossed(shown: Preservation, bar: float, *, of: str = "") -> list[str]:
    if shown.log_e < bar:
        return []
    return [
        f"the emitted law is not {shown._law()}: e-value {power_of_ten(shown.log_e)} "
        f"after {shown.trials} trials{of}, {power_of_ten(bar)} was enough"
    ]


def first_row_failures(
    setup: CaseSetup, budget: Budget, first_rows: Iterable[Counts]
) -> tuple[str, ...]:
    """Returns what the first rows of all calls prove by themselves, chunk after chunk.

    They are independent where calls are, whatever the rows of a call share.
    """
    shown = Preservation(setup, budget)
    for counts in first_rows:
        shown.update(counts)
        found = _crossed(
            shown, budget.log_threshold(Budget.FIRST_ROWS), of=" (the first row of each call)"
        )
        if found:
            return tuple(found)
    return ()


def power_of_ten(log: float) -> str:
    """Returns a natural logarithm as a power of ten.

    >>> power_of_ten(math.log(1000))
    '10^3.0'
    """
    return f"10^{log / math.log(10):.1f}"
