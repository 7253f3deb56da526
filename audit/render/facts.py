"""The evidence of one case in words: terms and values, in the order in which one asks.

A statistic that decides nothing is shown too; what decides stands in docs/statistics.md.
"""

from __future__ import annotations

from audit.evidence import Acceptance, Evidence, ViewReading
from audit.record import CaseResult
from audit.render.plain import clean
from audit.render.words import e_value, fixed, p_value

Facts = list[tuple[str, str]]


def case_facts(case: CaseResult) -> Facts:
    """Returns what is known about the case and what its evidence shows."""
    size = f"{case.vocab_size:,} ids, {case.num_speculative_tokens} speculative tokens"
    facts = [("Case", f"{size}, {case.certify}"), ("Hash", case.hash[:16])]
    if case.sampling:
        facts.append(("Sampling rules", clean(case.sampling, 400)))
    return facts + (_evidence_facts(case.evidence) if case.evidence else [])


def _evidence_facts(evidence: Evidence) -> Facts:
    reading = evidence.gate
    gate = f"{e_value(reading.log_e)}, at most {e_value(reading.log_e_max)}"
    bar = f", FAIL from {e_value(reading.log_threshold)}"
    leader = f", led by {reading.leader}" if reading.leader else ""
    impossible = evidence.impossible
    return [
        ("Trials", f"{evidence.trials:,} in {evidence.looks} looks"),
        ("E-value", gate + bar + leader),
        ("Impossible events", f"{impossible.events:,} of {impossible.n:,}, "
                              f"p {p_value(impossible.p_value)}"),
        *(("Impossible event", clean(trace, 400)) for trace in evidence.traces),
        *_certificate_facts(evidence),
        *(fact for view in evidence.views for fact in _view_facts(view)),
        ("Independence", _independence(evidence)),
        *_conformity_facts(evidence),
        *_acceptance_facts(evidence.acceptance),
        ("Rules that fit", ", ".join(evidence.rules_observed) or "unknown"),
        ("Faults not excluded here", ", ".join(evidence.blind) or "none"),
        ("Null to rational target", fixed(evidence.null_distance)),
    ]  # fmt: skip


def _certificate_facts(evidence: Evidence) -> Facts:
    needed = evidence.trials_needed
    return [
        ("Certified", f"TV at most {fixed(evidence.certified)}" if evidence.certified else "–"),
        ("Smallest TV it could see", fixed(evidence.detectable)),
        ("Trials to certify", f"{needed:,}" if needed else "out of reach"),
    ]


def _view_facts(view: ViewReading) -> Facts:
    tv, fit, pearson = view.total_variation, view.cressie_read, view.pearson
    cells = f"{view.cells:,} cells in {fit.pools:,} pools"
    return [
        (f"TV ({view.name})", f"{fixed(tv.estimate)}, a correct sampler's mean "
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
    exact = f", by the rule {fixed(acceptance.expected)}" if acceptance.expected is not None else ""
    interval = f"{fixed(acceptance.low)} to {fixed(acceptance.high)}"
    mean = f"{acceptance.mean_emitted:.4f}"
    if acceptance.expected_emitted is not None:
        mean += f", by the rule {acceptance.expected_emitted:.4f}"
    return [
        ("Acceptance", f"{fixed(acceptance.observed)} ({interval}){exact}, "
                       f"best possible {fixed(acceptance.best)}; this prefix only"),
        ("Emitted a round", mean),
    ]  # fmt: skip
