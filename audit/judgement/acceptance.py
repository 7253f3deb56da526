"""What was accepted, beside the exact figures of a rule and the best that is possible.

A round accepts one token less than it emits. None of this is evidence of correctness. The
intervals hold for independent rows, whatever the law and whenever the run stopped: the end of each
chunk has its own share of the error.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from audit.case import Case
from audit.errors import UsageError
from audit.evidence import Acceptance, AcceptedTokens, Source
from audit.exact.comparison import standing
from audit.exact.engine import block_law
from audit.exact.optimum import best_acceptance, best_accepted
from audit.judgement.monitor import Monitor
from audit.statistics.binomial import mean_limits
from audit.statistics.impossible import look_alpha

_INTERVAL = 1e-3  # the chance that an interval misses
_UNKNOWN = "unknown"


@dataclass(frozen=True)
class _Expected:
    """What the rules that are taken for the sampler's let expect; they agree in all figures.

    law: the probabilities of 0, 1, 2, ... accepted tokens, () where it is too large to be known.
    """

    rules: tuple[str, ...]
    source: Source
    acceptance: Fraction
    accepted: Fraction
    law: tuple[Fraction, ...]


def acceptance_of(monitor: Monitor, observed: Sequence[str]) -> Acceptance:
    """Returns what was accepted on a case; observed: the ids of the rules that fit."""
    lengths = monitor.preservation.counts.lengths()
    n, at_least = int(lengths.sum()), np.cumsum(lengths[::-1])[-2::-1].tolist()
    delta = look_alpha(_INTERVAL, monitor.preservation.chunks)
    low, high = mean_limits(at_least[:1], n, delta)
    expected, best = _expected(monitor, observed), best_acceptance(monitor.setup.null.case)
    return Acceptance(
        observed=at_least[0] / n,
        low=low,
        high=high,
        best=float(best.upper),
        expected=None if expected is None else float(expected.acceptance),
        mean_emitted=1 + sum(at_least) / n,
        expected_emitted=None if expected is None else float(1 + expected.accepted),
        rules=() if expected is None else expected.rules,
        source="" if expected is None else expected.source,
        best_known_by=best.how,
        tokens=_tokens(monitor, lengths.tolist(), delta=delta, expected=expected),
    )


def _tokens(
    monitor: Monitor, rounds: Sequence[int], *, delta: float, expected: _Expected | None
) -> AcceptedTokens:
    """Returns how many tokens a round accepted; rounds: that accepted 0, 1, 2, ..."""
    n, best = monitor.trials, best_accepted(monitor.setup.null.case)
    at_least = np.cumsum(rounds[::-1])[-2::-1].tolist()
    low, high = mean_limits(at_least, n, delta)
    return AcceptedTokens(
        observed=sum(at_least) / n,
        low=low,
        high=high,
        expected=None if expected is None else float(expected.accepted),
        best=float(best.upper),
        best_lower=float(best.lower),
        best_known_by=best.how,
        rounds=tuple(rounds),
        law=() if expected is None else tuple(map(float, expected.law)),
    )


def _expected(monitor: Monitor, observed: Sequence[str]) -> _Expected | None:
    """Returns the figures of the declared rules that fit what was seen, or of all that fit.

    Where nothing fits, the declared ones; None where no rule is known, or where they differ.
    """
    watch = monitor.conformity
    declared = monitor.unobserved if watch is None else watch.null.rules
    fits = tuple(name for name in observed if name != _UNKNOWN)
    kept = tuple(name for name in declared if name in fits or not fits)
    try:
        figures = {_figures(monitor.setup.null.case, name) for name in kept or fits}
    except UsageError:  # its law is too large here, or it is made for other drafts
        return None
    if len(figures) != 1:
        return None
    return _Expected(kept or fits, "declared" if kept else "observed", *figures.pop())


def _figures(case: Case, rule: str) -> tuple[Fraction, Fraction, tuple[Fraction, ...]]:
    """Returns P(at least one token is accepted), the mean number of accepted tokens, and its law.

    Raises:
        UsageError: the law is too large, or the rule verifies drafts of another shape.
    """
    if case.large:
        reached = standing(case, rule)
        return reached.acceptance, reached.accepted, ()
    law = block_law(case, rule)
    lengths = range(1, case.num_speculative_tokens + 2)
    chances = tuple(law.of_length(emitted) for emitted in lengths)
    mean = sum((n * chance for n, chance in enumerate(chances)), start=Fraction(0))
    return sum(chances[1:], start=Fraction(0)), mean, chances
