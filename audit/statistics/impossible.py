"""Impossible events: outcomes of target probability 0, judged by an exact binomial tail.

An opportunity is a trial in which the event could have shown; its tolerance is the mass that the
arithmetic of the dtype may put there (0: one event is proof at every level). Where opportunities
differ in tolerance, their mean is used: the binomial has the heavier upper tail beyond its mean.

References: Hoeffding (1956), on the number of successes in independent trials.
"""

from __future__ import annotations

from dataclasses import dataclass

from audit.statistics.binomial import upper_tail
from audit.statistics.results import Result


@dataclass(frozen=True)
class ImpossibleEvents(Result):
    """events among n opportunities; p_value = P(K >= events) at `tolerance` an opportunity."""

    events: int
    n: int
    tolerance: float
    p_value: float


def impossible_events(events: int, n: int, *, tolerance: float = 0.0) -> ImpossibleEvents:
    """Returns the exact test that the events are no more than the tolerance allows.

    >>> impossible_events(1, 20_000).p_value, impossible_events(0, 20_000).p_value
    (0.0, 1.0)
    """
    p_value = upper_tail(events, n, min(tolerance, 1.0))
    return ImpossibleEvents(events, n, tolerance, p_value)


def look_alpha(alpha: float, look: int) -> float:
    """Returns the level of look 1, 2, 3, ...: alpha / (look (look + 1)); all of them sum to alpha.

    >>> look_alpha(1e-7, 1), sum(look_alpha(1.0, look) for look in range(1, 10)) < 1
    (5e-08, True)
    """
    return alpha / (look * (look + 1))
