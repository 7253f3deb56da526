"""The audit of one sampler, from a selection of cases to a record; the public Python API.

Nothing is printed here and no click is known here.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import torch

from audit.campaign import Campaign, Progress
from audit.case import Case
from audit.errors import UsageError
from audit.exact.catalogue import rule
from audit.harness.store import RunDirectory
from audit.judgement.monitor import Monitor
from audit.judgement.prepare import CaseSetup, set_up
from audit.record import Record
from audit.recording import record_of
from audit.samplers.interface import LoadedSampler, Sampler
from audit.samplers.registry import load_sampler, wrap_sampler
from audit.selection import select_cases
from audit.settings import DEFAULTS, Settings, check
from audit.verdict import Budget, Verdict

__all__ = ["AuditRun", "Progress", "Settings", "run_audit"]


@dataclass(frozen=True)
class AuditRun:
    """What `run_audit` returns."""

    record: Record
    exit_code: int

    @property
    def verdict(self) -> Verdict:
        """The verdict on the run."""
        return self.record.verdict

    @property
    def verdicts(self) -> dict[str, Verdict]:
        """The verdict on each case, by id."""
        return {case.id: case.verdict for case in self.record.cases}


def run_audit(
    sampler: str | Sampler,
    *,
    cases: Sequence[str | Case] = (),
    control: str | None = None,
    settings: Settings = DEFAULTS,
    run_dir: str | Path | None = None,
    progress: Callable[[Progress], None] | None = None,
    command: str = "",
) -> AuditRun:
    """Returns the audit of `sampler` on `cases`, beside that of the fault `control`, if given.

    sampler: a name that `draftproof samplers list` shows, `module:object`, `path.py:object`, or
    a callable (then run in this process). cases: ids, globs, paths or Case objects; empty for
    the shipped small ones. run_dir: keeps chunks; giving it again resumes the run.

    Raises:
        UsageError: an argument is unusable, nothing is selected, or the control is blind.
        SamplerError: the sampler cannot be loaded.
    """
    check(settings)
    started, start = datetime.now(UTC).isoformat(timespec="milliseconds"), time.monotonic()
    folder = None if run_dir is None else Path(run_dir)
    job = _Job(settings, _selected(cases), control, folder, progress, start)
    with _one_thread():
        main, beside = job.run(sampler)
        record = record_of(main, beside, settings=settings, command=command, started=started)
    return AuditRun(record, record.exit_code)


@dataclass(frozen=True, eq=False)
class _Job:
    """What `run_audit` was asked for, and when."""

    settings: Settings
    cases: list[Case]
    control: str | None
    run_dir: Path | None
    progress: Callable[[Progress], None] | None
    start: float

    def run(self, sampler: str | Sampler) -> tuple[Campaign, Campaign | None]:
        """Returns the finished campaigns of the sampler and of the control."""
        subject = self._load(sampler)
        try:
            self._refuse_unknown_code(subject)
            setups = self._setups(subject.facts.claims)
            beside = None if self.control is None else self._control_campaign(setups)
            main = self._campaign(
                subject,
                setups,
                phase="audit",
                rules=subject.facts.declares + self.settings.declares,
            )
            main.run()
        finally:
            subject.close()
        if beside is not None and not main.interrupted:
            beside.run()
        return main, beside

    def _refuse_unknown_code(self, subject: LoadedSampler) -> None:
        """Raises UsageError where a run directory could not tell that the code has changed."""
        if self.run_dir is not None and subject.identity.get("hashed", "").startswith("nothing"):
            raise UsageError(
                f"run directory {self.run_dir}: the code of {subject.name} cannot be identified, "
                "so that a changed sampler would go unnoticed; give it as module:object or "
                "path.py:object, or leave the run directory out."
            )

    def _load(self, sampler: str | Sampler) -> LoadedSampler:
        if not isinstance(sampler, str):
            return wrap_sampler(sampler)
        s = self.settings
        return load_sampler(
            sampler,
            device=str(s.torch_device),
            timeout=s.timeout,
            in_process=s.in_process,
            python=s.python,
        )

    @property
    def budget(self) -> Budget:
        s = self.settings
        return Budget(s.alpha, s.delta, s.certify, len(self.cases), s.accept_within)

    def _setups(self, claims: str) -> list[CaseSetup]:
        s = self.settings
        return [
            set_up(
                case,
                dtype=s.torch_dtype,
                budget=self.budget,
                cap=s.cap,
                seed=s.seed,
                fixed=s.fixed,
                claims=claims,
            )
            for case in self.cases
        ]

    def _control_campaign(self, setups: Sequence[CaseSetup]) -> Campaign:
        """Returns the same audit of the control, on the cases that can see it."""
        fault, epsilon = rule(str(self.control)).id, self.budget.epsilon
        seen = {setup: setup.fault_distances.get(fault, 0.0) for setup in setups}
        seeing = [s for s, distance in seen.items() if distance > epsilon and s.defines(fault)]
        if not seeing:
            raise UsageError(
                f"control {fault}: the selected cases see it with a TV of at most "
                f"{max(seen.values()):.3g}, not above epsilon = {epsilon:g}; select other cases, a "
                "biased fault (draftproof faults list) or a smaller --epsilon."
            )
        loaded = load_sampler(f"fault:{fault}", device=str(self.settings.torch_device))
        return self._campaign(loaded, seeing, phase="control", rules=())

    def _campaign(
        self,
        subject: LoadedSampler,
        setups: Sequence[CaseSetup],
        *,
        phase: str,
        rules: Sequence[str],
    ) -> Campaign:
        s = self.settings
        return Campaign(
            sampler=subject,
            monitors=[
                Monitor(
                    setup,
                    self.budget,
                    declared=tuple(dict.fromkeys(rules)),
                    fixed=s.fixed,
                    limited=s.limit is not None,
                )
                for setup in setups
            ],
            looks=s.looks,
            seed=s.seed,
            dtype=s.torch_dtype,
            device=s.torch_device,
            batch_size=s.batch_size,
            store=RunDirectory(self.run_dir, self._locked(subject), name=phase),
            phase=phase,
            deadline=None if s.time_limit is None else self.start + s.time_limit,
            progress=self.progress,
        )

    def _locked(self, subject: LoadedSampler) -> dict[str, object]:
        """Returns what may not change when a run directory is used again."""
        s = self.settings
        return {
            "sampler": dict(subject.identity) | {"name": subject.name},
            "cases": {case.id: case.hash for case in self.cases},
            "epsilon": s.certify,
            "alpha": s.alpha,
            "delta": s.delta,
            "declares": list(s.declares),
            "samples": s.samples,
            "limit": s.limit,
            "accept_within": s.accept_within,
            "seed": s.seed,
            "dtype": s.dtype,
            "device": s.torch_device.type,
            "batch_size": s.batch_size,
        }


def _selected(cases: Sequence[str | Case]) -> list[Case]:
    """Returns the cases, in the order given; words are looked up."""
    words = [case for case in cases if isinstance(case, str)]
    ready = [case for case in cases if isinstance(case, Case)]
    chosen = [*ready, *(select_cases(words) if words or not ready else [])]
    twice = [case.id for case in chosen if sum(other.id == case.id for other in chosen) > 1]
    if twice:
        raise UsageError(f"two of the selected cases have the id {twice[0]!r}; rename one of them.")
    return chosen


@contextmanager
def _one_thread() -> Iterator[None]:
    """Runs torch with one thread, since more of them slow these small tensors down.

    Inference mode is left: it hides writes into a sampler's inputs.
    """
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with torch.inference_mode(mode=False):
            yield
    finally:
        torch.set_num_threads(before)
