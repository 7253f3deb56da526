"""What came before a result: earlier attempts at the run, and an earlier record to compare it with.

Plain frozen values; the record stores them as they are.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from audit.verdict import Verdict


@dataclass(frozen=True)
class Attempt:
    """One start of a run that keeps its counts in a run directory.

    started: ISO 8601, UTC. cap: trials a case at most. method: as in Settings. exit_code: None
    where it was never finished. failed: verdicts that no later attempt softens, by case id; under
    "" that of all cases together.
    """

    started: str
    seed: int
    tier: str
    cap: int
    method: str = "sampled"
    exit_code: int | None = None
    failed: dict[str, Verdict] = field(default_factory=dict)


@dataclass(frozen=True)
class Since:
    """What has changed since an earlier record.

    started, sampler: when, and what was audited then. newly_*: cases that were judged otherwise or
    not at all. redefined: cases of the same id that are not the same. code: what identifies the
    sampler's code, then and now ("" where it was not there).
    """

    started: str
    sampler: str
    newly_failing: tuple[str, ...] = ()
    newly_passing: tuple[str, ...] = ()
    newly_undecided: tuple[str, ...] = ()
    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    redefined: tuple[str, ...] = ()
    code: dict[str, tuple[str, str]] = field(default_factory=dict)
