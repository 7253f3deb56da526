"""Whether the rows and calls of one case are independent; without it no bound is believed."""

from __future__ import annotations

import numpy as np

from audit.harness.collect import Collected
from audit.statistics.impossible import look_alpha
from audit.statistics.independence import Independence, IndependenceGate
from audit.verdict import Budget

FROZEN = "output repeats itself from call to call although the generator differs"
_SAYS = {
    ("batch", False): "the rows of a call are too alike",
    ("batch", True): "calls are too regular",
    ("row", False): "rows of a call depend on each other",
    ("call", False): "consecutive calls depend on each other",
    ("size", False): "what a row emits depends on how many rows its call has",
}


class DependenceWatch:
    """The independence tests of one case; a stratum: calls of one chunk with as many rows."""

    def __init__(self, budget: Budget) -> None:
        self.budget = budget
        self._gate = IndependenceGate.create()
        self._chunks = 0

    def update(self, collected: Collected) -> None:
        """Takes in the tables of one chunk."""
        for tables in collected.together:
            self._gate = self._gate.updated(*tables)
        sizes = np.stack([tables.calls.sum(axis=0) for tables in collected.together])
        self._gate = self._gate.compared(sizes)
        self._chunks += 1

    @property
    def calls(self) -> int:
        """The number of calls that held a row of this case."""
        return self._gate.calls

    def test(self) -> Independence:
        """Returns the strongest evidence against independence, on empirical margins."""
        return self._gate.reading()

    @property
    def between_calls(self) -> bool:
        """Whether the strongest evidence is that calls depend on each other."""
        return self._gate.reading("batch", "row", "call").kind == "call"

    def sentence(self) -> str:
        """Returns what shares its randomness, as far as proven at this chunk; "" otherwise."""
        return self._said(self._gate.reading("batch", "row", "call"))

    def by_size(self) -> str:
        """Returns the sentence that the number of rows matters, as far as proven; "" otherwise.

        Rows may be independent all the same, and what they prove stands.
        """
        return self._said(self._gate.reading("size"))

    def _said(self, test: Independence) -> str:
        if not self._chunks:
            return ""
        if test.p_value > look_alpha(self.budget.level(Budget.INDEPENDENCE), self._chunks):
            return ""
        return f"not independent: {_SAYS[test.kind, test.too_regular]}, p = {test.p_value:.2g}"
