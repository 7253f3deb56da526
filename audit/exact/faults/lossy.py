"""Acceptance tests that give up the target's law for more acceptance, and say so."""

from __future__ import annotations

from fractions import Fraction

from audit.exact.chain import Chain
from audit.exact.faults.acceptance import always
from audit.exact.paths import Step
from audit.exact.ratios import Ratios, clipped_ratio, constant, whole
from audit.exact.rule import Parameter, Rule
from audit.exact.rules import target

LENIENCE = Fraction(1, 2)
RATE = Fraction(7, 10)
THRESHOLD = Fraction(3, 10)


def lenient(step: Step) -> Ratios:
    """Returns min(1, p(x) / (LENIENCE q(x)))."""
    return clipped_ratio(step.px, constant(LENIENCE) * step.qx)


def lenient_residual(step: Step) -> Ratios:
    """Returns max(p - LENIENCE q, 0)."""
    return (step.p - constant(LENIENCE) * step.q).positive()


def fixed_rate(step: Step) -> Ratios:
    """Returns RATE, whatever the token."""
    return always(step) * constant(RATE)


def above_threshold(step: Step) -> Ratios:
    """Returns 1 where p(x) > THRESHOLD, else 0."""
    return whole((step.px - constant(THRESHOLD)).numerators > 0)


ENTRIES = (
    Rule(
        id="lenience-half",
        family="lossy",
        meaning="accepts with min(1, 2p/q), then falls back to the residual",
        formula="S + (1 - sum S) r with S = min(q, 2p)",
        happens="a lenience setting of 1/2 that trades the law for acceptance",
        law=Chain(accept=lenient),
        reports=("verl-SpeCo #19",),
        reference="Leviathan, Kalman, Matias (2023), appendix A.5",
        gate=True,
        code="A09",
        parameter=Parameter("lenience", LENIENCE),
    ),
    Rule(
        id="lenience-half-in-residual",
        family="lossy",
        meaning="accepts with min(1, 2p/q), then falls back to max(p - q/2, 0)",
        formula="S + (1 - sum S) max(p - q/2, 0), normalised, with S = min(q, 2p)",
        happens="a lenience setting of 1/2 that scales q in the residual too",
        law=Chain(accept=lenient, fallback=lenient_residual),
        reference="Leviathan, Kalman, Matias (2023), appendix A.5",
        code="A10",
        parameter=Parameter("lenience, in the residual too", LENIENCE),
    ),
    Rule(
        id="synthetic-acceptance",
        family="lossy",
        meaning="accepts every token with 7/10, then falls back to the residual",
        formula="c q + (1 - c) r",
        happens="a benchmark mode that fixes the acceptance rate",
        law=Chain(accept=fixed_rate),
        code="A19",
        parameter=Parameter("fixed rate", RATE),
    ),
    Rule(
        id="synthetic-acceptance-full-target",
        family="lossy",
        meaning="accepts every token with 7/10, then draws from the target row",
        formula="c q + (1 - c) p",
        happens="a benchmark mode that fixes the acceptance rate",
        law=Chain(accept=fixed_rate, fallback=target),
        code="A20",
        parameter=Parameter("fixed rate, then target", RATE),
    ),
    Rule(
        id="target-threshold",
        family="lossy",
        meaning="accepts where p(x) > 3/10, then draws from the target row",
        formula="q where p > t, + (1 - S) p",
        happens="typical acceptance: tokens that are probable enough pass without a coin",
        law=Chain(accept=above_threshold, fallback=target),
        code="A21",
        parameter=Parameter("target threshold", THRESHOLD),
    ),
)
