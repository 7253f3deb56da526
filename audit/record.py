"""The record of a run: everything needed to report it and to repeat it, the only input of reports.

One JSON object, schema-numbered, without NaN or infinity.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict

from audit.diagnosis.results import Diagnosis
from audit.evidence import Evidence
from audit.history import Attempt, Since
from audit.steered import Steered, SteeredEvidence
from audit.tree import Tree
from audit.verdict import Outcome, Verdict

SCHEMA_NUMBER = 1


def _encodable(text: object) -> object:
    """Returns text that UTF-8 can hold: a sampler's words may carry lone surrogates."""
    if isinstance(text, str):
        return text.encode("utf-8", "backslashreplace").decode("utf-8")
    return text


Text = Annotated[str, BeforeValidator(_encodable)]
Fact = bool | int | Text | tuple[Text, ...] | None


class _Model(BaseModel):
    """Frozen; refuses unknown keys, NaN and infinity, in the dataclasses it holds too."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", allow_inf_nan=False, revalidate_instances="always"
    )


class AuditedSampler(_Model):
    """What was audited: its name, what it declared, and what identifies its code.

    source: `path:line` of its code in the user's repository, "" where it is not there.
    """

    name: Text
    facts: dict[Text, Fact] = {}
    identity: dict[Text, Text] = {}
    source: Text = ""


class CaseResult(_Model):
    """One case's verdict with the evidence and the counts behind it.

    tree: the shape of the drafts, None for a chain. certify: what this run could certify here.
    evidence: None where nothing was counted. steered: what reading the law of the code gave, None
    where it was not asked for.
    counts: emitted blocks, ids joined by spaces, and how often; large vocabularies: the 20 most
    frequent and "rest". detail: the sampler's traceback. repeat: the command for this case alone.
    source: the path of its file in the user's repository, "" where it is not there.
    """

    id: Text
    hash: str
    why: Text
    sampling: Text
    vocab_size: int
    num_speculative_tokens: int
    tree: Tree | None = None
    certify: Literal["full", "partition", "bias-only"]
    verdict: Verdict
    evidence: Evidence | None
    steered: Steered | None = None
    counts: dict[str, int]
    detail: Text = ""
    repeat: Text = ""
    source: Text = ""

    @property
    def certified(self) -> float | None:
        """The smallest TV that is certified, by sampled rounds or by the law; None for nothing."""
        sampled = self.evidence.certified if self.evidence else None
        bounds = [bound for bound in (sampled, self.law_bound) if bound is not None]
        return min(bounds, default=None)

    @property
    def law_bound(self) -> float | None:
        """The most that the law read off the code is from the target; None where none was read."""
        return self.steered.bound if isinstance(self.steered, SteeredEvidence) else None

    def accepted(self, within: float | None) -> bool:
        """Returns whether a proven bias is certified to be at most `within`."""
        if within is None or self.certified is None:
            return False
        return self.verdict.outcome is Outcome.WITHIN and self.certified <= within


class Audit(_Model):
    """One sampler audited on some cases.

    diagnoses: which faults a FAIL is consistent with and which steps depart, one for each kind of
    drafts. not_excluded: catalogued faults that no passed case sees above epsilon, None if none
    passed.
    """

    sampler: AuditedSampler
    verdict: Verdict
    cases: tuple[CaseResult, ...]
    diagnoses: tuple[Diagnosis, ...] = ()
    not_excluded: tuple[Text, ...] | None = None


class RunSettings(_Model):
    """The settings that took effect; `cap` and `epsilon` with the tier's values filled in.

    tolerance: the largest numerical tolerance epsilon_0 of the run. batch_size: None for auto.
    cases: the selection as given. limited: cut short on purpose, so that there is no verdict.
    """

    seed: int
    device: str
    dtype: str
    batch_size: int | None = None
    small_batches: bool = False
    tier: str
    cap: int
    samples: int | None = None
    alpha: float
    delta: float
    epsilon: float
    tolerance: float
    accept_within: float | None = None
    time_limit: float | None = None
    timeout: float = 60.0
    limit: int | None = None
    declares: tuple[Text, ...] = ()
    cases: tuple[Text, ...] = ()
    control: str | None = None
    in_process: bool = False
    python: Text | None = None
    method: str = "sampled"
    limited: bool = False


class Environment(_Model):
    """The versions that a result depends on; `sampler`: those of the audited distributions."""

    python: str
    torch: str
    numpy: str
    platform: str
    sampler: dict[Text, Text] = {}


class Visibility(_Model):
    """What the cases of a run can see of a fault.

    distances: its TV as each case would certify it, in the order of the cases; None where the
    fault does not verify such drafts, or where a large vocabulary leaves it out.
    """

    fault: Text
    distances: tuple[float | None, ...]


class Record(Audit):
    """A whole run. started: ISO 8601, UTC. seconds: wall time. exit_code: what the run returned.

    attempts: every start of a run with a run directory, this one last. since: what has changed
    since the record that it was compared with. expectation: what was expected, and what came of it.
    visibility: what its cases see of each catalogued fault, () in old records.
    """

    schema_number: int = SCHEMA_NUMBER
    draftproof: str
    command: Text
    settings: RunSettings
    environment: Environment
    started: str
    seconds: float
    control: Audit | None = None
    exit_code: int
    seeds_tried: tuple[int, ...] = ()
    attempts: tuple[Attempt, ...] = ()
    since: Since | None = None
    expectation: Text = ""
    visibility: tuple[Visibility, ...] = ()
