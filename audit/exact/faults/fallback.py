"""Wrong fallbacks: the acceptance test is right, the token after a rejection is not."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from audit.exact.chain import Chain, residual
from audit.exact.paths import Step
from audit.exact.ratios import Ratios, constant, one_hot, whole
from audit.exact.rowwise import cut_to, most_probable
from audit.exact.rule import Parameter, Rule
from audit.exact.rules import argmax_target, target


def absolute_difference(step: Step) -> Ratios:
    """Returns |p - q|."""
    return (step.p - step.q).absolute()


def reversed_residual(step: Step) -> Ratios:
    """Returns max(q - p, 0)."""
    return (step.q - step.p).positive()


def draft(step: Step) -> Ratios:
    """Returns the whole draft row."""
    return step.q


def overflowing(step: Step, into: int) -> Ratios:
    """Returns max(p - q, 0) with what is missing to 1 on the id `into`, -1 for the last.

    That is what inverting the running sum of an unnormalised row gives.
    """
    missing = residual(step).total().complement().column()
    size = step.p.numerators.shape[-1]
    return residual(step) + missing * one_hot(np.array([into % size]), size)


def floored_residual(epsilon: Fraction) -> Chain:
    """Returns the rule that falls back to max(p - q, epsilon)."""
    floor = constant(epsilon)
    return Chain(fallback=lambda step: (step.p - step.q - floor).positive() + floor)


def residual_argmax(step: Step) -> Ratios:
    """Returns the row that holds 1 at the largest p - q."""
    return most_probable(step.p - step.q)


def residual_support(step: Step) -> Ratios:
    """Returns 1 for every token with p > q."""
    return whole(residual(step).numerators > 0)


def proposed_residual(step: Step) -> Ratios:
    """Returns max(p - q, 0) of the tokens that the draft can propose."""
    return residual(step) * whole(step.q.numerators > 0)


def residual_of_top(k: Fraction) -> Chain:
    """Returns the rule that cuts p to its k most probable tokens in the residual."""
    return Chain(fallback=lambda step: (cut_to(step.p, k) - step.q).positive())


def any_token(step: Step) -> Ratios:
    """Returns 1 for every token."""
    return whole(np.ones_like(step.p.numerators))


FLOOR = Parameter("residual clamp", Fraction(1, 20), Fraction(0), Fraction(1), law=floored_residual)
TOP_K = Parameter("top-k", Fraction(2), Fraction(1), Fraction(64), law=residual_of_top, whole=True)

ENTRIES = (
    Rule(
        id="full-target-fallback",
        family="fault",
        meaning="draws from the whole target row after a rejection instead of the residual",
        formula="m + R p",
        happens="the residual step is left out, so that accepted mass is counted twice",
        law=Chain(fallback=target),
        reports=("Spec-RL #14",),
        gate=True,
        code="F01",
    ),
    Rule(
        id="unnormalised-residual",
        family="fault",
        meaning="inverts the running sum of max(p - q, 0) without normalising it",
        formula="m + R (max(p - q, 0) + A at the last id)",
        happens="the uniform exceeds the last running sum and the search ends at the last id",
        law=Chain(fallback=lambda step: overflowing(step, -1)),
        gate=True,
        code="F02",
    ),
    Rule(
        id="unnormalised-residual-first-id",
        family="fault",
        meaning="inverts the running sum of max(p - q, 0) unnormalised, a failed search gives id 0",
        formula="m + R (max(p - q, 0) + A at id 0)",
        happens="an argmax over `running sum > uniform` is 0 where nothing is true",
        law=Chain(fallback=lambda step: overflowing(step, 0)),
        code="F03",
    ),
    Rule(
        id="reversed-residual",
        family="fault",
        meaning="draws from max(q - p, 0) after a rejection",
        formula="m + max(q - p, 0) = q",
        happens="the two rows change places in the difference",
        law=Chain(fallback=reversed_residual),
        code="F04",
    ),
    Rule(
        id="absolute-residual",
        family="fault",
        meaning="draws from |p - q| after a rejection",
        formula="m + |p - q| / 2 = (p + q) / 2",
        happens="abs() stands where negative differences should be cut to 0",
        law=Chain(fallback=absolute_difference),
        gate=True,
        code="F05",
    ),
    Rule(
        id="epsilon-residual",
        family="fault",
        meaning="draws from max(p - q, e), e = 1/20, after a rejection",
        formula="m + R max(p - q, e), normalised",
        happens="a clamp against division by zero gives every token some mass",
        law=FLOOR.listed,
        code="F06",
        parameter=FLOOR,
    ),
    Rule(
        id="draft-fallback",
        family="fault",
        meaning="draws from the draft row again after a rejection",
        formula="m + R q",
        happens="the wrong one of two row buffers is sampled",
        law=Chain(fallback=draft),
        gate=True,
        code="F07",
    ),
    Rule(
        id="target-without-rejected",
        family="fault",
        meaning="draws from the target row without the rejected token",
        formula="m(y) + p(y) sum over x != y of max(q - p, 0)(x) / (1 - p(x))",
        happens="the point-mass fallback is combined with the ratio test",
        law=Chain(fallback=target, without_rejected=True),
        gate=True,
        code="F08",
    ),
    Rule(
        id="argmax-residual",
        family="fault",
        meaning="emits the token with the largest p - q after a rejection",
        formula="m + R at argmax (p - q)",
        happens="argmax without the noise that would turn it into a draw",
        law=Chain(fallback=residual_argmax),
        code="F09",
    ),
    Rule(
        id="argmax-target-fallback",
        family="fault",
        meaning="emits the target's most probable token after a rejection",
        formula="m + R at argmax p",
        happens="the recovered token is taken from a greedy path",
        law=Chain(fallback=argmax_target),
        code="F10",
    ),
    Rule(
        id="uniform-residual",
        family="fault",
        meaning="draws evenly from the tokens with p > q after a rejection",
        formula="m + R / |{p > q}| on {p > q}",
        happens="a mask is sampled where its weights should be",
        law=Chain(fallback=residual_support),
        code="F11",
    ),
    Rule(
        id="proposed-ids-only",
        family="fault",
        meaning="draws from the residual of those tokens alone that the draft can propose",
        formula="m + R max(p - q, 0) where q > 0, normalised",
        happens="the residual is built over the ids that came with the draft; p elsewhere is lost",
        law=Chain(fallback=proposed_residual),
        code="F12",
    ),
    Rule(
        id="residual-of-top-2",
        family="fault",
        meaning="keeps the target's two most probable tokens, unnormalised, in the residual",
        formula="m + R max(p on its top 2 - q, 0), normalised",
        happens="a top-k mask is applied to the residual step alone",
        law=TOP_K.listed,
        code="F13",
        parameter=TOP_K,
    ),
    Rule(
        id="uniform-fallback",
        family="fault",
        meaning="draws evenly from the whole vocabulary after a rejection",
        formula="m + R / V",
        happens="zero logits, or a row of ones, are sampled",
        law=Chain(fallback=any_token),
        code="F14",
    ),
)
