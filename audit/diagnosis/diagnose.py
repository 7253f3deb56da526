"""The diagnosis of a failed run: a name if one fits, and in any case the steps that depart."""

from __future__ import annotations

from collections.abc import Sequence

from audit.diagnosis.field import Field
from audit.diagnosis.naming import Naming, named
from audit.diagnosis.observed import Seen
from audit.diagnosis.padding import padded_with
from audit.diagnosis.results import Departure, Diagnosis
from audit.diagnosis.steps import departures, worst_of_each
from audit.exact.catalogue import RULES
from audit.exact.rule import Rule


def diagnose(
    seen: Sequence[Seen], *, claims: str = "", declared: str = "", biased: bool = False
) -> Diagnosis:
    """Returns what the counts of cases of one draft shape say, all of them taken together.

    It is meant for counts that have failed an audit. claims: the rule whose law was judged in
    place of the target's. declared: the rule that the sampler says it follows. biased: the audit
    has shown that the target's law is not followed, not only that a declared rule is not.
    """
    field = Field.of([one.case for one in seen], claims=claims, biased=biased)
    naming = named(seen, field)
    base, found = _departures(seen, _bases(naming, field, claims or declared))
    return Diagnosis(
        cases=tuple(one.case.id for one in seen),
        trials=sum(one.trials for one in seen),
        suspects=naming.suspects,
        fits=naming.fits,
        unlisted=naming.unlisted,
        fit=naming.fit,
        base=base,
        steps=tuple(dict.fromkeys(one.step for one in found if not one.calls)),
        departures=worst_of_each(found),
        padded_with=padded_with(seen),
    )


def _bases(naming: Naming, field: Field, said: str) -> Sequence[Rule]:
    """Returns the rules that the steps may be measured by, the first one in doubt.

    A rule that the sampler says it follows is one only where it is no fault.
    """
    if said in {rule.id for rule in field.correct}:
        return [RULES[said]]
    if naming.suspects:
        return [RULES[RULES[naming.suspects[0].ids[0]].base]]
    return field.correct


def _departures(seen: Sequence[Seen], bases: Sequence[Rule]) -> tuple[str, list[Departure]]:
    """Returns the rule from which the fewest kinds of steps depart, and what departs from it."""
    by_rule = {rule.id: departures(seen, rule) for rule in bases}
    base = min(by_rule, key=lambda name: len({one.step for one in by_rule[name]} - {"length"}))
    return base, by_rule[base]
