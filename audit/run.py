"""The audit of one sampler, from a selection of cases to a record; the public Python API.

Nothing is printed here and no click is known here.
"""

from __future__ import annotations

import shlex
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

import torch

from audit import __version__
from audit.campaign import Campaign, Progress
from audit.case import Case
from audit.errors import UsageError
from audit.exact.catalogue import rule
from audit.harness.store import RunDirectory
from audit.judgement.monitor import Monitor
from audit.judgement.prepare import CaseSetup, numerical_tolerance, set_up
from audit.record import Record, RunSettings
from audit.recording import audit_of, environment_of
from audit.samplers.interface import LoadedSampler, Sampler
from audit.samplers.registry import load_sampler, wrap_sampler
from audit.selection import select_cases, word_for
from audit.settings import DEFAULTS, Settings, check, options_of
from audit.verdict import CONTROL_DID_NOT_FAIL, INTERRUPTED, Budget, Outcome, Verdict, exit_code

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
    run_dir: Path | None = None,
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
    job = _Job(settings, _selected(cases), control, run_dir, progress, command, time.monotonic())
    with _one_thread():
        return job.run(sampler)


@dataclass(eq=False)
class _Job:
    settings: Settings
    cases: list[Case]
    control: str | None
    run_dir: Path | None
    progress: Callable[[Progress], None] | None
    command: str
    start: float

    def run(self, sampler: str | Sampler) -> AuditRun:
        check(self.settings)
        started = datetime.now(UTC).isoformat(timespec="seconds")
        subject = self._load(sampler)
        try:
            setups = self._setups(subject.facts.claims)
            self._refuse_blind_control(setups)
            main = self._campaign(subject, setups, phase="audit")
            main.run()
        finally:
            subject.close()
        beside = self._run_control(main, setups)
        return self._recorded(main, beside, started)

    def _load(self, sampler: str | Sampler) -> LoadedSampler:
        s = self.settings
        if not isinstance(sampler, str):
            return wrap_sampler(sampler)
        return load_sampler(
            sampler,
            device=str(self.settings.torch_device),
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

    def _refuse_blind_control(self, setups: Sequence[CaseSetup]) -> None:
        if self.control is None:
            return
        rule(self.control)
        seen = max((s.fault_distances.get(self.control, 0.0) for s in setups), default=0.0)
        if seen <= self.budget.epsilon:
            raise UsageError(
                f"control {self.control}: the selected cases see it with a TV of at most "
                f"{seen:.3g}, not above epsilon = {self.budget.epsilon:g}; select other cases, a "
                "biased fault (draftproof faults list) or a smaller --epsilon."
            )

    def _campaign(
        self, subject: LoadedSampler, setups: Sequence[CaseSetup], *, phase: str
    ) -> Campaign:
        s = self.settings
        rules = subject.facts.declares + s.declares if phase == "audit" else ()
        monitors = [self._monitor(setup, rules) for setup in setups]
        return Campaign(
            sampler=subject,
            monitors=monitors,
            looks=s.looks,
            seed=s.seed,
            dtype=s.torch_dtype,
            device=self.settings.torch_device,
            batch_size=s.batch_size,
            store=RunDirectory(self.run_dir, self._locked(subject, phase), name=phase),
            phase=phase,
            deadline=None if s.time_limit is None else self.start + s.time_limit,
            progress=self.progress,
        )

    def _monitor(self, setup: CaseSetup, rules: Sequence[str]) -> Monitor:
        observable = setup.views[0].drafts
        declared = [setup.joint(rule) for rule in dict.fromkeys(rules)] if observable else []
        s = self.settings
        return Monitor(
            setup,
            self.budget,
            declared=declared,
            fixed=s.fixed,
            limited=s.limit is not None,
        )

    def _locked(self, subject: LoadedSampler, phase: str) -> dict[str, object]:
        """Returns what may not change when a run directory is used again."""
        s = self.settings
        locked = {k: asdict(s)[k] for k in ("seed", "dtype", "alpha", "delta", "declares")}
        cases = {case.id: case.hash for case in self.cases}
        return locked | {
            "epsilon": self.budget.epsilon,
            "cases": cases,
            "phase": phase,
            "fixed": s.fixed,
            "sampler": dict(subject.identity),
            "name": subject.name,
            "device": s.torch_device.type,
            "batch_size": s.batch_size,
        }

    def _run_control(self, main: Campaign, setups: Sequence[CaseSetup]) -> Campaign | None:
        """Returns the same audit of the control, on the cases that can see it."""
        if self.control is None or main.interrupted:
            return None
        fault = load_sampler(f"fault:{self.control}", device=str(self.settings.torch_device))
        epsilon = self.budget.epsilon
        seeing = [s for s in setups if s.fault_distances[self.control] > epsilon]
        campaign = self._campaign(fault, seeing, phase="control")
        campaign.run()
        return campaign

    def _recorded(self, main: Campaign, beside: Campaign | None, started: str) -> AuditRun:
        predict = () if self.control is None else (self.control,)
        options = options_of(self.settings)
        repeat = shlex.join(["draftproof", "run", main.sampler.name, *options])
        audit = audit_of(main, predict=predict, repeat=repeat)
        control = None if beside is None else audit_of(beside)
        code = self._exit_code(audit.verdict, control.verdict if control else None)
        if main.interrupted or (beside is not None and beside.interrupted):
            code = INTERRUPTED
        record = Record(
            **dict(audit),
            draftproof=__version__,
            command=self.command,
            settings=self._run_settings(main),
            environment=environment_of(main.sampler.identity),
            started=started,
            seconds=round(time.monotonic() - self.start, 3),
            control=control,
            exit_code=code,
            seeds_tried=(self.settings.seed,),
        )
        return AuditRun(record, code)

    def _exit_code(self, verdict: Verdict, control: Verdict | None) -> int:
        code = exit_code(verdict, accepted=self.settings.accept_within is not None)
        if code == 0 and control is not None and control.outcome is not Outcome.FAIL:
            return CONTROL_DID_NOT_FAIL
        return code

    def _run_settings(self, main: Campaign) -> RunSettings:
        s = self.settings
        nulls = [m.setup.null for m in main.monitors]
        kept = {k: v for k, v in asdict(s).items() if k not in ("device", "epsilon")}
        return RunSettings(
            **kept,
            device=str(self.settings.torch_device),
            cap=s.cap,
            epsilon=self.budget.epsilon,
            tolerance=max(numerical_tolerance(null, s.torch_dtype) for null in nulls),
            cases=tuple(word_for(case) for case in self.cases),
            control=self.control,
            limited=s.limit is not None,
        )


def _selected(cases: Sequence[str | Case]) -> list[Case]:
    """Returns the cases, in the order given; words are looked up."""
    words = [case for case in cases if isinstance(case, str)]
    ready = [case for case in cases if isinstance(case, Case)]
    return [*ready, *(select_cases(words) if words or not ready else [])]


@contextmanager
def _one_thread() -> Iterator[None]:
    """Runs torch with one thread: more of them slow these small tensors down."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
