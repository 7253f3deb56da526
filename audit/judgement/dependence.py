"""Whether the rows and calls of one case are independent; without it no bound is believed."""

from __future__ import annotations

import numpy as np

from audit.harness.collect import Collected
from audit.statistics.impossible import look_alpha
from audit.statistics.independence import Independence, independence
from audit.verdict import Budget

FROZEN = "output repeats itself from call to call although the generator differs"
_COMPARED = {
    "batch": "the rows of a call",
    "row": "neighbouring rows of a call",
    "call": "the same rows of consecutive calls",
}


class DependenceWatch:
    """The small tables of the independence tests, summed over chunks."""

    def __init__(self, budget: Budget) -> None:
        self.budget = budget
        self._chunks: list[Collected] = []
        self._known: Independence | None = None

    def update(self, collected: Collected) -> None:
        """Takes in the tables of one chunk."""
        self._chunks.append(collected)
        self._known = None

    @property
    def calls(self) -> int:
        """The number of calls that held a row of this case."""
        return sum(len(chunk.calls) for chunk in self._chunks)

    def test(self) -> Independence:
        """Returns the strongest evidence against independence, on empirical margins."""
        if self._known is None:
            self._known = independence(
                np.concatenate([chunk.calls for chunk in self._chunks]),
                np.sum([chunk.row_pairs for chunk in self._chunks], axis=0),
                np.sum([chunk.call_pairs for chunk in self._chunks], axis=0),
            )
        return self._known

    def sentence(self) -> str:
        """Returns what is dependent, as far as it is proven at this chunk; "" otherwise."""
        test = self.test()
        level = look_alpha(self.budget.level(Budget.INDEPENDENCE), len(self._chunks))
        if test.p_value > level:
            return ""
        how = "too regular" if test.too_regular else "too alike"
        return f"not independent: {_COMPARED[test.kind]} are {how}, p = {test.p_value:.2g}"
