"""A diagnosis in words: what a failure is consistent with, and which steps depart.

Nothing is ever said to be certain: a name is what the counts are consistent with.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from audit.diagnosis.results import Departure, Diagnosis, Estimate, Suspect
from audit.exact.catalogue import rule
from audit.plural import counted, on_average
from audit.render.plain import clean
from audit.render.words import p_value

STEPS = {
    "accept": "accept test",
    "kept": "kept tokens",
    "recovered": "recovered token",
    "bonus": "bonus token",
    "length": "number of tokens",
}
MOST_SHOWN = 3


def conclusion(diagnosis: Diagnosis) -> str:
    """Returns which fault it may be, and whether rows look padded with a token."""
    return " ".join(filter(None, [_named(diagnosis), _padding(diagnosis)]))


def _padding(diagnosis: Diagnosis) -> str:
    if diagnosis.padded_with is None:
        return ""
    return (
        f"Every row is full, and behind a rejected draft stands {diagnosis.padded_with} alone: is "
        "it padded with that? The contract asks for -1 behind the emitted tokens."
    )


def _named(diagnosis: Diagnosis) -> str:
    if diagnosis.suspects:
        return f"Consistent with: {'; or '.join(_listed(diagnosis.suspects))}."
    if diagnosis.fits:
        rules = " or ".join(diagnosis.fits)
        correct = all(rule(name).family == "lossless" for name in diagnosis.fits)
        kind = "a correct rule" if correct else "as declared"
        return f"No fault is named: these counts may also come from {rules}, {kind}."
    return "No catalogued fault fits: unlisted."


def _listed(suspects: Sequence[Suspect]) -> list[str]:
    """Returns the suspects in words, each with its probability where there are several."""
    if len(suspects) == 1:
        return [suspect(suspects[0])]
    return [f"{suspect(one)}, probability {100 * one.posterior:.0f} %" for one in suspects]


def suspect(one: Suspect) -> str:
    """Returns a suspect, what it does, and what else it may be called."""
    name, *aliases = one.ids
    details = [one.meaning, *_constant(one), *_strength(one)]
    text = f"{name} ({'; '.join(details)})"
    return f"{text}, the same law here as {' and '.join(aliases)}" if aliases else text


def _constant(one: Suspect) -> list[str]:
    if one.constant is None:
        return []
    return [f"{one.constant_name} {_about(one.constant)}"]


def _strength(one: Suspect) -> list[str]:
    if one.strength is None:
        return []
    found = one.strength
    percent = Estimate(100 * found.value, 100 * found.low, 100 * found.high)
    return [f"in {_about(percent)} % of the rounds"]


def _about(estimate: Estimate) -> str:
    """Returns a value and its interval.

    >>> _about(Estimate(0.3, 0.27, 0.334)), _about(Estimate(2.0, 2.0, 2.0))
    ('about 0.3 (0.27 to 0.334)', '2')
    """
    if estimate.low == estimate.high:
        return f"{estimate.value:.3g}"
    return f"about {estimate.value:.3g} ({estimate.low:.3g} to {estimate.high:.3g})"


def steps(diagnosis: Diagnosis) -> str:
    """Returns the sentence on which steps depart, "" where none does."""
    if not diagnosis.steps:
        return ""
    return f"Departs from {diagnosis.base} in: {', '.join(STEPS[one] for one in diagnosis.steps)}."


def of_case(diagnoses: Iterable[Diagnosis], case: str) -> list[str]:
    """Returns which steps of a case depart, and from which rule."""
    return [
        departure(one) if one.calls else f"{departure(one)}; expected by {found.base}"
        for found in diagnoses
        for one in found.departures
        if one.case == case
    ]


def worst(departures: Iterable[Departure], most: int = MOST_SHOWN) -> list[Departure]:
    """Returns the worst departures, the worst of every kind of step first."""
    listed = list(departures)
    first = {(one.step, one.calls): one for one in reversed(listed)}
    chosen = [one for one in listed if one in first.values()]
    return [*chosen, *(one for one in listed if one not in chosen)][:most]


def departure(one: Departure) -> str:
    """Returns what was seen of a step and what was expected.

    >>> departure(Departure("a", "recovered", 1, 40, 61, 12.3, 1e-12, token=0))
    'recovered token 0 at position 1: 40 of 61 instead of 12.3, p 1.0e-12'
    >>> departure(Departure("a", "kept", 2, 5, 9, 0.0, 0.0))
    'kept token at position 2 is none of the drafted ones: 5 of 9 instead of 0, p <1e-300'
    """
    where = ", calls that mix cases against other calls" if one.calls else ""
    seen = f"{one.events:,} of {one.trials:,} instead of {on_average(one.expected)}"
    return f"{what(one)}{where}: {seen}, p {p_value(one.p_value)}"


def what(one: Departure) -> str:
    """Returns the step of a departure."""
    if one.step == "accept":
        sibling = "" if one.sibling is None else f" as sibling {one.sibling + 1}"
        return f"token {one.token} accepted{sibling} at position {one.position}"
    if one.step == "kept":
        return f"kept token at position {one.position} is none of the drafted ones"
    if one.step == "length":
        return f"{counted(one.position, 'token')} emitted"
    return f"{STEPS[one.step]} {one.token} at position {one.position}"


def lines(diagnoses: Iterable[Diagnosis]) -> list[str]:
    """Returns everything that a terminal shows of the diagnoses."""
    found: list[str] = []
    for diagnosis in diagnoses:
        found += [conclusion(diagnosis), *filter(None, [steps(diagnosis)])]
        shown = worst(diagnosis.departures)
        found += [f"  {clean(one.case, 60)}: {departure(one)}" for one in shown]
    return found
