"""The log-likelihood of catalogued rules given what was seen of several cases."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property

import numpy as np
import numpy.typing as npt
from scipy import special

from audit.diagnosis.observed import Seen, is_open
from audit.exact.catalogue import RULES
from audit.exact.rule import Rule
from audit.statistics.results import Array, Labels

Mask = npt.NDArray[np.bool_]
_NEVER = 1e-300  # probability of what the harness never drafts
_LEAST_TOLERANCE = 1e-9  # so that nothing is impossible


class Likelihood:
    """The log-likelihood of rules given what was seen.

    The numerical tolerance is spread evenly over all cells of a case. On a case where a rule is
    open, what was seen has its evidence under any law at all; a rule that is open on all cases is
    judged by its law of the rounds in which it emits something.
    """

    def __init__(self, seen: Sequence[Seen]) -> None:
        self.seen = tuple(seen)
        self._occurred = [np.flatnonzero(one.counts) for one in seen]
        self._counts = np.concatenate([one.counts[one.counts > 0] for one in seen])
        self._starts = np.cumsum([0, *(len(cells) for cells in self._occurred[:-1])])
        self._known: dict[str, tuple[Array, Mask]] = {}

    @cached_property
    def free(self) -> Array:
        """The logarithm of each case's evidence under any law at all, float64 [cases]."""
        return np.array([free_evidence(one) for one in self.seen])

    def of(self, rule: Rule, strengths: Array) -> Array:
        """Returns the log-likelihoods of a fault at these strengths."""
        return np.asarray(self.by_case(rule, strengths).sum(axis=1))

    def at(self, rule: Rule, strength: float) -> float:
        """Returns the log-likelihood of a fault at one strength."""
        return float(self.of(rule, np.array([strength]))[0])

    def by_case(self, rule: Rule, strengths: Array) -> Array:
        """Returns the log-likelihoods at these strengths, float64 [strengths, cases]."""
        (law, _), share = self._law(rule), strengths[:, np.newaxis]
        base = law if (strengths == 1).all() else self._law(RULES[rule.base])[0]
        parts = self._counts * np.log((1 - share) * base + share * law)
        cases = np.add.reduceat(parts, self._starts, axis=1)
        return np.where(self.closed(rule), cases, self.free)

    def closed(self, rule: Rule) -> Mask:
        """Returns bool [cases]: whether a rule says something about a case."""
        return self._law(rule)[1]

    def tells(self, rule: Rule, strength: float, others: Iterable[Rule]) -> float:
        """Returns by how much a fault is likelier than all others on the cases it is closed on."""
        closed = self.closed(rule)
        own = self.by_case(rule, np.array([strength]))[0, closed].sum()
        best = max(self.by_case(other, np.ones(1))[0, closed].sum() for other in others)
        return float(own - best)

    def _law(self, rule: Rule) -> tuple[Array, Mask]:
        """Returns the law of the cells that occurred, and the cases that it is closed on."""
        if rule.id not in self._known:
            laws = [one.pairs.law(rule) for one in self.seen]
            closed = np.array([not is_open(law) for law in laws])
            cells = map(_widened, self.seen, laws, self._occurred)
            self._known[rule.id] = np.concatenate(list(cells)), closed | ~closed.any()
        return self._known[rule.id]


def _widened(seen: Seen, law: Array, occurred: Labels) -> Array:
    """Returns the law of some cells, given that something is emitted, with the tolerance."""
    tolerance = max(seen.pairs.tolerance, _LEAST_TOLERANCE)
    given = law[occurred] / (law.sum() or 1.0)
    return (1 - tolerance) * given + tolerance / seen.pairs.size


def free_evidence(seen: Seen) -> float:
    """Returns the logarithm of the evidence of a case under any law of its emitted blocks.

    Given the draft block every law is weighted by Jeffreys' prior (Krichevsky and Trofimov 1981).
    """
    counts = np.hstack(seen.pairs.by_length(seen.counts))
    totals, cells = counts.sum(axis=1), counts.shape[1]
    drafts = special.xlogy(totals, np.maximum(seen.pairs.drafted, _NEVER)).sum()
    alone = special.gammaln(counts + 0.5).sum() - counts.size * special.gammaln(0.5)
    together = special.gammaln(cells / 2) - special.gammaln(totals + cells / 2)
    return float(drafts + alone + together.sum())
