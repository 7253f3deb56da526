"""The record of an audit at the step level, the only input of what is shown of it.

One JSON object, schema-numbered, without NaN or infinity.
"""

from __future__ import annotations

import json

from pydantic import BaseModel, ConfigDict

from audit.diagnosis.results import Diagnosis
from audit.evidence import GateReading
from audit.judgement.proposals import ClaimedDistance
from audit.record import AuditedSampler, Environment, Text
from audit.statistics.impossible import ImpossibleEvents
from audit.statistics.total_variation import TotalVariation
from audit.verdict import Verdict

STEP_SCHEMA_NUMBER = 1


class _Model(BaseModel):
    """Frozen; refuses unknown keys, NaN and infinity."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", allow_inf_nan=False, revalidate_instances="always"
    )


class Claim(_Model):
    """Whether the drafts of a case come from the rows that are claimed for them.

    wrong: the proof that they do not, "" without one. distances: how far they are apart, through
    every lens; () where nothing is claimed. bound: the smallest at any look on the largest of
    them, None before the first. unclaimed: rounds without a claim. unnormalised:
    claimed rows whose sum is not 1, furthest by how much. drawn and claimed: what both are, in
    words; fault: the catalogued fault that this is, "" for none.
    """

    wrong: Text
    distances: tuple[ClaimedDistance, ...]
    bound: float | None = None
    gate: GateReading
    impossible: ImpossibleEvents
    unnormalised: int
    furthest: float
    rounds: int
    unclaimed: int
    drawn: Text
    claimed: Text
    fault: Text = ""

    @property
    def worst(self) -> ClaimedDistance | None:
        """The lens that shows most beyond chance."""
        return max(self.distances, key=lambda d: d.estimate - d.null_mean, default=None)


class FirstDraft(_Model):
    """How often the first draft is kept: observed, and what two rules expect of these drafts.

    by_ratio: min(1, p / q) of the drafted token; by_match: p, for point-mass and sampler-match.
    fits: those of the two that it fits. No evidence of correctness.
    """

    observed: float
    by_ratio: float
    by_match: float
    fits: tuple[Text, ...]


class StepCase(_Model):
    """One case: the verdict on what is emitted, and the claim. rejections: rounds cut short.

    total_variation: of the emitted law to the target's, None where nothing was counted; certified:
    the smallest U of any look.
    """

    id: Text
    hash: str
    why: Text
    vocab_size: int
    num_speculative_tokens: int
    verdict: Verdict
    rounds: int
    rejections: int
    total_variation: TotalVariation | None
    certified: float | None
    gate: GateReading
    claim: Claim
    first_draft: FirstDraft


class StepSettings(_Model):
    """The settings that took effect. cap: rounds a case at most. limited: there is no verdict."""

    seed: int
    device: str
    dtype: str
    batch_size: int | None
    tier: str
    cap: int
    samples: int | None
    alpha: float
    delta: float
    epsilon: float
    time_limit: float | None
    limited: bool
    cases: tuple[Text, ...]


class StepRecord(_Model):
    """A whole audit at the step level.

    told: what fails nothing but should be known. alone: the verdict on the verifying half on drafts
    of another proposal, None where that was not asked; not_tested: what a failure leaves open for
    want of it, and why. diagnoses: of the emitted law, where the claim is right. not_excluded: the
    catalogued faults within epsilon on every case that passed, None where none did. detail: the
    sampler's traceback.
    """

    schema_number: int = STEP_SCHEMA_NUMBER
    level: str = "step"
    draftproof: str
    command: Text
    sampler: AuditedSampler
    settings: StepSettings
    environment: Environment
    verdict: Verdict
    told: tuple[Text, ...]
    cases: tuple[StepCase, ...]
    alone: Verdict | None = None
    not_tested: Text = ""
    diagnoses: tuple[Diagnosis, ...] = ()
    not_excluded: tuple[Text, ...] | None = None
    detail: Text = ""
    started: str
    seconds: float
    exit_code: int


def to_json(record: StepRecord) -> str:
    """Returns the record as ASCII JSON text."""
    return json.dumps(record.model_dump(mode="json"), indent=2, allow_nan=False) + "\n"
