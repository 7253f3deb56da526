"""The ratio rule run against a law between target and draft, which it declares as its own.

Such a rule is Algorithm 1 with the row pi(p, q) where the target row should stand, and lossless
for pi. The bonus token has no draft row, so that it comes from the target row itself.

References: Narasimhan et al. (2025) for speculative cascades; Tran-Thien (2023) for mentored
decoding, whose pi maximises acceptance at a bounded divergence KL(p, pi).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import accumulate

from audit.exact.chain import Chain
from audit.exact.paths import Step
from audit.exact.ratios import Ratios, constant, whole
from audit.exact.rowwise import row_by_row
from audit.exact.rule import Parameter, Rule

Between = Callable[[Ratios, Ratios], Ratios]


def towards(between: Between) -> Chain:
    """Returns the ratio rule that reads pi(p, q) for p."""

    def as_declared(step: Step) -> Step:
        return replace(step, p=between(step.p, step.q))

    return Chain(tested=as_declared, drawn=as_declared)


def mixture(weight: Fraction) -> Between:
    """Returns pi = (1 - D) q + D p."""
    share = constant(weight)
    return lambda p, q: (share * p + share.complement() * q).reduced()


def own_tokens(margin: Fraction) -> Between:
    """Returns pi = q on T, + q(not T) p, where T holds the tokens with q >= max p - margin."""

    def between(p: Ratios, q: Ratios) -> Ratios:
        largest = Ratios(p.numerators.max(-1, keepdims=True), p.denominators)
        own = q * whole((q - largest + constant(margin)).numerators >= 0)
        return (own + (q - own).total().column() * p).reduced()

    return between


def mentored(most: Fraction) -> Between:
    """Returns pi = median(q, c1 p, c2 p) with c2 = most, and c1 <= 1 such that it sums to 1."""
    return lambda p, q: row_by_row(lambda p, q: _median(p, q, most), p, q)


def _median(p: Sequence[Fraction], q: Sequence[Fraction], most: Fraction) -> list[Fraction]:
    """Returns max(c1 p, min(q, c2 p)).

    Its sum is the largest of those in which only the first tokens, by the ratio of both terms, take
    c1 p, so that the c1 which makes it 1 is the smallest that does so for one of them.
    """
    kept = [min(b, most * a) for a, b in zip(p, q, strict=True)]
    raised = sorted((i for i, a in enumerate(p) if a), key=lambda i: kept[i] / p[i])
    sums = zip(accumulate(kept[i] for i in raised), accumulate(p[i] for i in raised), strict=True)
    missing = 1 - sum(kept)
    least = min(((missing + low) / mass for low, mass in sums), default=Fraction(0))
    return [max(low, least * a) for low, a in zip(kept, p, strict=True)]


DEFERRED = Parameter(
    "deferral",
    Fraction(1, 2),
    Fraction(0),
    Fraction(1),
    law=lambda weight: towards(mixture(weight)),
)
MARGIN = Parameter(
    "margin of own tokens",
    Fraction(1, 8),
    Fraction(0),
    Fraction(1),
    law=lambda margin: towards(own_tokens(margin)),
)
MENTORED = Parameter(
    "largest p ratio", Fraction(3, 2), Fraction(1), Fraction(4), law=lambda c: towards(mentored(c))
)

ENTRIES = (
    Rule(
        id="cascade-mixture",
        family="lossy",
        meaning="runs the ratio rule against (1 - D) q + D p, D = 1/2, the bonus token against p",
        formula="pi = (1 - D) q + D p",
        happens="a speculative cascade that defers to the target with a fixed share",
        law=DEFERRED.listed,
        reference="Narasimhan et al. (2025), speculative cascades",
        parameter=DEFERRED,
    ),
    Rule(
        id="cascade-own-tokens",
        family="lossy",
        meaning=(
            "runs the ratio rule against the law that takes tokens with q >= max p - t, t = 1/8, "
            "from q and replaces all others by draws from p; the bonus token against p"
        ),
        formula="pi = q where q >= max p - t, + (mass of q elsewhere) p",
        happens="a speculative cascade whose deferral depends on the drafted token",
        law=MARGIN.listed,
        reference="Narasimhan et al. (2025), token-specific speculative cascades",
        parameter=MARGIN,
    ),
    Rule(
        id="mentored",
        family="lossy",
        meaning=(
            "runs the ratio rule against the law nearest to q within c1 p and c2 p, c2 = 3/2, the "
            "bonus token against p"
        ),
        formula="pi = median(q, c1 p, c2 p), c1 <= 1 such that it sums to 1",
        happens="mentored decoding: the most acceptance at a bounded divergence KL(p, pi)",
        law=MENTORED.listed,
        reference="Tran-Thien (2023), mentored decoding",
        parameter=MENTORED,
    ),
)
