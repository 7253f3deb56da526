"""Whether a named law fits: without that a name would only be the least bad one.

Three looks share the level: G over all cases together, G of every case by itself (Bonferroni),
and pairs that the law excludes (exact binomial). Rare pairs are pooled, by law and trials alone,
to an expected count of at least 10, since the far tail of G is honest only there; that a small
constant is fitted first makes the test a little milder, never harsher.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from audit.counts import Table
from audit.diagnosis.observed import Pairs, Seen, is_open
from audit.exact.catalogue import RULES
from audit.exact.rule import Rule
from audit.statistics.chi_square import likelihood_ratio
from audit.statistics.impossible import impossible_events
from audit.statistics.results import Array

FIT_LEVEL = 1e-6


def fits(seen: Sequence[Seen], rule: Rule, share: float = 1.0) -> bool:
    """Returns whether the counts may come from a rule that acts in a share of the rounds."""
    return goodness_of_fit(seen, rule, share) >= FIT_LEVEL


def goodness_of_fit(seen: Sequence[Seen], rule: Rule, share: float = 1.0) -> float:
    """Returns the p-value of the counts under a rule that acts in a share of the rounds.

    Cases on which the rule is open are left out, unless all of them are.
    """
    laws = {one: _law(one.pairs, rule, share) for one in seen}
    closed = [one for one in seen if not is_open(laws[one])] or list(seen)
    counts = [one.counts for one in closed]
    given = [laws[one] / (laws[one].sum() or 1.0) for one in closed]
    trials = [one.trials for one in closed]
    parts = [law * n / sum(trials) for law, n in zip(given, trials, strict=True)]
    tolerance = max(one.pairs.tolerance for one in closed)
    pairs = list(zip(counts, given, strict=True))
    whole = _g(np.concatenate(counts), np.concatenate(parts), tolerance)
    alone = min(_g(seen_, law, tolerance) for seen_, law in pairs)
    excluded = sum(int(seen_[law <= 0].sum()) for seen_, law in pairs)
    impossible = impossible_events(excluded, sum(trials), tolerance=tolerance).p_value
    return float(min(1.0, 3 * min(whole, len(pairs) * alone, impossible)))


def _g(counts: Table, law: Array, tolerance: float) -> float:
    n = int(counts.sum())
    return likelihood_ratio(counts, law / law.sum(), n=n, tolerance=tolerance).p_value


def _law(pairs: Pairs, rule: Rule, share: float) -> Array:
    law = pairs.law(rule)
    return law if share == 1 else share * law + (1 - share) * pairs.law(RULES[rule.base])
