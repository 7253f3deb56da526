"""The record of a state audit: everything needed to report it and to repeat it."""

from __future__ import annotations

from enum import StrEnum
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

from audit.state.checks import Greedy, Stops
from audit.state.law import LawReading
from audit.state.naming import StateSuspects
from audit.state.positions import Positions
from audit.state.reported import Reported
from audit.state.settings import StateSettings
from audit.state.vocabulary import VocabularyMatch
from audit.state.watching import StepReading

STATE_SCHEMA_NUMBER = 1


class StateOutcome(StrEnum):
    """What a state audit concluded, worst first. These are no verdicts on a sampling rule."""

    BROKEN = "BROKEN"
    DEPENDENT = "DEPENDENT"
    UNDECIDED = "UNDECIDED"
    NOT_TESTABLE = "NOT_TESTABLE"
    CONSISTENT = "CONSISTENT"

    @property
    def word(self) -> str:
        """The word to print."""
        return self.value.replace("_", " ")


EXIT_CODES = {
    StateOutcome.BROKEN: 1,
    StateOutcome.DEPENDENT: 1,
    StateOutcome.UNDECIDED: 3,
    StateOutcome.NOT_TESTABLE: 3,
    StateOutcome.CONSISTENT: 0,
}


class _Model(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class WorldResult(_Model):
    """One world: what was concluded, why, and what was measured.

    reasons: sentences behind BROKEN, DEPENDENT or UNDECIDED. notes: what fails nothing, such as a
    draft state that loses acceptance alone. sequences_needed: how many are expected to certify a
    correct loop. law_failed: the law alone is proven not to be the target's.
    greedy, stops, reported: None where the decoder has no such option. rules: those it applies that
    look at the text; they and reported ones are looked at where law and steps are sound.
    """

    id: str
    vocab_size: int
    num_speculative_tokens: int
    tokens: int
    prompt: tuple[int, ...]
    outcome: StateOutcome
    reasons: tuple[str, ...]
    notes: tuple[str, ...]
    sequences_needed: int | None
    law: LawReading
    law_failed: bool
    steps: StepReading
    greedy: Greedy | None
    stops: Stops | None
    rules: tuple[Positions, ...] = ()
    reported: Reported | None = None
    repeatable: bool
    counts: dict[str, int]


class StateRecord(_Model):
    """A whole state audit. evidence is always "state": it is never merged with a verdict.

    not_excluded: state faults that change the law by at most epsilon on every selected case.
    """

    schema_number: int = STATE_SCHEMA_NUMBER
    evidence: Literal["state"] = "state"
    draftproof: str
    command: str
    decoder: str
    facts: dict[str, Any]
    options: tuple[str, ...]
    identity: dict[str, str]
    settings: StateSettings
    outcome: StateOutcome
    sentence: str
    worlds: tuple[WorldResult, ...]
    suspects: StateSuspects | None
    vocabulary: VocabularyMatch | None
    not_excluded: tuple[str, ...]
    seconds: float
    exit_code: int


def to_json(record: StateRecord) -> str:
    """Returns the record as JSON text."""
    return record.model_dump_json(indent=2)
