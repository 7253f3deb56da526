"""What steering found on a case, as the plain numbers that records hold."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from audit.case import Case
from audit.exact.catalogue import rule, verifies
from audit.exact.engine import completed_law
from audit.harness.null import handed_over, rounding_distance
from audit.steered import (
    AcceptTest,
    CodeEdge,
    CodeLaw,
    CodeReading,
    Found,
    LastToken,
    NotSteered,
    SteeredEvidence,
)
from audit.steering.law import JointLaw, distance
from audit.steering.result import NotSteerable, SteeredLaw


def found_of(
    found: SteeredLaw | NotSteerable,
    case: Case,
    *,
    dtype: torch.dtype,
    tolerance: float,
    claims: str = "",
    declares: Sequence[str] = (),
) -> Found:
    """Returns what was found on a case as plain numbers.

    dtype: of the rows that were handed over. claims: the rule whose law judges in place of the
    target's, "" for none. declares: rules that the sampler is said to follow.

    Raises: UsageError where a rule is unknown.
    """
    if isinstance(found, NotSteerable):
        return Found(NotSteered(found.reason, found.asked.calls, found.asked.rows))
    law, read_on = found.law, _read_on(case, dtype, tolerance)
    fitting = [name for name in declares if verifies(rule(name), case)]
    evidence = SteeredEvidence(
        map=float(distance(law.completed, completed_law(read_on, claims)))
        if claims
        else float(law.to_target),
        generators=found.generators,
        rows=found.coupling.rows,
        mismatches=found.coupling.mismatches,
        calls=found.coupling.calls,
        broken_calls=found.coupling.broken_calls,
        delta=found.coupling.delta,
        tolerance=tolerance,
        mode=found.mode,
        search_calls=found.search.calls,
        search_rows=found.search.rows,
        edges=tuple(
            CodeEdge(e.kind, e.block, e.outcome, e.number, float(e.chance), e.grade)
            for e in found.edges
        ),
        readings=tuple(CodeReading(r.name, r.says, r.size) for r in found.readings),
        to_declared=min((law.to_rule(name, read_on) for name in fitting), default=None),
    )
    return Found(evidence, code_law(law))


def _read_on(case: Case, dtype: torch.dtype, tolerance: float) -> Case:
    """Returns the case on which a rule is read: before rounding where that hardly matters.

    A rule may compare a probability with a bound that it equals, and rounding breaks ties.
    """
    null = handed_over(case, dtype)
    return case if rounding_distance(null) <= tolerance else null.case


def code_law(law: JointLaw) -> CodeLaw:
    """Returns the tests, the last tokens and the emitted blocks of a law."""
    tests = (
        AcceptTest(t.prefix, t.token, float(t.reached), float(t.chance), float(t.ideal))
        for t in law.tests()
    )
    last = (
        LastToken(
            prefix=final.prefix,
            rejected=final.rejected,
            reached=float(final.reached),
            law=tuple(map(float, final.law)),
            ideal=tuple(map(float, final.ideal)),
            distance=float(final.distance),
        )
        for final in law.finals()
    )
    emitted = {" ".join(map(str, o)): float(mass) for o, mass in law.emitted.items() if mass}
    return CodeLaw(tuple(tests), tuple(last), emitted)
