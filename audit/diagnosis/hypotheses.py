"""How probable the counts make every catalogued rule, at several strengths and constants.

A fault of strength s acts in a share s of the rounds; in the others its base rule is followed. An
entry's evidence is its likelihood averaged over a prior: with probability USUAL it acts in every
round, else at one of the other strengths that an audit bets on; where it has a constant, it has
with probability USUAL the value listed, else any within its bounds.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from scipy import special

from audit.diagnosis.likelihood import Likelihood
from audit.exact.rule import Parameter, Rule
from audit.statistics.e_process import STRENGTHS
from audit.statistics.results import Array

USUAL = 0.9
_PARTS = 8  # of the bounds of a constant, in the first grid
_MOST_WHOLE = 8  # whole numbers, all of which are looked at, and as many farther ones


@dataclass(frozen=True, eq=False)
class Score:
    """One entry: its likeliest constant and strength so far, and the logarithm of its evidence.

    always: it acts in every round, as a lossless rule does. value: None without a constant.
    """

    entry: Rule
    always: bool
    value: Fraction | None
    strength: float
    log_evidence: float


def score(entry: Rule, likelihood: Likelihood, *, always: bool) -> Score:
    """Returns the score of an entry on a first grid of constants and strengths."""
    values = _values(entry)
    strengths = np.array(STRENGTHS[:1] if always else STRENGTHS)
    found = np.array([likelihood.of(at(entry, value), strengths) for value in values])
    best, strength = np.unravel_index(found.argmax(), found.shape)
    weights = _prior(len(values))[:, np.newaxis] * _prior(len(strengths))
    evidence = float(special.logsumexp(found, b=weights))
    return Score(entry, always, values[best], float(strengths[strength]), evidence)


def at(entry: Rule, value: Fraction | None) -> Rule:
    """Returns the entry at a value of its constant, the entry itself at the one listed."""
    listed = None if entry.parameter is None else entry.parameter.value
    return entry if value in (None, listed) else entry.at(value)


def first_grid(known: Parameter) -> list[Fraction]:
    """Returns values over the bounds of a constant: whole numbers, or eighths of the way.

    >>> from audit.exact.catalogue import rule
    >>> [str(v) for v in first_grid(rule("k-seq").parameter)][:3]
    ['1', '15/8', '11/4']
    """
    span = known.high - known.low
    if not known.whole:
        return [known.low + span * Fraction(part, _PARTS) for part in range(_PARTS + 1)]
    steps = np.geomspace(1, int(span) + 1, _MOST_WHOLE + 1) - 1
    near = range(min(int(span), _MOST_WHOLE) + 1)
    return [known.low + step for step in sorted({*near, *map(round, steps.tolist())})]


def _values(entry: Rule) -> list[Fraction | None]:
    """Returns the values of the constant that are tried first, the listed one leading."""
    if entry.parameter is None:
        return [None]
    listed = entry.parameter.value
    return [listed, *(value for value in first_grid(entry.parameter) if value != listed)]


def _prior(count: int) -> Array:
    """Returns the prior of values of which the first one is the usual one.

    >>> _prior(1).tolist(), _prior(3).round(3).tolist()
    ([1.0], [0.9, 0.05, 0.05])
    """
    if count == 1:
        return np.ones(1)
    return np.array([USUAL, *[(1 - USUAL) / (count - 1)] * (count - 1)])
