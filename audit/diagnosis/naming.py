"""Which catalogued fault the counts of a failed run are consistent with.

Faults and correct rules compete, so that a correct rule is never given a fault's name: a fault is
named only where all faults together, by their prior, are LEAST_ODDS times as likely as every
correct rule, which a correct sampler sees with a chance of about 1 / LEAST_ODDS at most, whenever
it is asked; and only where the law that is named fits. Where an audit has shown a bias, a correct
rule is as improbable beforehand as such a false alarm is. "Unlisted" is any law of emitted blocks
given the draft block; it is as probable beforehand as all entries together, which share evenly.

References: Jeffreys (1961) on Bayes factors.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from scipy import special

from audit.diagnosis.field import Field
from audit.diagnosis.fitting import Fit, intervals, simplest
from audit.diagnosis.goodness import FIT_LEVEL, goodness_of_fit, may_come_from
from audit.diagnosis.hypotheses import Score, at
from audit.diagnosis.likelihood import Likelihood
from audit.diagnosis.observed import Seen, have_one_law
from audit.diagnosis.results import Suspect

LEAST_ODDS = 100.0
BAYES_FACTOR = 20.0  # of the best entry over one that is still a suspect


@dataclass(frozen=True, eq=False)
class Naming:
    """The suspects, the correct rules that fit instead, what "unlisted" and the fit come to."""

    suspects: tuple[Suspect, ...]
    fits: tuple[str, ...]
    unlisted: float
    fit: float


def named(seen: Sequence[Seen], field: Field) -> Naming:
    """Returns what the counts of cases of one draft shape name."""
    likelihood = Likelihood(seen)
    scores, fits = field.best(likelihood)
    faults = [fit for fit in fits if field.explains(fit, likelihood)]
    best = (faults or fits)[0]
    unlisted = float(likelihood.free.sum()) + math.log(len(field.entries))
    total = float(special.logsumexp([unlisted, *_evidence(fits, scores)]))
    fit = goodness_of_fit(seen, best.rule, best.share)
    found = Naming((), (), math.exp(unlisted - total), fit)
    if not faults or field.log_odds(scores) < math.log(LEAST_ODDS):
        fitting = (rule.id for rule in field.correct if may_come_from(rule, seen))
        return replace(found, fits=tuple(fitting))
    if fit < FIT_LEVEL or unlisted > best.log_evidence:
        return found
    near = [f for f in faults if best.log_evidence - f.log_evidence <= math.log(BAYES_FACTOR)]
    return replace(found, suspects=tuple(_suspect(one, total) for one in _alike(near, seen)))


def _evidence(fits: Sequence[Fit], scores: Iterable[Score]) -> list[float]:
    """Returns the evidence of all entries, the fitted ones as they are fitted."""
    known = {fit.score.entry.id for fit in fits}
    others = [one.log_evidence for one in scores if one.entry.id not in known]
    return [*(fit.log_evidence for fit in fits), *others]


def _alike(fits: Iterable[Fit], seen: Sequence[Seen]) -> list[list[Fit]]:
    """Returns the fits in classes of one and the same law, in the order of their first ones."""
    classes: list[list[Fit]] = []
    for fit in fits:
        same = [one for one in classes if have_one_law(one[0].rule, fit.rule, seen)]
        if same:
            same[0].append(fit)
        else:
            classes.append([fit])
    return classes


def _complexity(fit: Fit) -> tuple[bool, bool]:
    """Returns what decides which entry of one law leads: one without a constant, and a fault."""
    return fit.constants is not None, fit.score.entry.lossless


def _suspect(alike: Sequence[Fit], total: float) -> Suspect:
    leader = min(alike, key=_complexity)
    entry = leader.score.entry
    constant, strength = intervals(leader)
    rule = entry if constant is None else at(entry, simplest(constant))
    return Suspect(
        ids=(entry.id, *(fit.rule.id for fit in alike if fit is not leader)),
        rule=rule.id,
        meaning=rule.meaning,
        posterior=min(1.0, sum(math.exp(fit.log_evidence - total) for fit in alike)),
        strength=strength,
        constant_name="" if entry.parameter is None else entry.parameter.name,
        constant=constant,
    )
