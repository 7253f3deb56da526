"""Rules that compare a probability with a bound where the ratio rule tosses a coin.

Typical acceptance needs the entropy H of the target row, which is irrational: whether p exceeds
min(t, sqrt(t) exp(-H)) is decided by 50 digits where they suffice and by whole powers where they do
not, so that the laws stay rational and right. (Medusa's code adds 1e-5 inside the logarithm, the
formula of its paper does not.)

Reference: Cai et al. (2024), Medusa, for typical acceptance.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from decimal import Decimal, localcontext
from fractions import Fraction

from audit.exact.chain import Chain, residual, target_over_draft
from audit.exact.paths import Step
from audit.exact.ratios import Ratios, clipped_ratio, constant, whole
from audit.exact.rowwise import WIDE, decimal_of, rejection_below, row_by_row
from audit.exact.rule import Parameter, Rule
from audit.exact.rules import argmax_bonus, argmax_target, target, target_prob

# Far beyond what rounding at 50 digits does to sums of fewer than 10 ** 9 logarithms.
_DOUBT = Decimal("1e-38")


def accepted_if_tiny(bound: Fraction) -> Chain:
    """Returns the rule that accepts everything where a rejection is less probable than `bound`."""

    def accept(step: Step) -> Ratios:
        tiny = whole(rejection_below(step, bound))
        return tiny + tiny.complement() * target_over_draft(step)

    return Chain(accept=accept)


def target_if_tiny(bound: Fraction) -> Chain:
    """Returns the rule that falls back to p where the residual's mass is below `bound`."""

    def fallback(step: Step) -> Ratios:
        tiny = whole(rejection_below(step, bound)).column()
        return tiny * step.p + tiny.complement() * residual(step)

    return Chain(fallback=fallback)


def above(bound: Fraction) -> Callable[[Step], Ratios]:
    """Returns the test whose probability is 1 where p(x) > bound, else 0."""
    return lambda step: whole((step.px - constant(bound)).numerators > 0)


def typical(bound: Fraction) -> Callable[[Step], Ratios]:
    """Returns the test p(x) > min(t, sqrt(t) exp(-H(p))) with t = bound."""
    return lambda step: row_by_row(lambda p: _typical(p, bound), step.p).at(step.token)


def _typical(p: Sequence[Fraction], bound: Fraction) -> list[Fraction]:
    """Returns 1 for the typical tokens of a row, else 0."""
    likely = [v for v in p if v]
    with localcontext(WIDE):
        logs = {v: decimal_of(v).ln() for v in set(likely)}
        entropy = sum((decimal_of(v) * -logs[v] for v in likely), Decimal(0))
        least = decimal_of(bound).ln() / 2 - entropy if bound else Decimal("-Infinity")
        passing = {v for v, log in logs.items() if v > bound or log - least > _DOUBT}
        close = {v for v, log in logs.items() if abs(log - least) <= _DOUBT}
    passing |= {v for v in close if _exceeds(v, likely, bound)}
    return [Fraction(int(v in passing)) for v in p]


def _exceeds(value: Fraction, p: Sequence[Fraction], bound: Fraction) -> bool:
    """Returns whether value > sqrt(bound) exp(-H(p)), by whole powers; p holds no 0.

    exp(2 H) to the power of the common denominator D is the product of all p_i ** (-2 D p_i).
    """
    common = math.lcm(*(v.denominator for v in p))
    return value ** (2 * common) > bound**common * math.prod(v ** int(2 * common * v) for v in p)


def typical_acceptance(bound: Fraction) -> Chain:
    """Returns typical acceptance in front of the ordinary sampler."""
    return Chain(accept=typical(bound), fallback=target)


def typical_then_argmax(bound: Fraction) -> Chain:
    """Returns typical acceptance in front of an argmax, the bonus token included."""
    return Chain(accept=typical(bound), fallback=argmax_target, bonus=argmax_bonus)


def target_only_eased(bound: Fraction) -> Chain:
    """Returns the point-mass rule whose coin is compared with p(x) / bound."""
    return Chain(
        accept=lambda step: clipped_ratio(step.px, constant(bound)),
        fallback=target,
        without_rejected=True,
    )


def target_only_skipped(bound: Fraction) -> Chain:
    """Returns the point-mass rule that accepts without a coin where p(x) >= bound."""

    def accept(step: Step) -> Ratios:
        sure = whole((step.px - constant(bound)).numerators >= 0)
        return sure + sure.complement() * target_prob(step)

    return Chain(accept=accept, fallback=target, without_rejected=True)


_ZERO, _ONE = Fraction(0), Fraction(1)
ACCEPTED = Parameter("rejection threshold", Fraction(7, 20), _ZERO, _ONE, law=accepted_if_tiny)
REDRAWN = Parameter("residual threshold", Fraction(7, 20), _ZERO, _ONE, law=target_if_tiny)
ABOVE = Parameter(
    "target threshold",
    Fraction(3, 10),
    _ZERO,
    _ONE,
    law=lambda bound: Chain(accept=above(bound), fallback=target),
)
TYPICAL = Parameter("posterior threshold", Fraction(9, 100), _ZERO, _ONE, law=typical_acceptance)
TYPICAL_ARGMAX = Parameter(
    "posterior threshold, then argmax", Fraction(9, 100), _ZERO, _ONE, law=typical_then_argmax
)
EASED = Parameter("threshold_acc", Fraction(4, 5), Fraction(1, 100), _ONE, law=target_only_eased)
SKIPPED = Parameter("threshold_single", Fraction(2, 5), _ZERO, _ONE, law=target_only_skipped)

ENTRIES = (
    Rule(
        id="rejection-below-threshold-accepted",
        family="fault",
        meaning="accepts everything where the probability of a rejection is below 7/20",
        formula="q if R < t, else p",
        happens="a small difference between the rows is taken for rounding",
        law=ACCEPTED.listed,
        code="A17",
        parameter=ACCEPTED,
    ),
    Rule(
        id="tiny-rejection-full-target",
        family="fault",
        meaning="draws from the whole target row where the residual's mass is below 7/20",
        formula="m + R p if R < t, else p",
        happens="a guard against a small residual, at a bound that is not small",
        law=REDRAWN.listed,
        code="F15",
        parameter=REDRAWN,
    ),
    Rule(
        id="target-threshold",
        family="lossy",
        meaning="accepts where p(x) > 3/10, then draws from the target row",
        formula="q where p > t, + (1 - S) p",
        happens="tokens that are probable enough pass without a coin",
        law=ABOVE.listed,
        code="A21",
        parameter=ABOVE,
    ),
    Rule(
        id="typical-acceptance",
        family="lossy",
        meaning=(
            "accepts where p(x) > min(t, sqrt(t) exp(-H(p))), t = 9/100, then draws from the "
            "target row"
        ),
        formula="q where p > min(t, sqrt(t) exp(-H)), + (1 - S) p",
        happens="typical acceptance in front of the ordinary sampler",
        law=TYPICAL.listed,
        reports=("vllm #5131",),
        reference="Cai et al. (2024), Medusa",
        parameter=TYPICAL,
    ),
    Rule(
        id="typical-acceptance-argmax",
        family="lossy",
        meaning=(
            "accepts where p(x) > min(t, sqrt(t) exp(-H(p))), t = 9/100, then emits the target's "
            "most probable token, as bonus too"
        ),
        formula="q where p > min(t, sqrt(t) exp(-H)), + (1 - S) at argmax p",
        happens="typical acceptance whose every round starts from a greedy token",
        law=TYPICAL_ARGMAX.listed,
        reports=("vllm #5131",),
        reference="Cai et al. (2024), Medusa",
        parameter=TYPICAL_ARGMAX,
    ),
    Rule(
        id="target-only-threshold-acc",
        family="lossy",
        meaning="accepts with p(x) / t, t = 4/5, then draws from the target row without x",
        formula="for every x: p/t at x, else p without x, normalised",
        happens="speculative_accept_threshold_acc below 1, the target-only rule's lenience",
        law=EASED.listed,
        parameter=EASED,
    ),
    Rule(
        id="target-only-threshold-single",
        family="lossy",
        meaning=(
            "accepts with p(x), and always where p(x) >= 2/5; then draws from the target row "
            "without x"
        ),
        formula="for every x: 1 at x where p >= t, else p at x; else p without x, normalised",
        happens="speculative_accept_threshold_single below 1: probable tokens pass without a coin",
        law=SKIPPED.listed,
        parameter=SKIPPED,
    ),
)
