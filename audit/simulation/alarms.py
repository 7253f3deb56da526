"""How often a correct sampler alarms each test, and how often a run accuses it of anything.

One campaign of the reference is followed by the tests of a run, each given all of a nominal level
for itself, and by whole monitors with that level as their alpha. A test that may alarm at any
chunk is asked at every chunk.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import copy
from typing import Any

from audit.harness.collect import Collected
from audit.harness.schedule import Chunk
from audit.judgement.monitor import Monitor
from audit.judgement.prepare import CaseSetup
from audit.simulation.runs import campaign
from audit.verdict import Budget, Outcome

LEVELS = (0.05, 0.01, 0.001)
RULE, CASE = "ratio", "basis-1"
ADVERSE = {Outcome.FAIL, Outcome.WITHIN, Outcome.DEPENDENT, Outcome.ERROR}
ANYTHING = "any accusation"
_EPSILON = 1e-4  # out of reach, so that no certificate ends a run early

Alarms = Mapping[tuple[str, float], bool]


def _budget(alpha: float) -> Budget:
    return Budget(alpha=alpha, delta=1e-3, epsilon=_EPSILON, cases=1)


# Each test: its share of alpha, the part of a monitor that keeps it, and what it says.
_AT_ANY_CHUNK: dict[str, tuple[float, str, Callable[[Any], object]]] = {
    "e-process": (Budget.PRESERVATION, "preservation", lambda kept: kept.deviates()),
    "impossible events": (Budget.IMPOSSIBLE, "preservation", lambda kept: kept.excluded()),
    "independence": (
        Budget.INDEPENDENCE,
        "dependence",
        lambda kept: kept.sentence() or kept.by_size(),
    ),
    "conformity": (Budget.CONFORMITY, "conformity", lambda kept: kept.deviates("")),
}
_AT_THE_END: dict[str, tuple[float, str, Callable[[Any], object]]] = {
    "chi-square": (Budget.CHI_SQUARE, "preservation", lambda kept: kept.chi_square()),
}
TESTS = (*_AT_ANY_CHUNK, *_AT_THE_END, ANYTHING)


class Witness(Monitor):
    """A monitor that goes on to the end and notes which test alarmed, and which level accused."""

    def __init__(self, setup: CaseSetup, budget: Budget, *, declared: tuple[str, ...]) -> None:
        super().__init__(setup, budget, declared=declared, fixed=True)
        self.judges = {
            level: Monitor(setup, _budget(level), declared=declared, fixed=True) for level in LEVELS
        }
        self.alarms = {(test, level): False for test in TESTS for level in LEVELS}

    def update(self, chunk: Chunk, collected: Collected, *, ends_look: bool, last: bool) -> None:
        """Takes in a chunk as any monitor does, and asks every test at every level."""
        super().update(chunk, collected, ends_look=ends_look, last=last)
        for test, (share, part, says) in (_AT_ANY_CHUNK | (_AT_THE_END if last else {})).items():
            for level in LEVELS:
                asked = copy(getattr(self, part))
                asked.budget = _budget(level / share)
                self.alarms[test, level] |= bool(says(asked))
        for level, judge in self.judges.items():
            judge.update(chunk, collected, ends_look=ends_look, last=last)
            self.alarms[ANYTHING, level] = judge.verdict().outcome in ADVERSE


def alarms(seed: int, *, trials: int, sampler: str = f"rule:{RULE}") -> Alarms:
    """Returns which test alarmed at which level in one campaign of the reference."""
    made = campaign(
        sampler,
        (CASE,),
        seed=seed,
        budget=_budget(min(LEVELS)),
        cap=trials,
        declares=(RULE,),
        monitor=Witness,
    )
    return next(monitor.alarms for monitor in made.monitors if isinstance(monitor, Witness))
