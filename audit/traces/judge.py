"""The verdict on a trace.

A trace cannot certify a total variation: every context is seen once. Its PASS is a PARTITION-PASS:
nothing failed, the pooled bins of every order are bounded by epsilon, the commonest fault at full
strength is excluded, and every emitted token could be judged. Everything less is INCONCLUSIVE, and
says what is missing. Greedy tokens have one-hot laws, for which no wrong token among n bounds the
mean chance of one by ln(1 / delta) / n.
"""

from __future__ import annotations

import math

from audit.plural import are, counted
from audit.statistics.impossible import ImpossibleEvents
from audit.traces.evidence import RuleReading, TraceEvidence
from audit.traces.faults import HEADLINE
from audit.traces.readings import tokens_needed
from audit.traces.scores import ORDERS
from audit.traces.watch import RULE_SHARE, TraceWatch
from audit.verdict import Budget, Outcome, Verdict

LEVEL = "trace"
TRUST = (
    "The rows are those that the engine recorded: where it computes its target law wrongly (a "
    "stale cache, a missing penalty) and records the same law, a trace cannot show it."
)
SCOPE = (
    "Each context is seen once, so that only pools over contexts are judged: a bias that differs "
    "between contexts and cancels in the pool, or stays within a bin, is not excluded."
)


def trace_verdict(watch: TraceWatch, evidence: TraceEvidence, *, cut_short: str = "") -> Verdict:
    """Returns the verdict. cut_short: why the rounds are not those that were to be judged."""
    failures = _failures(watch, evidence)
    if failures:
        return Verdict(Outcome.FAIL, failures[0], failures, level=LEVEL, suspects=evidence.fits)
    if sentence := watch.dependent or watch.dependence():
        return Verdict(Outcome.DEPENDENT, sentence, level=LEVEL)
    if cut_short:
        after = counted(evidence.rounds, "round")
        sentence = f"no verdict: {cut_short} after {after}; nothing failed"
        return Verdict(Outcome.NO_VERDICT, sentence, level=LEVEL)
    if not evidence.judged:
        return _greedy_verdict(evidence, watch.budget)
    missing = _missing(evidence, watch.budget)
    if missing:
        seen = f"no bias found at this size; a pooled TV of {evidence.detectable:.3g} would show"
        return Verdict(Outcome.INCONCLUSIVE, f"{seen}; {missing[0]}", missing, level=LEVEL)
    return Verdict(
        Outcome.PASS, _pass_sentence(evidence, watch.budget), level=LEVEL, partition=True
    )


def selection_verdict(watch: TraceWatch, evidence: TraceEvidence, *, left_out: int) -> Verdict:
    """Returns the verdict where rounds were left out for what they emitted.

    In the others a right engine is biased: they prove nothing but what cannot happen in any round.
    """
    failures = _impossible(watch, evidence)
    if failures:
        return Verdict(Outcome.FAIL, failures[0], failures, level=LEVEL)
    sentence = (
        f"{counted(left_out, 'round')} emitted more tokens than the record has target rows, and "
        "the others are a selection by what was emitted, in which a right engine is biased; record "
        "a row for each emitted token"
    )
    return Verdict(Outcome.INCONCLUSIVE, sentence, level=LEVEL)


def _failures(watch: TraceWatch, evidence: TraceEvidence) -> tuple[str, ...]:
    """Returns a sentence for everything that is proven against the engine."""
    found = [watch.biased] if watch.biased else []
    found += _impossible(watch, evidence)
    if evidence.rule is not None and (proof := _broken(watch, evidence.rule)):
        kept = "failed" if found else "undecided"
        rules = " or ".join(evidence.rule.declared)
        found.append(f"does not follow the declared rule {rules}: {proof}; preservation: {kept}")
    return tuple(found)


def _impossible(watch: TraceWatch, evidence: TraceEvidence) -> tuple[str, ...]:
    """Returns a sentence for each kind of token that no right engine emits in any round."""
    found = []
    test = evidence.impossible
    if test.p_value <= watch.budget.level(Budget.IMPOSSIBLE):
        found.append(_share(test, "tokens have a recorded target probability of 0"))
    if evidence.not_greedy:
        what = "greedy tokens are not the most probable of their rows"
        found.append(f"{evidence.not_greedy} of {evidence.greedy} {what}")
    return tuple(found)


def _broken(watch: TraceWatch, rule: RuleReading) -> str:
    if rule.excluded.p_value <= watch.budget.level(RULE_SHARE):
        return _share(rule.excluded, "rounds are such as it cannot make")
    return watch.unruly


def _share(test: ImpossibleEvents, what: str) -> str:
    return f"{test.events} of {test.n} {what}"


def _missing(evidence: TraceEvidence, budget: Budget) -> tuple[str, ...]:
    """Returns what stands between a trace without a failure and a PASS."""
    found = []
    if len(evidence.orders) < len(ORDERS):
        found.append("without draft rows neither the ratio order nor the commonest fault is judged")
    if evidence.unjudged:
        found.append(
            f"{counted(evidence.unjudged, 'emitted token')} behind one that was not drafted: their "
            "target rows are not in the trace"
        )
    widest = max(order.upper for order in evidence.orders)
    if widest > budget.epsilon:
        more = max(tokens_needed(budget.epsilon, budget.delta / 2) - evidence.judged, 0)
        tokens = f"about {counted(more, 'more token')}" if more else "more tokens"
        found.append(
            f"U = {widest:.3g} for the pooled bins, epsilon = {budget.epsilon:g}: {tokens} "
            f"{are(more)} needed"
        )
    if HEADLINE not in evidence.excluded:
        listed = "the rows list too few tokens, or " if evidence.rest > 0 else ""
        why = f"{listed}drafts and target differ too little"
        found.append(f"{HEADLINE} is not excluded: {why}")
    return tuple(found)


def _pass_sentence(evidence: TraceEvidence, budget: Budget) -> str:
    widest = max(order.upper for order in evidence.orders)
    sentence = (
        f"no bias found in {counted(evidence.judged, 'token')}; TV of the pooled ratio, rank and "
        f"id bins <= {widest:.3g} with confidence {1 - budget.delta:g}"
    )
    if evidence.rest > 0:
        sentence += f"; tokens not listed ({evidence.rest:.2%} of the mass) are seen as one"
    return sentence


def _greedy_verdict(evidence: TraceEvidence, budget: Budget) -> Verdict:
    if not evidence.greedy:
        return Verdict(Outcome.NOT_TESTABLE, "no emitted token could be judged", level=LEVEL)
    bound = min(math.log(1 / budget.delta) / evidence.greedy, 1.0)
    sentence = (
        f"all {evidence.greedy} greedy tokens are the most probable of their rows: the mean chance "
        f"of another one is <= {bound:.3g} with confidence {1 - budget.delta:g}"
    )
    outcome = Outcome.PASS if bound <= budget.epsilon else Outcome.INCONCLUSIVE
    return Verdict(outcome, sentence, level=LEVEL)
