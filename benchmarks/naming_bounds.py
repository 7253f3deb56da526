"""What nobody can do better than, with so many rounds: the limits that information sets to names.

Faults: who knows that one of the faults asked about in a group acts in every round, each as
probable as the others, is right most often by naming the likeliest one (Bayes); of one question
that is an estimate, of all questions of a group together a bound. Where no bias was shown, the
correct rules are among those that may be followed. Outside the catalogue: nobody
who refuses a catalogued law in a hundredth of its own runs refuses the behaviour more often than
the likelihood ratio does (Neyman and Pearson 1933). That law is the nearest one, at whatever
strength and constant.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from naming_questions import QUESTIONS, Question, field_of, given, pairs_of, widened

from audit.diagnosis.fitting import Fit
from audit.diagnosis.likelihood import Likelihood
from audit.diagnosis.observed import Pairs
from audit.exact.catalogue import RULES
from audit.statistics.results import Array

DRAWS = 2_000  # by which a bound is estimated
REFUSED = 0.01  # share of runs in which a catalogued law may go without its name
MANY = 5_000  # rounds by which the nearest law is found


def bound(asked: Question, rounds: int, rng: np.random.Generator, *, biased: bool) -> float:
    """Returns the largest share of right answers to a question; of a correct rule it is 1."""
    if not asked.failed:
        return 1.0
    if not asked.wanted:
        return refused(asked, rounds, rng)
    return named(asked, rounds, rng, biased=biased)


def named(asked: Question, rounds: int, rng: np.random.Generator, *, biased: bool = True) -> float:
    """Returns how often the right one, or an equal of it, is the likeliest of a group's rules."""
    group = [one for one in QUESTIONS.values() if one.group == asked.group]
    rules = [one.rule for one in group if one.wanted or not (one.failed or biased)]
    pairs = pairs_of(asked.group)
    laws = [[given(one, rule) for one in pairs] for rule in rules]
    own = rules.index(asked.rule)
    heights = log_likelihoods(laws[own], laws, rounds, rng)
    return float(np.mean(heights[:, own] >= heights.max(axis=1) - 1e-6))


def refused(asked: Question, rounds: int, rng: np.random.Generator) -> float:
    """Returns how often a behaviour is told from the nearest catalogued law."""
    near, pairs = nearest(asked, rng), pairs_of(asked.group)
    laws = [[given(one, asked.rule) for one in pairs], [mixed(one, near) for one in pairs]]
    own, other = (
        heights[:, 0] - heights[:, 1]
        for heights in (log_likelihoods(law, laws, rounds, rng) for law in laws)
    )
    return float(np.mean(own > np.quantile(other, 1 - REFUSED)))


def nearest(asked: Question, rng: np.random.Generator) -> Fit:
    """Returns the catalogued law that is nearest to that in question."""
    _, (best, *_) = field_of(asked.group, biased=True).best(Likelihood(asked.drawn(MANY, rng)))
    return best


def mixed(pairs: Pairs, fit: Fit) -> Array:
    """Returns the law of a fit, which acts in a share of the rounds."""
    base = RULES[fit.rule.base]
    return fit.share * given(pairs, fit.rule) + (1 - fit.share) * given(pairs, base)


def log_likelihoods(
    true: Sequence[Array],
    laws: Sequence[Sequence[Array]],
    rounds: int,
    rng: np.random.Generator,
) -> Array:
    """Returns those of laws, each one array a case, in draws from a law: [draws, laws]."""
    total = np.zeros((DRAWS, len(laws)))
    for case, law in enumerate(true):
        logs = np.log([widened(other[case]) for other in laws])
        total += rng.multinomial(rounds, law, size=DRAWS) @ logs.T
    return total
