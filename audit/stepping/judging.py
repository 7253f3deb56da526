"""The verdict on what the sampler of a campaign emits, at the step level."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from audit.campaign import Campaign
from audit.diagnosis.results import Diagnosis
from audit.judgement.monitor import Monitor
from audit.verdict import Outcome, Verdict, run_verdict


def verdict_of(campaign: Campaign, diagnoses: Sequence[Diagnosis] = ()) -> Verdict:
    """Returns the verdict on the law that a campaign's sampler emits."""
    if campaign.errors:
        where, error = next(iter(campaign.errors.items()))
        return Verdict(Outcome.ERROR, f"{where or 'calls that mix cases'}: {error}")
    budget, monitors = campaign.monitors[0].budget, campaign.monitors
    claims = monitors[0].setup.claims
    far = max(m.setup.headline_distance for m in monitors)
    verdict = run_verdict(
        {m.setup.case.id: m.verdict() for m in monitors},
        budget,
        together=campaign.together,
        testable=bool(claims) or far > budget.epsilon,
        declared=f"as declared ({claims})" if claims else "",
    )
    suspects = tuple(name for one in diagnoses for name in one.ids)
    failed = verdict.outcome is Outcome.FAIL
    return replace(verdict, suspects=suspects) if failed else verdict


def failed_cases(campaign: Campaign) -> list[Monitor]:
    """Returns the monitors of the cases that fail; of all where only all together do."""
    failed = [m for m in campaign.monitors if m.verdict().outcome is Outcome.FAIL]
    return failed or (list(campaign.monitors) if campaign.together else [])
