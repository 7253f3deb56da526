"""One case judged by sampled rounds, by the law of its code, or by both, which must agree.

Where both judge, alpha and delta are shared: sampled rounds have SAMPLED of them, the law a half of
the rest, and the question whether the two agree the other half.
"""

from __future__ import annotations

from dataclasses import replace

from audit.judgement.agreement import agreement
from audit.judgement.monitor import Monitor
from audit.judgement.steered import beside, disagreement, law_verdict
from audit.settings import SAMPLED
from audit.steered import Found, Steered, SteeredEvidence
from audit.verdict import Outcome, Verdict

_OTHERS = (1 - SAMPLED) / SAMPLED / 2  # relative to what a monitor takes for the whole


def judged(monitor: Monitor, found: Found | None) -> tuple[Verdict, Steered | None]:
    """Returns the verdict on a case, and the evidence of its law where it was asked for."""
    if found is None:
        return monitor.verdict(), None
    claims, budget = monitor.setup.claims, monitor.budget
    if not monitor.trials and not monitor.dependent:
        return law_verdict(found.evidence, budget, claims=claims), found.evidence
    evidence = _compared(monitor, found)
    law = law_verdict(evidence, budget, share=_OTHERS, claims=claims)
    verdict = beside(monitor.verdict(), law)
    contradiction = disagreement(evidence)
    return (_contradicted(verdict, contradiction) if contradiction else verdict), evidence


def _compared(monitor: Monitor, found: Found) -> Steered:
    """Returns the evidence with the agreement of sampled rounds, if they are independent."""
    if found.law is None or monitor.dependent or not isinstance(found.evidence, SteeredEvidence):
        return found.evidence
    outcomes, level = monitor.preservation.counts.outcomes(), monitor.budget.level(_OTHERS)
    seen = agreement(outcomes, found.law, found.evidence, level=level)
    return replace(found.evidence, agreement=seen)


def _contradicted(verdict: Verdict, sentence: str) -> Verdict:
    """Returns the verdict after a contradiction, which is a failure of its own."""
    reasons = verdict.reasons or (verdict.sentence,)
    if verdict.outcome in (Outcome.ERROR, Outcome.FAIL):
        return replace(verdict, reasons=(*reasons, sentence))
    return Verdict(Outcome.FAIL, sentence, (sentence, *reasons))
