"""Which steps depart from a rule, and whether calls that mix cases differ from others.

Every step is a count of events among the trials in which they could happen, given the draft
block. Under a rule that is a sum of independent coins, whose tails beyond one from the mean are no
heavier than those of the binomial with the same mean (Hoeffding 1956); the numerical tolerance is
granted in full to every step. That calls which mix cases do as the others do is asked of the same
events by the hypergeometric law (Fisher 1935). Holm's adjustment (1979) covers all questions.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

import numpy as np
from scipy import special

from audit.counts import Table
from audit.diagnosis.layout import Event, Layout, Mask
from audit.diagnosis.observed import Seen
from audit.diagnosis.results import Departure
from audit.exact.rule import Rule
from audit.statistics.binomial import upper_tail
from audit.statistics.results import Array

LEVEL = 1e-3  # adjusted p-value up to which a step is said to depart


def departures(seen: Sequence[Seen], rule: Rule) -> list[Departure]:
    """Returns the steps that depart from a rule, in any of the cases, worst first."""
    asked = [found for one in seen for found in _asked(one, one.pairs.law(rule))]
    asked.sort(key=lambda one: (one.p_value, -abs(one.events - one.expected)))
    adjusted = holm([one.p_value for one in asked])
    pairs = zip(asked, adjusted, strict=True)
    return [replace(one, p_value=p_value) for one, p_value in pairs if p_value <= LEVEL]


def worst_p_value(seen: Sequence[Seen], laws: Sequence[Array]) -> float:
    """Returns the p-value of the step that departs most from the laws of the cases, of all steps.

    Bonferroni's: it is at most a with a chance of at most a where the laws are right.
    """
    asked = [
        _against_rule(one, law, event, layout).p_value
        for one, law, layout in zip(
            seen, laws, map(Layout.of, (s.pairs for s in seen)), strict=True
        )
        for event in _possible(one, layout)
    ]
    return min(1.0, len(asked) * min(asked, default=1.0))


def holm(p_values: Sequence[float]) -> list[float]:
    """Returns ascending p-values adjusted so that any of them is wrong at its level only.

    >>> holm([0.01, 0.02, 0.5])
    [0.03, 0.04, 0.5]
    """
    left = np.arange(len(p_values), 0, -1)
    adjusted = np.maximum.accumulate(left * np.array(p_values))
    return [min(float(p_value), 1.0) for p_value in adjusted]


def worst_of_each(found: Iterable[Departure]) -> tuple[Departure, ...]:
    """Returns the worst departure of every step of every case, in the order given.

    That too few or too many tokens are emitted is left out where an acceptance already says so.
    """
    first: dict[tuple[str, str, bool], Departure] = {}
    for one in found:
        first.setdefault((one.case, one.step, one.calls), one)
    told = {(one.case, one.calls) for one in first.values() if one.step == "accept"}
    return tuple(
        one for one in first.values() if one.step != "length" or (one.case, one.calls) not in told
    )


def _asked(seen: Seen, law: Array) -> Iterator[Departure]:
    layout = Layout.of(seen.pairs)
    for event in _possible(seen, layout):
        yield _against_rule(seen, law, event, layout)
        yield _against_other_calls(seen, event)


def _possible(seen: Seen, layout: Layout) -> Iterator[Event]:
    """Yields the events that could have happened in what was seen."""
    return (event for event in layout.events() if seen.counts[event.given].any())


def _against_rule(seen: Seen, law: Array, event: Event, layout: Layout) -> Departure:
    def by_draft(cells: Array | Table, where: Mask) -> Array:
        kept = np.where(where, cells, 0.0)
        return np.bincount(layout.draft, kept, len(layout.tokens)).astype(np.float64)

    could = by_draft(law, event.given)
    chance = np.divide(by_draft(law, event.happens), could, where=could > 0, out=could * 0)
    trials = by_draft(seen.counts, event.given) * (could > 0)
    events = int((by_draft(seen.counts, event.happens) * (could > 0)).sum())
    expected, n = float(trials @ chance), int(trials.sum())
    slack = seen.pairs.tolerance * seen.trials
    p_value = two_sided(events, n, expected, slack=slack)
    return _departure(seen, event, events=events, trials=n, expected=expected, p_value=p_value)


def two_sided(events: int, n: int, expected: float, *, slack: float = 0.0) -> float:
    """Returns a p-value of a number of events among n that `expected` are expected of.

    slack: by how many events the numerical tolerance may move what is expected.

    >>> two_sided(50, 100, 50.0), two_sided(1, 100, 0.0), two_sided(0, 100, 50.0) < 1e-29
    (1.0, 0.0, True)
    """
    tails = [1.0]
    if events >= expected + slack + 1:
        tails.append(upper_tail(events, n, min((expected + slack) / n, 1.0)))
    if events <= expected - slack - 1:
        tails.append(upper_tail(n - events, n, min((n - expected + slack) / n, 1.0)))
    return min(1.0, 2 * min(tails))


def _against_other_calls(seen: Seen, event: Event) -> Departure:
    n, mixed = int(seen.counts[event.given].sum()), int(seen.mixed[event.given].sum())
    events, both = int(seen.mixed[event.happens].sum()), int(seen.counts[event.happens].sum())
    expected = (both - events) * mixed / (n - mixed) if n > mixed else float(events)
    p_value = hypergeometric(events, mixed, both, n)
    found = _departure(seen, event, events=events, trials=mixed, expected=expected, p_value=p_value)
    return replace(found, calls=True)


def hypergeometric(events: int, drawn: int, marked: int, n: int) -> float:
    """Returns the two-sided p-value of `events` marked ones among `drawn` of n, `marked` in all.

    >>> round(hypergeometric(2, 2, 2, 4), 6)
    0.333333
    """
    possible = np.arange(max(0.0, drawn + marked - n), min(drawn, marked) + 1.0)
    logs = _log_binomial(marked, possible) + _log_binomial(n - marked, drawn - possible)
    chances = np.exp(logs - _log_binomial(n, np.array([drawn], dtype=np.float64)))
    above, below = chances[possible >= events].sum(), chances[possible <= events].sum()
    return min(1.0, 2 * float(min(above, below)))


def _log_binomial(n: int, k: Array) -> Array:
    return np.asarray(special.gammaln(n + 1) - special.gammaln(k + 1) - special.gammaln(n - k + 1))


def _departure(
    seen: Seen, event: Event, *, events: int, trials: int, expected: float, p_value: float
) -> Departure:
    return Departure(
        case=seen.pairs.case.id,
        step=event.step,
        position=event.position,
        events=events,
        trials=trials,
        expected=expected,
        p_value=p_value,
        token=event.token,
        sibling=event.sibling,
    )
