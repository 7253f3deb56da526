"""How far an audit is, told while it runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Progress:
    """How far a phase of an audit is; trials over all cases. phase is "audit" or "control".

    expected_trials: those made, and those that a correct sampler is expected to take until every
    case is decided. deadline: when the time limit ends it, by `time.monotonic`; None: never.
    laws: how many were read off the code and are to be read; None while rounds are sampled.
    """

    done_trials: int
    expected_trials: int
    case_id: str
    log_e: float
    log_threshold: float
    phase: str
    deadline: float | None = None
    laws: tuple[int, int] | None = None

    @property
    def stage(self) -> str:
        """The phase, and whether its laws are read."""
        return self.phase if self.laws is None else f"{self.phase}, laws"

    @property
    def share(self) -> tuple[int, int]:
        """What was done at this stage and is expected in all, in trials or laws."""
        return self.laws or (self.done_trials, self.expected_trials)


def next_decision(looks: Sequence[int], made: int, needed: int | None) -> int:
    """Returns the trials at the next look from `needed` on, the last one where none is known.

    >>> next_decision([100, 200, 400], made=0, needed=150)
    200
    >>> next_decision([100, 200, 400], made=200, needed=150)
    400
    """
    least = looks[-1] if needed is None else max(needed, made + 1)
    return next((look for look in looks if look >= least), looks[-1])
