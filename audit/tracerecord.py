"""The record of an audited trace, the only input of what is shown of it.

One JSON object, schema-numbered, without NaN or infinity.
"""

from __future__ import annotations

import json

from pydantic import BaseModel, ConfigDict

from audit.record import Text
from audit.traces.evidence import TraceEvidence
from audit.verdict import Verdict

SCHEMA_NUMBER = 1


class _Model(BaseModel):
    """Frozen; refuses unknown keys, NaN and infinity."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class TraceSettings(_Model):
    """What an audit of a trace may be told.

    alpha: chance of any false accusation. delta: of any wrong bound. epsilon: the pooled TV to
    certify. tolerance: the TV allowed between a recorded row and the one that was used, None for
    what type and size of the rows suggest. limit: judge the first rounds only, no verdict. seed:
    of the auditor's own coins.
    """

    alpha: float = 1e-6
    delta: float = 1e-3
    epsilon: float = 0.05
    tolerance: float | None = None
    declares: tuple[Text, ...] = ()
    limit: int | None = None
    seed: int = 0


class TraceFile(_Model):
    """One file: rounds that were judged, bad records, and whether it ends within a record."""

    path: Text
    rounds: int
    bad: int
    truncated: bool


class BadLine(_Model):
    """A record that was left out: where it stands, and what is wrong with it."""

    file: Text
    line: int
    field: Text
    value: Text
    reason: Text


class TraceRecord(_Model):
    """A whole audit of a trace. problems: the first bad records; bad: how many there are.

    started: ISO 8601, UTC. seconds: wall time. exit_code: what the run returned.
    """

    schema_number: int = SCHEMA_NUMBER
    kind: str = "trace"
    draftproof: str
    command: Text
    settings: TraceSettings
    files: tuple[TraceFile, ...]
    verdict: Verdict
    evidence: TraceEvidence
    bad: int
    problems: tuple[BadLine, ...]
    interrupted: bool
    started: str
    seconds: float
    exit_code: int


def to_json(record: TraceRecord) -> str:
    """Returns the record as ASCII JSON text."""
    return json.dumps(record.model_dump(mode="json"), indent=2, allow_nan=False) + "\n"
