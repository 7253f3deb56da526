"""From a finished campaign at the step level to its record."""

from __future__ import annotations

import platform
import time
from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import Any

import numpy
import torch

from audit import __version__
from audit.diagnosis.results import Diagnosis
from audit.evidence import GateReading
from audit.judgement.coverage import not_excluded
from audit.judgement.monitor import Monitor
from audit.judgement.suspicion import diagnoses_of
from audit.record import AuditedSampler, Environment
from audit.samplers.interface import LoadedSampler
from audit.selection import word_for
from audit.settings import Settings
from audit.stepping.apart import Apart
from audit.stepping.campaign import StepCampaign
from audit.stepping.claims import claim_of, first_draft_of
from audit.stepping.concluding import concluded, told
from audit.stepping.judging import failed_cases, verdict_of
from audit.stepping.record import Claim, StepCase, StepRecord, StepSettings
from audit.verdict import INTERRUPTED, Budget, Outcome, Verdict, exit_code


def record_of(
    campaign: StepCampaign,
    apart: Apart,
    *,
    settings: Settings,
    command: str,
    started: str,
    start: float,
) -> StepRecord:
    """Returns the record of a campaign. apart: what its verifying half shows on other drafts."""
    facts = _facts(campaign, apart)
    accepted = _accepted(facts["cases"], settings.accept_within)
    code = exit_code(facts["verdict"], accepted=accepted)
    interrupted = campaign.interrupted or apart.interrupted
    return StepRecord(
        draftproof=__version__,
        command=command,
        sampler=_named(campaign.sampler),
        settings=_settings(campaign, settings),
        environment=_environment(campaign.sampler),
        started=started,
        seconds=round(time.monotonic() - start, 3),
        exit_code=INTERRUPTED if interrupted else code,
        **facts,
    )


def _facts(campaign: StepCampaign, apart: Apart) -> dict[str, Any]:
    """Returns what the record says of the sampler: claims, verdicts, and what is told."""
    found = [claim_of(campaign.watch(m), independent=not m.dependent) for m in campaign.monitors]
    cases = tuple(
        _case(campaign, monitor, claim)
        for monitor, (claim, _) in zip(campaign.monitors, found, strict=True)
    )
    diagnoses = _diagnoses(campaign, ordinary=all(from_model for _, from_model in found))
    verdict = concluded(verdict_of(campaign, diagnoses), cases, apart)
    return {
        "verdict": verdict,
        "told": tuple(told(verdict, cases, campaign.sampler.facts)),
        "cases": cases,
        "alone": apart.verdict,
        "not_tested": apart.not_tested,
        "diagnoses": diagnoses,
        "not_excluded": _not_excluded(campaign, cases),
        "detail": next((error.detail for error in campaign.errors.values()), ""),
    }


def _diagnoses(campaign: StepCampaign, *, ordinary: bool) -> tuple[Diagnosis, ...]:
    """Returns what names the fault of the emitted law.

    Only where drafts are those of the draft model and the claim is right (`ordinary`): the laws of
    the catalogue are about such drafts.
    """
    if campaign.wrong_claim() or not ordinary or not failed_cases(campaign):
        return ()
    return diagnoses_of(campaign.monitors)


def _case(campaign: StepCampaign, monitor: Monitor, claim: Claim) -> StepCase:
    case, seen = monitor.setup.case, monitor.preservation
    error, counted = campaign.errors.get(case.id), monitor.trials > 0
    verdict = monitor.verdict() if error is None else Verdict(Outcome.ERROR, str(error))
    lengths = seen.counts.lengths() if counted else numpy.zeros(1, dtype=numpy.int64)
    watched = campaign.watch(monitor).seen
    return StepCase(
        id=case.id,
        hash=case.hash,
        why=case.why,
        vocab_size=case.vocab_size,
        num_speculative_tokens=case.num_speculative_tokens,
        verdict=replace(verdict, level="step"),
        rounds=monitor.trials,
        rejections=int(lengths[:-1].sum()),
        total_variation=monitor.total_variation(monitor.setup.lenses[0]) if counted else None,
        certified=monitor.certified,
        gate=GateReading(
            log_e=seen.log_e,
            log_e_max=seen.log_e_max,
            log_threshold=monitor.budget.log_threshold(Budget.PRESERVATION),
        ),
        claim=claim,
        first_draft=first_draft_of(watched.accepting, watched.rounds),
    )


def _accepted(cases: Sequence[StepCase], within: float | None) -> bool:
    """Whether every bias that was found is certified to be one that was accepted beforehand."""
    biased = [case for case in cases if case.verdict.outcome is Outcome.WITHIN]
    return within is not None and all((case.certified or 1.0) <= within for case in biased)


def _not_excluded(campaign: StepCampaign, cases: Sequence[StepCase]) -> tuple[str, ...] | None:
    pairs = zip(campaign.monitors, cases, strict=True)
    passed = [m.setup for m, case in pairs if case.verdict.outcome is Outcome.PASS]
    return not_excluded(passed, campaign.monitors[0].budget.epsilon) if passed else None


def _named(sampler: LoadedSampler) -> AuditedSampler:
    return AuditedSampler(
        name=sampler.name, facts=asdict(sampler.facts), identity=dict(sampler.identity)
    )


def _settings(campaign: StepCampaign, settings: Settings) -> StepSettings:
    return StepSettings(
        seed=settings.seed,
        device=str(campaign.device),
        dtype=settings.dtype,
        batch_size=settings.batch_size,
        tier=settings.tier,
        cap=settings.cap,
        samples=settings.samples,
        alpha=settings.alpha,
        delta=settings.delta,
        epsilon=settings.certify,
        time_limit=settings.time_limit,
        limited=settings.limit is not None,
        cases=tuple(word_for(monitor.setup.case) for monitor in campaign.monitors),
    )


def _environment(sampler: LoadedSampler) -> Environment:
    return Environment(
        python=platform.python_version(),
        torch=torch.__version__,
        numpy=numpy.__version__,
        platform=platform.platform(),
        sampler=dict(sampler.identity),
    )
