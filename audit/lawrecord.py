"""The record of laws that were read off the code, the only input of what is shown of them.

One JSON object, schema-numbered, without NaN or infinity.
"""

from __future__ import annotations

import json

from pydantic import BaseModel, ConfigDict

from audit.record import AuditedSampler, Text
from audit.steered import CodeLaw, Steered
from audit.tree import Tree
from audit.verdict import Verdict

SCHEMA_NUMBER = 1


class _Model(BaseModel):
    """Frozen; refuses unknown keys, NaN and infinity."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class LawSettings(_Model):
    """What reading laws may be told.

    coupled: fresh rows of the proof of each case, None for a call each as often as epsilon takes,
    and more rows a call where `seconds` allow it. epsilon: the TV to certify. tolerance: what
    arithmetic may do to a whole round, None for what the dtype suggests. alpha, delta: of a run, as
    in RunSettings. timeout: the longest that a case may take in a process of its own. in_process:
    read a user's sampler here.
    """

    cases: tuple[Text, ...] = ()
    dtype: str = "float32"
    coupled: int | None = None
    seconds: float = 2.0
    epsilon: float = 5e-3
    tolerance: float | None = None
    alpha: float = 1e-6
    delta: float = 1e-3
    seed: int = 0
    timeout: float = 600.0
    in_process: bool = False


class LawCase(_Model):
    """One case: its verdict, the evidence, and the law of the code where it could be read off.

    evidence: None where the sampler failed before. detail: the sampler's traceback.
    """

    id: Text
    hash: str
    vocab_size: int
    num_speculative_tokens: int
    tree: Tree | None = None
    verdict: Verdict
    evidence: Steered | None
    law: CodeLaw | None
    seconds: float
    detail: Text = ""


class LawRecord(_Model):
    """The laws of one sampler. started: ISO 8601, UTC. seconds: wall time.

    not_excluded: catalogued faults whose law no case that passed tells from the target's, None if
    none passed or another law than the target's judges. exit_code: what the run returned.
    """

    schema_number: int = SCHEMA_NUMBER
    kind: str = "law"
    draftproof: str
    command: Text
    sampler: AuditedSampler
    settings: LawSettings
    verdict: Verdict
    cases: tuple[LawCase, ...]
    not_excluded: tuple[Text, ...] | None
    interrupted: bool
    started: str
    seconds: float
    exit_code: int


def to_json(record: LawRecord) -> str:
    """Returns the record as ASCII JSON text."""
    return json.dumps(record.model_dump(mode="json"), indent=2, allow_nan=False) + "\n"
