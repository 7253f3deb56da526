"""From the monitors of a failed run to its diagnosis."""

from __future__ import annotations

from collections.abc import Sequence

from audit.diagnosis.diagnose import diagnose
from audit.diagnosis.observed import Pairs, Seen
from audit.diagnosis.results import Diagnosis
from audit.exact.catalogue import rule, verifies
from audit.judgement.first_tokens import Shares
from audit.judgement.joint import JointNull
from audit.judgement.monitor import Monitor
from audit.judgement.prepare import CaseSetup
from audit.tree import Drafting


def diagnoses_of(monitors: Sequence[Monitor]) -> tuple[Diagnosis, ...]:
    """Returns what the cases say together, those of each kind of drafts for themselves.

    A case whose drafts are not observed has no part in it; where rows of a call depend on each
    other, only the first row of each call has.
    """
    by_drafting: dict[Drafting | None, list[Monitor]] = {}
    for monitor in monitors:
        if monitor.trials and monitor.setup.views[0].drafts:
            by_drafting.setdefault(monitor.setup.case.drafting, []).append(monitor)
    return tuple(_diagnosis(group) for group in by_drafting.values())


def _diagnosis(group: Sequence[Monitor]) -> Diagnosis:
    setup, watch = group[0].setup, group[0].conformity
    declared = () if watch is None else watch.null.rules
    return diagnose(
        [_seen(monitor) for monitor in group],
        claims=setup.claims if setup.claims and verifies(rule(setup.claims), setup.case) else "",
        declared=declared[0] if len(declared) == 1 else "",
        biased=not setup.claims and any(map(_is_biased, group)),
    )


def _is_biased(monitor: Monitor) -> bool:
    """Returns whether a case has failed for its law, not only for a declared rule."""
    shown = monitor.preservation
    only_the_law = monitor.conformity is None
    return bool(monitor.failures) and bool(only_the_law or shown.deviates() or shown.excluded())


def _seen(monitor: Monitor) -> Seen:
    counts, mixed = monitor.independent()
    flat = JointNull.flat(counts)
    parts = [JointNull.flat(part) for part in mixed]
    return Seen(_pairs(monitor.setup), flat, sum(parts, start=flat * 0))


def _pairs(setup: CaseSetup) -> Pairs:
    """Returns the pairs of a case, its rows as in its file where rounding moved them little.

    Equal probabilities, and those at a threshold, are not equal any more after rounding, and
    where that matters code sees what the file says.
    """
    little = setup.null_distance <= setup.tolerance
    return Pairs(setup.case if little else setup.null.case, setup.tolerance)


def shares(diagnosis: Diagnosis) -> Shares:
    """Returns the suspects of a diagnosis and the share of rounds that each may act in."""
    return {
        one.rule: 1.0 if one.strength is None else one.strength.value for one in diagnosis.suspects
    }
