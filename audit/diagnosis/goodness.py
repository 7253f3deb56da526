"""Whether a named law fits: without that a name would only be the least bad one.

Four looks share the level: G over all cases together, G of every case by itself (Bonferroni),
pairs that the law excludes (exact binomial), and the steps of the rounds, each by itself
(Bonferroni), which see what many rare pairs have in common. Rare pairs are pooled, by law and
trials alone, to an expected count of at least 10, where the far tail of G is honest: right laws
are refuted no more often than the level says, at 113 to 2,000 rounds of two cases. A constant that
was fitted to the same counts makes the test a little milder.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import repeat

import numpy as np

from audit.counts import Table
from audit.diagnosis.observed import Pairs, Seen, is_open
from audit.diagnosis.steps import worst_p_value
from audit.exact.catalogue import RULES
from audit.exact.rule import Rule
from audit.statistics.chi_square import likelihood_ratio
from audit.statistics.impossible import impossible_events
from audit.statistics.results import Array

FIT_LEVEL = 1e-6
_LOOKS = 4


def may_come_from(rule: Rule, seen: Sequence[Seen], share: float = 1.0) -> bool:
    """Returns whether a rule that acts in a share of the rounds fits the counts."""
    return goodness_of_fit(seen, rule, share) >= FIT_LEVEL


def goodness_of_fit(seen: Sequence[Seen], rule: Rule, share: float = 1.0) -> float:
    """Returns the p-value of the counts under a rule that acts in a share of the rounds.

    Cases on which the rule is open are left out, unless all of them are.
    """
    judged, given = _judged(seen, rule, share)
    if not judged:
        return 0.0
    return min(1.0, _LOOKS * min(_by_pairs(judged, given), worst_p_value(judged, given)))


def fit_of_pairs(seen: Sequence[Seen], rule: Rule) -> float:
    """Returns the same of a rule without a look at the steps, which takes longer."""
    judged, given = _judged(seen, rule, 1.0)
    return min(1.0, (_LOOKS - 1) * _by_pairs(judged, given)) if judged else 0.0


def _judged(seen: Sequence[Seen], rule: Rule, share: float) -> tuple[list[Seen], list[Array]]:
    """Returns the cases that a rule is judged on, and its laws given that something is emitted."""
    laws = {one: _law(one.pairs, rule, share) for one in seen}
    closed = [one for one in seen if not is_open(laws[one])]
    judged = closed or [one for one in seen if laws[one].any()]
    return judged, [laws[one] / laws[one].sum() for one in judged]


def _by_pairs(judged: Sequence[Seen], given: Sequence[Array]) -> float:
    """Returns the least p-value of the looks at pairs."""
    counts = [one.counts for one in judged]
    trials = sum(one.trials for one in judged)
    parts = [law * one.trials / trials for one, law in zip(judged, given, strict=True)]
    tolerance = max(one.pairs.tolerance for one in judged)
    together = _g(np.concatenate(counts), np.concatenate(parts), tolerance)
    alone = min(map(_g, counts, given, repeat(tolerance)))
    excluded = sum(int(n[law <= 0].sum()) for n, law in zip(counts, given, strict=True))
    impossible = impossible_events(excluded, trials, tolerance=tolerance).p_value
    return float(min(together, len(judged) * alone, impossible))


def _g(counts: Table, law: Array, tolerance: float) -> float:
    n = int(counts.sum())
    return likelihood_ratio(counts, law / law.sum(), n=n, tolerance=tolerance).p_value


def _law(pairs: Pairs, rule: Rule, share: float) -> Array:
    law = pairs.law(rule)
    return law if share == 1 else share * law + (1 - share) * pairs.law(RULES[rule.base])
