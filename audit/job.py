"""Puts a run together: setups, monitors, and the campaigns of the sampler and of the control."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from audit.attempts import failed_before, refuse_smaller
from audit.campaign import Campaign
from audit.case import Case
from audit.errors import UsageError
from audit.exact.catalogue import rule
from audit.fitting import check_rules
from audit.harness.schedule import VERSION
from audit.harness.store import RunDirectory
from audit.history import Attempt
from audit.judgement.monitor import Monitor
from audit.judgement.prepare import CaseSetup, extended, set_up
from audit.progress import Progress
from audit.samplers.interface import LoadedSampler
from audit.samplers.registry import load_sampler
from audit.settings import Settings
from audit.verdict import Budget


@dataclass(frozen=True, eq=False)
class Job:
    """What a run was asked for, when it started, and the earlier attempts at it."""

    settings: Settings
    cases: list[Case]
    control: str | None
    run_dir: Path | None
    progress: Callable[[Progress], None] | None
    start: float
    earlier: tuple[Attempt, ...]

    def campaigns(self, subject: LoadedSampler) -> tuple[Campaign, Campaign | None]:
        """Returns the campaigns of the sampler and of the control, neither of them begun."""
        self._refuse_unknown_code(subject)
        refuse_smaller(self.settings.cap, self.earlier, folder=self.run_dir)
        rules = subject.facts.declares + self.settings.declares
        check_rules(rules, self.cases, role="declared rule")
        setups = self._setups(subject.facts.claims)
        beside = None if self.control is None else self._control_campaign(setups)
        main = self._campaign(subject, setups, phase="audit", rules=rules)
        main.failed = failed_before(self.earlier)
        return main, beside

    def _refuse_unknown_code(self, subject: LoadedSampler) -> None:
        """Raises UsageError where a run directory could not tell that the code has changed."""
        if self.run_dir is not None and subject.identity.get("hashed", "").startswith("nothing"):
            raise UsageError(
                f"run directory {self.run_dir}: the code of {subject.name} cannot be identified, "
                "so that a changed sampler would go unnoticed; give it as module:object or "
                "path.py:object, or leave the run directory out."
            )

    @property
    def budget(self) -> Budget:
        s = self.settings
        alpha, delta = s.alpha * s.sampled_share, s.delta * s.sampled_share
        return Budget(alpha, delta, s.certify, len(self.cases), s.accept_within)

    @property
    def caps(self) -> list[int]:
        """The most trials a case of the earlier attempts and of this one, each once, rising."""
        return sorted({*(attempt.cap for attempt in self.earlier), self.settings.cap})

    def _setups(self, claims: str) -> list[CaseSetup]:
        s = self.settings
        return [
            set_up(
                case,
                dtype=s.torch_dtype,
                budget=self.budget,
                cap=self.caps[0],
                seed=s.seed,
                fixed=s.fixed,
                claims=claims,
            )
            for case in self.cases
        ]

    def _later(self, setup: CaseSetup) -> list[tuple[int, CaseSetup]]:
        """Returns after how many trials which setup holds, where earlier attempts ended."""
        s = self.settings
        return [
            (before, extended(setup, budget=self.budget, cap=cap, seed=s.seed, fixed=s.fixed))
            for before, cap in pairwise(self.caps)
        ]

    def _control_campaign(self, setups: Sequence[CaseSetup]) -> Campaign:
        """Returns the same audit of the control, on the cases that can see it."""
        fault, epsilon = rule(str(self.control).removeprefix("fault:")).id, self.budget.epsilon
        check_rules([fault], self.cases, role="control")
        seen = {setup: setup.distance(fault) for setup in setups}
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
                    later=self._later(setup),
                )
                for setup in setups
            ],
            looks=s.looks,
            seed=s.seed,
            dtype=s.torch_dtype,
            device=s.torch_device,
            batch_size=s.batch_size,
            small_batches=s.small_batches,
            store=RunDirectory(self.run_dir, self._locked(subject), name=phase),
            phase=phase,
            deadline=None if s.time_limit is None else self.start + s.time_limit,
            progress=self.progress,
        )

    def _locked(self, subject: LoadedSampler) -> dict[str, object]:
        """Returns what may not change when a run directory is used again."""
        s = self.settings
        return {
            "method": s.method,
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
            "small_batches": s.small_batches,
            "schedule": VERSION,
        }
