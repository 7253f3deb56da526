"""What a diagnosis says: suspects, what fits instead, and the steps that depart from a rule.

Plain frozen values; the record stores them as they are. "Consistent with" is all that is ever
claimed: aliases cannot be told apart by what was observed, and a fault outside the catalogue may
look like one inside it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from audit.statistics.results import Result

Step = Literal["accept", "kept", "recovered", "bonus", "length"]


@dataclass(frozen=True)
class Estimate(Result):
    """A maximum-likelihood value and its 99.9 % likelihood-ratio interval."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Suspect(Result):
    """A catalogued fault that is consistent with the counts.

    ids: the fault, then its aliases: entries of one and the same law on these cases (`id@value`:
    at this constant). rule: the fault at a round value of its constant, as `draftproof run
    fault:RULE` takes it.
    meaning: what it does. posterior: the probability of all of them among all hypotheses.
    strength: the share of rounds in which the fault acts, None where it may well act in all.
    constant: its fitted constant, called `constant_name`, None where it has none.
    """

    ids: tuple[str, ...]
    rule: str
    meaning: str
    posterior: float
    strength: Estimate | None = None
    constant_name: str = ""
    constant: Estimate | None = None


@dataclass(frozen=True)
class Departure(Result):
    """One step that departs from the base rule, or differs between two kinds of calls.

    step: "accept" (a drafted token, in a tree that of a sibling, is accepted), "kept" (an emitted
    token before the last is the drafted one), "recovered" and "bonus" (which token is drawn),
    "length" (how many are emitted). position counts from 1, sibling from 0; token and sibling are
    None where none is meant. events of trials were seen where `expected` were; p_value is exact or
    conservative, adjusted by Holm over all steps of the diagnosis. calls: what is expected is
    what calls of this case alone show, seen were calls that mix cases.
    """

    case: str
    step: Step
    position: int
    events: int
    trials: int
    expected: float
    p_value: float
    token: int | None = None
    sibling: int | None = None
    calls: bool = False


@dataclass(frozen=True)
class Diagnosis(Result):
    """What the cases of one draft shape say about the fault, all of them taken together.

    suspects: best first, () where no fault is named. fits: lossless rules that were not excluded,
    where that is why. unlisted: the posterior of a law outside the catalogue; fit: the p-value of
    the best catalogued law. base: the lossless rule that `departures`, worst first, are relative
    to; steps: all that depart, worst first. padded_with: the id that is behind every rejected
    draft where all rows are full, None where there is none and in old records.
    """

    cases: tuple[str, ...]
    trials: int
    suspects: tuple[Suspect, ...]
    fits: tuple[str, ...]
    unlisted: float
    fit: float
    base: str
    steps: tuple[Step, ...]
    departures: tuple[Departure, ...]
    padded_with: int | None = None

    @property
    def ids(self) -> tuple[str, ...]:
        """The ids of all suspects, the likeliest first."""
        return tuple(name for suspect in self.suspects for name in suspect.ids)
