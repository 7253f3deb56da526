"""The constant and the strength of an entry by maximum likelihood, with their intervals.

Constants are rational, so that every law stays exact. An interval holds what the likelihood ratio
does not refute at 99.9 % (Wilks 1938); where the likelihood has a plateau it holds all of it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
from scipy import special

from audit.diagnosis.hypotheses import USUAL, Score, at, first_grid
from audit.diagnosis.likelihood import Likelihood
from audit.diagnosis.results import Estimate
from audit.exact.rule import Rule

QUANTILE = 10.828  # of chi-square with one degree of freedom, 99.9 %
_CLIMB = 8  # times that the grid of a constant is halved on both sides of its best value
_FINE = 16  # the same of a strength, at which no new law has to be worked out
_EIGHTHS = [Fraction(part, 8) for part in range(9)]


class Curve:
    """A log-likelihood over one number, worked out where it is asked for, and once.

    function: the heights at several values; grid: where to begin, the bounds among them.
    """

    def __init__(
        self,
        function: Callable[[Sequence[Fraction]], Iterable[float]],
        grid: Sequence[Fraction],
        *,
        whole: bool = False,
    ) -> None:
        self._function, self._whole = function, whole
        self._known: dict[Fraction, float] = {}
        self.look(grid)

    def look(self, values: Sequence[Fraction]) -> None:
        """Works out the heights at these values."""
        new = [value for value in values if value not in self._known]
        self._known.update(zip(new, self._function(new), strict=True) if new else ())

    def __call__(self, value: Fraction) -> float:
        """Returns the height at a value."""
        self.look([value])
        return self._known[value]

    @property
    def best(self) -> Fraction:
        """The highest value so far."""
        return max(self._known, key=self._known.__getitem__)

    @property
    def highest(self) -> float:
        """The height of `best`."""
        return self._known[self.best]

    def climbed(self, rounds: int) -> Curve:
        """Returns the curve, its grid halved on both sides of the best value again and again."""
        for _ in range(rounds):
            values, best = sorted(self._known), self.best
            place = values.index(best)
            near = (*values[max(place - 1, 0) : place], *values[place + 1 : place + 2])
            self.look([self._between(best, value) for value in near])
        return self

    def log_average(self) -> float:
        """Returns the logarithm of the mean of exp(height) over the grid, by trapezia."""
        values = sorted(self._known)
        gaps = np.diff(np.array(values, dtype=np.float64))
        heights = np.array([self._known[value] for value in values])
        widths = (np.append(gaps, 0.0) + np.append(0.0, gaps)) / (2 * gaps.sum())
        return float(special.logsumexp(heights, b=widths))

    def interval(self, steps: int) -> Estimate:
        """Returns the best value and the ends of what the likelihood ratio does not refute."""
        low, high = (self._end(bound, steps) for bound in (min(self._known), max(self._known)))
        return Estimate(float(self.best), float(low), float(high))

    def _end(self, bound: Fraction, steps: int) -> Fraction:
        """Returns the value farthest from the best one towards `bound` that is not refuted."""
        bar, inside = self.highest - QUANTILE / 2, self.best
        if self(bound) >= bar:
            return bound
        for _ in range(steps):
            between = self._between(inside, bound)
            inside, bound = (between, bound) if self(between) >= bar else (inside, between)
        return inside

    def _between(self, a: Fraction, b: Fraction) -> Fraction:
        middle = (a + b) / 2
        return Fraction(math.floor(middle)) if self._whole else middle


@dataclass(frozen=True, eq=False)
class Fit:
    """An entry at its likeliest constant and strength; height is its log-likelihood there.

    constants and strengths: the log-likelihood over each, the other one fixed. None where the
    entry has no constant, and where it may well act in every round.
    """

    score: Score
    rule: Rule
    constants: Curve | None
    strengths: Curve | None
    height: float

    @property
    def share(self) -> float:
        """The share of rounds in which the entry acts."""
        return 1.0 if self.strengths is None else float(self.strengths.best)

    @cached_property
    def log_evidence(self) -> float:
        """The evidence of the entry, with what the first grid was too coarse for.

        The peak's height counts by the share of the prior that it covers.
        """
        curves = [curve for curve in (self.constants, self.strengths) if curve is not None]
        if not curves:
            return self.score.log_evidence
        covered = sum(c.log_average() - c.highest + math.log(1 - USUAL) for c in curves)
        return float(np.logaddexp(self.score.log_evidence, self.height + covered))


def fitted(found: Score, likelihood: Likelihood) -> Fit:
    """Returns the entry of a score at its likeliest constant and strength."""
    constants = _constants(found, likelihood, found.strength)
    rule = at(found.entry, constants.best if constants else None)
    strengths = None if found.always else _strengths(rule, likelihood)
    if constants is not None and strengths is not None:
        constants = _constants(found, likelihood, float(strengths.best))
        rule = at(found.entry, constants.best if constants else None)
    share = 1.0 if strengths is None else float(strengths.best)
    return Fit(found, rule, constants, strengths, likelihood.at(rule, share))


def _constants(found: Score, likelihood: Likelihood, strength: float) -> Curve | None:
    known = found.entry.parameter
    if known is None:
        return None
    curve = Curve(
        lambda values: [likelihood.at(at(found.entry, value), strength) for value in values],
        [known.value, *first_grid(known)],
        whole=known.whole,
    )
    return curve.climbed(_CLIMB)


def _strengths(rule: Rule, likelihood: Likelihood) -> Curve | None:
    """Returns the curve of strengths, None where acting in every round is not refuted."""
    curve = Curve(
        lambda shares: likelihood.of(rule, np.array(shares, dtype=np.float64)).tolist(), _EIGHTHS
    ).climbed(_FINE)
    return None if curve(Fraction(1)) >= curve.highest - QUANTILE / 2 else curve


def intervals(fit: Fit) -> tuple[Estimate | None, Estimate | None]:
    """Returns the estimates of the constant and of the strength."""
    constant = None if fit.constants is None else fit.constants.interval(_CLIMB)
    return constant, None if fit.strengths is None else fit.strengths.interval(_FINE)


def simplest(estimate: Estimate) -> Fraction:
    """Returns a fraction of small denominator near the value, within the interval.

    >>> simplest(Estimate(0.3017578125, 0.27, 0.33)), simplest(Estimate(2.0, 2.0, 2.0))
    (Fraction(3, 10), Fraction(2, 1))
    """
    exact = Fraction(estimate.value)
    reach = (estimate.high - estimate.low) / 4
    low, high = max(estimate.low, exact - reach), min(estimate.high, exact + reach)
    near = (exact.limit_denominator(most) for most in (1, 2, 4, 5, 8, 10, 16, 20, 50, 100, 1000))
    return next((fraction for fraction in near if low <= fraction <= high), exact)
