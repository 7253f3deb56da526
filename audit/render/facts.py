"""The evidence of one case in words: terms and values, in the order in which one asks.

A statistic that decides nothing is shown too; what decides stands in docs/statistics.md.
"""

from __future__ import annotations

from audit.evidence import Acceptance, AcceptedTokens, Evidence, ViewReading
from audit.plural import counted
from audit.record import CaseResult
from audit.render.plain import clean
from audit.render.steered import steered_facts
from audit.render.words import (
    SIGNS,
    drafts_of,
    e_value,
    fixed,
    p_value,
    says_nothing_of_fallback,
)

Facts = list[tuple[str, str]]


def case_facts(case: CaseResult, *, names: bool = True, beside: str = "") -> Facts:
    """Returns what is known about the case and what its evidence shows.

    names: whether the faults that are not excluded are named or only counted. beside: what is said
    of the case already.
    """
    drafts = drafts_of(case.num_speculative_tokens, case.tree)
    facts = [
        ("Case", f"{case.vocab_size:,} ids, {drafts}, {case.certify}"),
        ("Hash", case.hash[:16]),
    ]
    if case.sampling:
        facts.append(("Sampling rules", clean(case.sampling, 400)))
    if case.steered:
        facts += steered_facts(case.steered, said=beside)
    if case.evidence is None:
        return facts
    failed = SIGNS[case.verdict.outcome].tone == "bad"
    return facts + _evidence_facts(case.evidence, failed=failed, names=names)


def _evidence_facts(evidence: Evidence, *, failed: bool, names: bool) -> Facts:
    reading = evidence.gate
    gate = f"{e_value(reading.log_e)}, at most {e_value(reading.log_e_max)}"
    bar = f", FAIL from {e_value(reading.log_threshold)}"
    leader = f", led by {reading.leader}" if reading.leader else ""
    impossible = evidence.impossible
    return [
        ("Trials", f"{evidence.trials:,} in {counted(evidence.looks, 'look')}"),
        ("E-value", gate + bar + leader),
        ("Impossible events", f"{impossible.events:,} of {impossible.n:,}, "
                              f"p {p_value(impossible.p_value)}"),
        *(("Impossible event", clean(trace, 400)) for trace in evidence.traces),
        *([] if failed else _certificate_facts(evidence, names=names)),
        *(fact for view in evidence.views for fact in _view_facts(view)),
        ("Independence", _independence(evidence)),
        *_conformity_facts(evidence),
        *_acceptance_facts(evidence.acceptance),
        ("Rules that fit", ", ".join(evidence.rules_observed) or "unknown"),
        ("Null to rational target", fixed(evidence.null_distance)),
    ]  # fmt: skip


def _blind(evidence: Evidence, *, names: bool) -> str:
    """Returns what a PASS here does not exclude, and whether that holds of the commonest fault."""
    if not evidence.blind:
        return "none"
    named = f"{len(evidence.blind)}" + f": {', '.join(evidence.blind)}" * names
    if says_nothing_of_fallback(evidence):
        return f"{named}. A fallback to the whole target row would not show here"
    return named


def _certificate_facts(evidence: Evidence, *, names: bool) -> Facts:
    """Returns what a PASS needs and what it says; a failed case has none of either."""
    needed = evidence.trials_needed
    return [
        ("Certified", f"TV at most {fixed(evidence.certified)}" if evidence.certified else "–"),
        ("Smallest TV it could see", fixed(evidence.detectable)),
        ("Trials to certify", f"{needed:,}" if needed else "out of reach"),
        ("Faults not excluded here", _blind(evidence, names=names)),
    ]


def _view_facts(view: ViewReading) -> Facts:
    tv, fit, pearson = view.total_variation, view.cressie_read, view.pearson
    cells = f"{counted(view.cells, 'cell')} in {counted(fit.pools, 'pool')}"
    return [
        (f"TV ({view.name})", f"{fixed(tv.estimate)}, mean if correct "
                              f"{fixed(tv.null_mean)}, bounds {fixed(tv.lower)} to "
                              f"{fixed(tv.upper)}"),
        (f"Cressie-Read ({view.name})", f"{fit.statistic:.1f} on {fit.degrees_of_freedom} degrees "
                                        f"of freedom, {cells}, p {p_value(fit.p_value)}, "
                                        f"of a smaller one {p_value(fit.p_smaller)}"),
        (f"Pearson ({view.name})", f"{pearson.statistic:.1f}, p {p_value(pearson.p_value)}"),
    ]  # fmt: skip


def _independence(evidence: Evidence) -> str:
    return f"p {p_value(evidence.independence.p_value)}"


def _conformity_facts(evidence: Evidence) -> Facts:
    conformity = evidence.conformity
    if conformity is None:
        return [("Conformity", "no rule declared")]
    gate = conformity.gate
    text = f"declared {' or '.join(conformity.declared)}, e-value {e_value(gate.log_e_max)}"
    return [
        ("Conformity", f"{text}, FAIL from {e_value(gate.log_threshold)}"),
        *(("Against the rule", clean(trace, 400)) for trace in conformity.traces),
    ]


def _acceptance_facts(acceptance: Acceptance) -> Facts:
    first = _compared(acceptance, acceptance)
    facts = [("Acceptance", f"{first}; no evidence of correctness")]
    whole = _accepted_fact(acceptance, acceptance.tokens)
    return facts if whole[1] == first else [*facts, whole]  # a round of one token is the same


def _accepted_fact(acceptance: Acceptance, tokens: AcceptedTokens | None) -> tuple[str, str]:
    if tokens is None:  # a record made before it was measured
        return ("Emitted a round", f"{acceptance.mean_emitted:.4f}")
    figures = _compared(acceptance, tokens)
    if tokens.best_lower < tokens.best:
        figures += f", at least {fixed(tokens.best_lower)}"
    return ("Accepted a round", figures)


def _compared(acceptance: Acceptance, seen: Acceptance | AcceptedTokens) -> str:
    """Returns what was observed, what the rule lets expect, and the best that is possible."""
    text = f"{fixed(seen.observed)} ({fixed(seen.low)} to {fixed(seen.high)})"
    if seen.expected is not None:
        rules = " ".join(filter(None, (acceptance.source, "rule", " or ".join(acceptance.rules))))
        text += f"; by the {rules} {fixed(seen.expected)}"
    known_by = f" ({seen.best_known_by})" if seen.best_known_by else ""
    return f"{text}; best possible {fixed(seen.best)}{known_by}"
