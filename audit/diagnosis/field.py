"""Who competes for the name, and who is left when all have been tried.

All entries are tried on the few cases that depart most, those near the best of them on all cases:
a wrong hypothesis that leads the right one by a natural logarithm of NEAR in some of the data is a
chance of e^-NEAR (Ville 1939).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from scipy import special

from audit.case import Case
from audit.diagnosis.fitting import QUANTILE, Fit, fitted
from audit.diagnosis.goodness import FIT_LEVEL, fit_of_pairs, may_come_from
from audit.diagnosis.hypotheses import Score, at, score
from audit.diagnosis.likelihood import Likelihood
from audit.diagnosis.observed import Seen
from audit.exact.catalogue import RULES, rules_for
from audit.exact.engine import completed_law, target_law
from audit.exact.rule import Rule

FALSE_ALARM = 1e-6  # chance that a correct rule is shown to be biased: an audit's usual alpha
NEAR = 30.0  # natural logarithm of the evidence within which an entry is tried further
LEAST_GAIN = 10.0  # the same, by which an entry that is open somewhere must lead elsewhere
_TELLING = 4  # cases at most on which all entries are tried,
_CELLS = 2**13  # and their cells, unless there is one case alone
_MANY = 8  # entries at least that are fitted where none of the best does fit
_MOST = 12  # entries that are fitted in any case: where more are near, little is known


@dataclass(frozen=True, eq=False)
class Field:
    """The entries of the catalogue for drafts of one shape.

    correct: those that are no fault. prior: how probable each of them is beforehand beside a fault.
    """

    entries: tuple[Rule, ...]
    correct: tuple[Rule, ...]
    prior: float = 1.0

    @classmethod
    def of(cls, cases: Sequence[Case], *, claims: str = "", biased: bool = False) -> Field:
        """Returns the field of cases of one draft shape.

        claims: the rule whose law was judged in place of the target's; it is no fault. biased: an
        audit has shown that the target's law is not followed, as it does of a correct rule with
        the chance FALSE_ALARM.
        """
        entries = tuple(RULES[name] for name in rules_for(cases[0]))
        correct = (rule for rule in entries if rule.id == claims or is_correct(rule, cases))
        return cls(entries, tuple(correct), FALSE_ALARM if biased else 1.0)

    def scores(self, entries: Iterable[Rule], likelihood: Likelihood) -> list[Score]:
        """Returns the scores of entries that say enough, best first."""
        found = (self._score(entry, likelihood) for entry in entries)
        told = (one for one in found if self._tells(one, likelihood))
        return sorted(told, key=lambda one: -one.log_evidence)

    def _score(self, entry: Rule, likelihood: Likelihood) -> Score:
        if entry not in self.correct:
            return score(entry, likelihood, always=False)
        found = score(entry, likelihood, always=True)
        return replace(found, log_evidence=found.log_evidence + math.log(self.prior))

    def _tells(self, one: Score, likelihood: Likelihood) -> bool:
        """Returns whether an entry explains the cases that it is closed on better than all others.

        One that is open wherever something happens would fit whatever happens.
        """
        rule = at(one.entry, one.value)
        if one.entry in self.correct or likelihood.closed(rule).all():
            return True
        return likelihood.tells(rule, one.strength, self.correct) >= LEAST_GAIN

    def explains(self, fit: Fit, likelihood: Likelihood) -> bool:
        """Returns whether a fit is one of a fault, and says more than a correct rule does.

        Fitted to a share or constant of its own, a fault may be a correct rule, or close to one.
        """
        if fit.score.entry in self.correct:
            return False
        if fit.height - likelihood.at(fit.score.entry, 1.0) <= QUANTILE / 2:
            return True
        correct = max(likelihood.at(rule, 1.0) for rule in self.correct)
        return fit.height - correct >= QUANTILE / 2

    def best(self, likelihood: Likelihood) -> tuple[list[Score], list[Fit]]:
        """Returns the scores on all cases of the entries that may be the best, and their fits.

        The correct rules are among the scores. Both lists are in order, best first.
        """
        scores = self.scores(self._tried_further(likelihood), likelihood)
        return scores, refined(scores, likelihood)

    def log_odds(self, scores: Iterable[Score]) -> float:
        """Returns the logarithm of how much likelier all faults are than the best correct rule.

        What was known beforehand is counted in.
        """
        faults = [one.log_evidence for one in scores if one.entry not in self.correct]
        correct = [one.log_evidence for one in scores if one.entry in self.correct]
        others = len(self.entries) - len(self.correct)
        return float(special.logsumexp(faults)) - math.log(others) - max(correct)

    def _tried_further(self, likelihood: Likelihood) -> Iterable[Rule]:
        """Returns the correct rules, and the best entries on the most telling cases."""
        seen = likelihood.seen
        if len(seen) <= _TELLING:
            return self.entries
        base = max(self.correct, key=lambda rule: likelihood.at(rule, 1.0))
        few = Likelihood(most_telling(seen, base))
        best = refined(self.scores(self.entries, few), few)
        least = best[0].log_evidence - NEAR
        near = {fit.score.entry.id for fit in best if fit.log_evidence >= least}
        return [rule for rule in self.entries if rule.id in near or rule in self.correct]


def most_telling(seen: Sequence[Seen], base: Rule) -> list[Seen]:
    """Returns the few cases that depart most from a rule, and that laws are soon worked out on."""

    def rank(one: Seen) -> tuple[bool, float, int]:
        p_value = fit_of_pairs([one], base)
        return one.pairs.size > _CELLS or p_value > FIT_LEVEL, p_value, -one.trials

    ranked = sorted(seen, key=rank)[:_TELLING]
    cells = itertools.accumulate(one.pairs.size for one in ranked)
    few = [one for one, size in zip(ranked, cells, strict=True) if size <= _CELLS]
    return few or ranked[:1]


def is_correct(rule: Rule, cases: Sequence[Case]) -> bool:
    """Returns whether a rule is no fault and lossless on these cases (`greedy` rarely is)."""
    if rule.family != "lossless":
        return False
    return all(completed_law(case, rule) == target_law(case) for case in cases)


def refined(scores: Sequence[Score], likelihood: Likelihood) -> list[Fit]:
    """Returns the fits of the entries that may be the best, best first.

    Where the best of those near the top does not fit, the first grid may have been too coarse for
    another one, and more are fitted.
    """
    least = scores[0].log_evidence - NEAR
    near = [one for one in scores[:_MOST] if one.log_evidence >= least]
    found = _best_first(fitted(one, likelihood) for one in near)
    if len(near) >= _MANY or may_come_from(found[0].rule, likelihood.seen, found[0].share):
        return found
    return _best_first([*found, *(fitted(one, likelihood) for one in scores[len(near) : _MANY])])


def _best_first(fits: Iterable[Fit]) -> list[Fit]:
    return sorted(fits, key=lambda fit: -fit.log_evidence)
