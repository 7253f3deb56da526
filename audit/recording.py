"""From a campaign to the record: verdicts, evidence and counts as plain values."""

from __future__ import annotations

import platform
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from datetime import UTC, datetime
from pathlib import Path

import numpy
import torch

from audit import __version__
from audit.attempts import WHOLE_RUN, worse
from audit.campaign import Campaign
from audit.config import find_config
from audit.diagnosis.results import Diagnosis
from audit.errors import SamplerError
from audit.judgement.beside import judged
from audit.judgement.coverage import beyond, not_excluded, visibility
from audit.judgement.first_tokens import NO_FAULTS, Shares
from audit.judgement.monitor import Monitor
from audit.judgement.prepare import numerical_tolerance
from audit.judgement.readings import evidence_of
from audit.judgement.suspicion import diagnoses_of, shares
from audit.record import (
    Audit,
    AuditedSampler,
    CaseResult,
    Environment,
    Record,
    RunSettings,
    Visibility,
)
from audit.repository import path_in_repository
from audit.samplers.interface import LoadedSampler
from audit.selection import word_for
from audit.settings import SAMPLED, Settings, options_of
from audit.steered import SteeredEvidence
from audit.verdict import (
    CONTROL_DID_NOT_FAIL,
    INTERRUPTED,
    Budget,
    Outcome,
    Verdict,
    exit_code,
    run_verdict,
)

_MOST_BLOCKS = 20


def record_of(
    main: Campaign, beside: Campaign | None, *, settings: Settings, command: str, started: str
) -> Record:
    """Returns the record of a run: its campaign, and that of the control beside it."""
    control = None if beside is None else beside.sampler.name.removeprefix("fault:")
    alone = ["--no-config"] if find_config(Path.cwd()) else []  # a file's values would change it
    repeat = shlex.join(["draftproof", "run", main.sampler.name, *alone, *options_of(settings)])
    predict = {control: 1.0} if control else {}
    audit = audit_of(main, diagnoses=_diagnoses(main), predict=predict, repeat=repeat)
    ran = beside is not None and not main.interrupted
    control_audit = audit_of(beside) if beside is not None and ran else None
    interrupted = main.interrupted or (beside is not None and beside.interrupted)
    code = _exit_code(audit, control_audit, accepted=_accepted(audit, settings.accept_within))
    return Record(
        **dict(audit),
        draftproof=__version__,
        command=command,
        settings=_run_settings(main, settings, control),
        environment=_environment(main.sampler.identity),
        started=started,
        seconds=_seconds_since(started),
        control=control_audit,
        exit_code=INTERRUPTED if interrupted else code,
        seeds_tried=(settings.seed,),
        visibility=_visibility(main),
    )


def _visibility(campaign: Campaign) -> tuple[Visibility, ...]:
    """Returns what the cases see of each fault, to four digits."""
    found = visibility([monitor.setup for monitor in campaign.monitors])
    return tuple(
        Visibility(
            fault=fault, distances=tuple(None if d is None else float(f"{d:.4g}") for d in row)
        )
        for fault, row in found.items()
    )


def _accepted(audit: Audit, within: float | None) -> bool:
    """Whether every bias that was found is certified to be one that was accepted beforehand."""
    biased = (case for case in audit.cases if case.verdict.outcome is Outcome.WITHIN)
    return all(case.accepted(within) for case in biased)


def _seconds_since(started: str) -> float:
    return round((datetime.now(UTC) - datetime.fromisoformat(started)).total_seconds(), 3)


def _exit_code(audit: Audit, control: Audit | None, *, accepted: bool) -> int:
    code = exit_code(audit.verdict, accepted=accepted)
    if code == 0 and control is not None and control.verdict.outcome is not Outcome.FAIL:
        return CONTROL_DID_NOT_FAIL
    return code


def _run_settings(main: Campaign, settings: Settings, control: str | None) -> RunSettings:
    nulls = [monitor.setup.null for monitor in main.monitors]
    kept = {k: v for k, v in asdict(settings).items() if k not in ("device", "epsilon")}
    return RunSettings(
        **kept,
        device=str(settings.torch_device),
        cap=settings.cap,
        epsilon=settings.certify,
        tolerance=max(numerical_tolerance(null, settings.torch_dtype) for null in nulls),
        cases=tuple(word_for(monitor.setup.case) for monitor in main.monitors),
        control=control,
        limited=settings.limit is not None,
    )


def _diagnoses(campaign: Campaign) -> tuple[Diagnosis, ...]:
    """Returns what names the fault, nothing where nothing failed."""
    verdicts = (monitor.verdict().outcome for monitor in campaign.monitors)
    failed = campaign.together or Outcome.FAIL in verdicts
    return diagnoses_of(campaign.monitors) if failed else ()


def audit_of(
    campaign: Campaign,
    *,
    diagnoses: Sequence[Diagnosis] = (),
    predict: Shares = NO_FAULTS,
    repeat: str = "",
) -> Audit:
    """Returns what a campaign showed, with `repeat` completed to each case's own command.

    predict: faults that a case is compared with where it has no suspects.
    """
    suspicions = {case: found for found in diagnoses for case in found.cases}
    results = tuple(
        _case_result(campaign, m, suspicions.get(m.setup.case.id), predict, repeat)
        for m in campaign.monitors
    )
    verdicts = {result.id: result.verdict for result in results}
    budget = whole_budget(campaign)
    seen = max(m.setup.headline_distance for m in campaign.monitors)
    declared = _declared_law(campaign)
    verdict = run_verdict(
        verdicts,
        budget,
        together=campaign.together,
        testable=bool(declared) or seen > budget.epsilon,
        declared=declared,
    )
    if campaign.errors:
        verdict = _first_error(campaign.errors)
    verdict = worse(verdict, campaign.failed.get(WHOLE_RUN))
    return Audit(
        sampler=named(campaign.sampler),
        verdict=_suspecting(verdict, diagnoses),
        cases=results,
        diagnoses=tuple(diagnoses),
        not_excluded=_not_excluded(campaign, results),
    )


def whole_budget(campaign: Campaign) -> Budget:
    """Returns the budget of a campaign, with what the laws of the code have of it."""
    budget = campaign.monitors[0].budget
    if campaign.laws and any(monitor.trials for monitor in campaign.monitors):
        return replace(budget, alpha=budget.alpha / SAMPLED, delta=budget.delta / SAMPLED)
    return budget


def _suspecting(verdict: Verdict, diagnoses: Iterable[Diagnosis]) -> Verdict:
    """Returns the verdict, after a FAIL with the faults that it is consistent with."""
    if verdict.outcome is not Outcome.FAIL:
        return verdict
    return replace(verdict, suspects=tuple(name for found in diagnoses for name in found.ids))


def _not_excluded(campaign: Campaign, results: Sequence[CaseResult]) -> tuple[str, ...] | None:
    """Returns the catalogued faults that the cases that passed do not exclude."""
    pairs = zip(campaign.monitors, results, strict=True)
    passed = [(m.setup, one.steered) for m, one in pairs if one.verdict.outcome is Outcome.PASS]
    if not passed:
        return None
    faults = not_excluded((setup for setup, _ in passed), campaign.monitors[0].budget.epsilon)
    read_off = [(setup, law) for setup, law in passed if isinstance(law, SteeredEvidence)]
    seen = {name for setup, law in read_off for name in beyond(setup, law.bound)}
    return tuple(name for name in faults if name not in seen)


def named(sampler: LoadedSampler) -> AuditedSampler:
    """Returns what a record says of a sampler."""
    return AuditedSampler(
        name=sampler.name,
        facts=asdict(sampler.facts),
        identity=dict(sampler.identity),
        source=sampler.source,
    )


def _first_error(errors: Mapping[str, SamplerError]) -> Verdict:
    """Returns the verdict of the first thing that went wrong: later errors may follow from it."""
    where, error = next(iter(errors.items()))
    details = (error.detail,) if error.detail else ()
    return Verdict(Outcome.ERROR, f"{where or 'calls that mix cases'}: {error}", details)


def _declared_law(campaign: Campaign) -> str:
    """Returns what a sampler lossy by declaration declares, and how far that is from the target."""
    claims = campaign.monitors[0].setup.claims
    if not claims:
        return ""
    far = max(m.setup.distance(claims) for m in campaign.monitors)
    return f"as declared ({claims}); TV of that law to the target up to {far:.3g}"


def _case_result(
    campaign: Campaign,
    monitor: Monitor,
    diagnosis: Diagnosis | None,
    predict: Shares,
    repeat: str,
) -> CaseResult:
    case, error = monitor.setup.case, campaign.errors.get(monitor.setup.case.id)
    verdict, steered = judged(monitor, campaign.laws.get(case.id))
    if error is not None:
        verdict = Verdict(Outcome.ERROR, str(error))
    if diagnosis is not None and verdict.outcome is Outcome.FAIL:
        verdict = _suspecting(verdict, [diagnosis])
        predict = shares(diagnosis) or predict
    verdict = worse(verdict, campaign.failed.get(case.id))
    return CaseResult(
        id=case.id,
        hash=case.hash,
        why=case.why,
        sampling=case.sampling,
        vocab_size=case.vocab_size,
        num_speculative_tokens=case.num_speculative_tokens,
        tree=case.tree,
        certify=monitor.setup.certify,
        verdict=verdict,
        evidence=evidence_of(monitor, predict=predict) if monitor.trials else None,
        steered=steered,
        counts=_outcome_counts(monitor) if monitor.trials else {},
        detail=error.detail if error is not None else "",
        repeat=f"{repeat} --cases {shlex.quote(word_for(case))}" if repeat else "",
        source=path_in_repository(case.source) if case.source else "",
    )


def _outcome_counts(monitor: Monitor) -> dict[str, int]:
    """Returns emitted blocks and how often they occurred; of many, the 20 most frequent."""
    found = monitor.preservation.counts.outcomes()
    named = {" ".join(map(str, block)): times for block, times in found.items()}
    if not monitor.setup.case.large:
        return named
    ranked = sorted(named.items(), key=lambda item: (-item[1], item[0]))
    rest = sum(times for _, times in ranked[_MOST_BLOCKS:])
    return dict(ranked[:_MOST_BLOCKS]) | ({"rest": rest} if rest else {})


def _environment(identity: Mapping[str, str]) -> Environment:
    """Returns the versions that a result depends on."""
    return Environment(
        python=platform.python_version(),
        torch=torch.__version__,
        numpy=numpy.__version__,
        platform=platform.platform(),
        sampler=dict(identity),
    )
