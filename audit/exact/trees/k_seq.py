"""k-SEQ: independent siblings are tested alike, against p over a constant rho.

b = sum min(q, p / rho) is the chance that a sibling passes, 1 - (1 - b)^k that one of k does.
Where none does, what that leaves of p is drawn from: p - min(q, p / rho) (1 - (1 - b)^k) / b. It is
never negative from rho = k on, and below from the root of 1 - (1 - b)^k = rho b on.

Reference: Sun et al. (2023), SpecTr.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from audit.exact.ratios import Ratios, clipped_ratio, constant, minimum, quotient, whole
from audit.exact.rule import Parameter, Rule
from audit.exact.trees.walk import Siblings, Walk


@dataclass(frozen=True)
class KSeq:
    """The law of k-SEQ among siblings; a negative weight of the last draw counts as 0.

    rho: the constant from the number of siblings.
    """

    rho: Callable[[int], Fraction]

    def __call__(self, siblings: Siblings) -> tuple[list[Ratios], Ratios]:
        """Returns the chance that each sibling is accepted, and the weights if none is."""
        rho = constant(self.rho(siblings.tokens.shape[1]))
        open_, chances = whole([1]), []
        for token in siblings.tokens.T:
            accept = clipped_ratio(siblings.p.at(token), rho * siblings.q.at(token))
            chances.append((open_ * accept).reduced())
            open_ = (open_ * accept.complement()).reduced()
        return chances, _left(siblings, rho)


def _left(siblings: Siblings, rho: Ratios) -> Ratios:
    """Returns the weights of the draw after no sibling has passed."""
    each = minimum(siblings.q, quotient(siblings.p, rho)).reduced()
    passes, none = each.total().reduced(), whole([1])
    for _ in siblings.tokens.T:
        none = (none * passes.complement()).reduced()
    share = quotient(none.complement(), passes)
    return (siblings.p - each * share.column()).positive().reduced()


def by_siblings(share: Fraction) -> Walk:
    """Returns the rule with rho = share * k for k siblings; valid from share = 1 on."""
    return Walk(KSeq(lambda siblings: share * siblings))


def with_rho(rho: Fraction) -> Walk:
    """Returns the rule with one rho, whether it is valid or not."""
    return Walk(KSeq(lambda siblings: rho))


SHARE = Parameter("rho a sibling", Fraction(1), low=Fraction(1), high=Fraction(8), law=by_siblings)
RHO = Parameter("rho", Fraction(1), low=Fraction(1), high=Fraction(2), law=with_rho)

ENTRIES = (
    Rule(
        id="k-seq",
        family="lossless",
        meaning="tests independent siblings alike, with p over their number times q",
        formula="min(1, p / (k q)); then p - min(q, p/k) (1 - (1 - b)^k) / b, normalised",
        happens="a cheap near-optimal rule; good rows allow a constant below k",
        law=SHARE.listed,
        reference="Sun et al. (2023), SpecTr",
        lossless=True,
        parameter=SHARE,
        trees=("independent",),
    ),
    Rule(
        id="k-seq-rho-too-small",
        family="fault",
        meaning="tests independent siblings alike with too small a rho, and cuts the last row at 0",
        formula="min(1, p / (rho q)); then p - min(q, p/rho) (1 - (1 - b)^k) / b, here negative",
        happens="rho is not searched for, and a clamp hides that the last row is no law",
        law=RHO.listed,
        gate=True,
        code="T14",
        parameter=RHO,
        trees=("independent",),
        base="k-seq",
    ),
)
