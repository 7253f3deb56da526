"""From a campaign to what it showed: verdicts, evidence and counts as plain values."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, replace

from audit.attempts import WHOLE_RUN, worse
from audit.campaign import Campaign
from audit.diagnosis.results import Diagnosis
from audit.errors import SamplerError
from audit.judgement.beside import judged
from audit.judgement.coverage import beyond, not_excluded
from audit.judgement.first_tokens import NO_FAULTS, Shares
from audit.judgement.monitor import Monitor
from audit.judgement.readings import evidence_of
from audit.judgement.suspicion import shares
from audit.record import Audit, AuditedSampler, CaseResult
from audit.repository import path_in_repository
from audit.samplers.interface import LoadedSampler
from audit.selection import word_for
from audit.settings import SAMPLED
from audit.steered import SteeredEvidence
from audit.verdict import Budget, Outcome, Verdict, run_verdict

_MOST_BLOCKS = 20


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
    budget = _whole_budget(campaign)
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


def _whole_budget(campaign: Campaign) -> Budget:
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
