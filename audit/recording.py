"""From a campaign to the record: verdicts, evidence and counts as plain values."""

from __future__ import annotations

import platform
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import asdict

import numpy
import torch

from audit.campaign import Campaign
from audit.judgement.monitor import Monitor
from audit.judgement.prepare import HEADLINE_FAULT
from audit.judgement.readings import evidence_of
from audit.record import Audit, AuditedSampler, CaseResult, Environment
from audit.selection import word_for
from audit.verdict import Outcome, Verdict, run_verdict

_MOST_BLOCKS = 20


def audit_of(campaign: Campaign, *, predict: Sequence[str] = (), repeat: str = "") -> Audit:
    """Returns what a campaign showed, with `repeat` completed to each case's own command."""
    results = tuple(_case_result(campaign, m, predict, repeat) for m in campaign.monitors)
    verdicts = {result.id: result.verdict for result in results}
    budget = campaign.monitors[0].budget
    seen = max(m.setup.fault_distances[HEADLINE_FAULT] for m in campaign.monitors)
    claims = any(m.setup.claims for m in campaign.monitors)
    verdict = run_verdict(
        verdicts, budget, together=campaign.together, testable=claims or seen > budget.epsilon
    )
    if "" in campaign.errors:
        verdict = Verdict(Outcome.ERROR, f"in calls that mix cases: {campaign.errors['']}")
    sampler = campaign.sampler
    facts = asdict(sampler.facts)
    named = AuditedSampler(name=sampler.name, facts=facts, identity=dict(sampler.identity))
    return Audit(sampler=named, verdict=verdict, cases=results)


def _case_result(
    campaign: Campaign, monitor: Monitor, predict: Sequence[str], repeat: str
) -> CaseResult:
    case, error = monitor.setup.case, campaign.errors.get(monitor.setup.case.id)
    verdict = monitor.verdict() if error is None else Verdict(Outcome.ERROR, str(error))
    return CaseResult(
        id=case.id,
        hash=case.hash,
        why=case.why,
        sampling=case.sampling,
        vocab_size=case.vocab_size,
        num_speculative_tokens=case.num_speculative_tokens,
        certify=monitor.setup.certify,
        verdict=verdict,
        evidence=evidence_of(monitor, predict=predict) if monitor.trials else None,
        counts=_outcome_counts(monitor) if monitor.trials else {},
        detail=error.detail if error is not None else "",
        repeat=f"{repeat} --cases {shlex.quote(word_for(case))}" if repeat else "",
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


def environment_of(identity: Mapping[str, str]) -> Environment:
    """Returns the versions that a result depends on."""
    return Environment(
        python=platform.python_version(),
        torch=torch.__version__,
        numpy=numpy.__version__,
        platform=platform.platform(),
        sampler=dict(identity),
    )
