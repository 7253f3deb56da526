"""Whether the rows and calls of one case are independent; without it no bound is believed."""

from __future__ import annotations

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
}


class DependenceWatch:
    """The independence tests of one case; a chunk is a stratum of calls made alike."""

    def __init__(self, budget: Budget) -> None:
        self.budget = budget
        self._gate = IndependenceGate.create()
        self._chunks = 0

    def update(self, collected: Collected) -> None:
        """Takes in the tables of one chunk."""
        self._gate = self._gate.updated(collected.calls, collected.row_pairs, collected.call_pairs)
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
        return self.test().kind == "call"

    def sentence(self) -> str:
        """Returns what is dependent, as far as it is proven at this chunk; "" otherwise."""
        test = self.test()
        if test.p_value > look_alpha(self.budget.level(Budget.INDEPENDENCE), self._chunks):
            return ""
        return f"not independent: {_SAYS[test.kind, test.too_regular]}, p = {test.p_value:.2g}"
