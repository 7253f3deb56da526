"""Whether the halves of a round share random numbers, asked of the verifying half on other drafts.

It is asked after a failure that no wrong claim explains: the same engine proposes three times, and
its verifying half judges the first proposal. Noise or other state that the halves share is then
about drafts that are not judged, and everything else is as it was. The halves share random numbers
where such rounds do not fail and have another law than the whole ones.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from audit.campaign import Campaign
from audit.harness.stepping import StepBench
from audit.judgement.difference import log_e_of_difference
from audit.judgement.monitor import Monitor
from audit.samplers.stepping.interface import LoadedStep
from audit.stepping.campaign import StepCampaign
from audit.stepping.judging import failed_cases, verdict_of
from audit.verdict import Outcome, Verdict

_NOT_FAILED = (Outcome.PASS, Outcome.INCONCLUSIVE)
_LEVEL = 1e-4  # of a comparison that only explains
_QUESTION = "whether draft, coin and recovered token share random numbers"


@dataclass(frozen=True)
class Apart:
    """What the verifying half shows on drafts of another proposal.

    verdict: None where it was not asked. log_e: the natural log of the e-value that such rounds
    have another law than whole ones, where that is why those fail, else None. not_tested: what
    a failure leaves open and why, "" where nothing, or where nothing failed.
    """

    verdict: Verdict | None = None
    log_e: float | None = None
    not_tested: str = ""
    interrupted: bool = False


def taken_apart(campaign: StepCampaign, loaded: LoadedStep) -> Apart:
    """Returns what the verifying half of a sampler shows on other drafts, if that is the question.

    campaign: of whole rounds, finished.
    """
    failed = failed_cases(campaign)
    if not failed or campaign.errors:
        return Apart()
    why = _unasked(campaign, loaded)
    if why or loaded.apart is None:
        return Apart(not_tested=why)
    other = _on_other_drafts(campaign, replace(loaded, step=loaded.apart), failed)
    other.run()
    return _found(other, failed)


def _unasked(campaign: StepCampaign, loaded: LoadedStep) -> str:
    if campaign.wrong_claim():
        return f"{_QUESTION}, and whether the verifying half is right: the claim is wrong"
    if campaign.interrupted:
        return f"{_QUESTION}: the run was interrupted"
    if loaded.apart is None:
        return f"{_QUESTION}: {loaded.name} is one function; give an object with propose and verify"
    return ""


def _on_other_drafts(
    campaign: StepCampaign, sampler: LoadedStep, failed: Sequence[Monitor]
) -> Campaign:
    """Returns the campaign of rounds taken apart, as many as there are whole ones."""
    return Campaign(
        sampler=sampler,
        monitors=[Monitor(m.setup, m.budget, fixed=True) for m in failed],
        looks=(max(m.trials for m in failed),),
        seed=campaign.seed,
        dtype=campaign.dtype,
        device=campaign.device,
        batch_size=campaign.batch_size,
        store=campaign.store,
        phase="on other drafts",
        deadline=campaign.deadline,
        progress=campaign.progress,
        make_bench=StepBench,
    )


def _found(other: Campaign, failed: Sequence[Monitor]) -> Apart:
    """Returns what the rounds taken apart show; failed: the monitors of the whole ones."""
    verdict = verdict_of(other)
    if verdict.outcome is Outcome.ERROR:
        said = str(next(iter(other.errors.values()))).rstrip(".")
        why = f"its verifying half cannot be called on drafts of another proposal ({said})"
        return Apart(not_tested=f"{_QUESTION}: {why}")
    if verdict.outcome not in _NOT_FAILED:
        return Apart(verdict, interrupted=other.interrupted)
    if any(monitor.trials < other.looks[0] for monitor in other.monitors):
        why = "the run was interrupted" if other.interrupted else "there was no time for it"
        return Apart(not_tested=f"{_QUESTION}: {why}", interrupted=other.interrupted)
    return _compared(other, failed, verdict)


def _compared(other: Campaign, failed: Sequence[Monitor], verdict: Verdict) -> Apart:
    """Returns what rounds show that do not fail when they are taken apart."""
    pairs = [
        (m.preservation.counts, w.preservation.counts)
        for m, w in zip(other.monitors, failed, strict=True)
    ]
    log_e = sum(log_e_of_difference(*pair) for pair in pairs)
    if log_e >= -math.log(_LEVEL):
        return Apart(verdict, log_e=log_e)
    why = (
        f"{_QUESTION}: {other.looks[0]:,} rounds on drafts of another proposal neither fail nor "
        "differ from these; more rounds would tell (a larger --tier)"
    )
    return Apart(not_tested=why)
