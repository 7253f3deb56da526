"""Acceptance tests that give up the target's law for more acceptance, and say so.

Reference: Leviathan, Kalman, Matias (2023), appendix A.5, for lenience.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np

from audit.exact.chain import Chain
from audit.exact.paths import Step
from audit.exact.ratios import Ratios, clipped_ratio, constant, whole
from audit.exact.rule import Parameter, Rule
from audit.exact.rules import target


def lenient(lenience: Fraction) -> Chain:
    """Returns the rule that accepts with min(1, p(x) / (l q(x)))."""
    scale = constant(lenience)
    return Chain(accept=lambda step: clipped_ratio(step.px, scale * step.qx))


def lenient_throughout(lenience: Fraction) -> Chain:
    """Returns the rule that also falls back to max(p - l q, 0)."""
    scale = constant(lenience)
    return replace(lenient(lenience), fallback=lambda step: (step.p - scale * step.q).positive())


def fixed_rate(rate: Fraction) -> Chain:
    """Returns the rule that accepts with `rate`, whatever the token."""

    def accept(step: Step) -> Ratios:
        return whole(np.ones_like(step.token)) * constant(rate)

    return Chain(accept=accept)


def fixed_rate_then_target(rate: Fraction) -> Chain:
    """Returns the rule that accepts with `rate` and falls back to the target row."""
    return replace(fixed_rate(rate), fallback=target)


_LEAST = Fraction(1, 100)
LENIENCE = Parameter("lenience", Fraction(1, 2), _LEAST, Fraction(1), law=lenient)
LENIENCE_THROUGHOUT = Parameter(
    "lenience, in the residual too", Fraction(1, 2), _LEAST, Fraction(1), law=lenient_throughout
)
RATE = Parameter("fixed rate", Fraction(7, 10), Fraction(0), Fraction(1), law=fixed_rate)
RATE_THEN_TARGET = Parameter(
    "fixed rate, then target", Fraction(7, 10), Fraction(0), Fraction(1), law=fixed_rate_then_target
)

ENTRIES = (
    Rule(
        id="lenience",
        family="lossy",
        meaning="accepts with min(1, p / (l q)), l = 1/2, then falls back to the residual",
        formula="S + (1 - sum S) r with S = min(q, p / l)",
        happens="a lenience setting below 1 that trades the law for acceptance",
        law=LENIENCE.listed,
        reports=("verl-SpeCo #19",),
        reference="Leviathan, Kalman, Matias (2023), appendix A.5",
        gate=True,
        code="A09",
        parameter=LENIENCE,
    ),
    Rule(
        id="lenience-in-residual",
        family="lossy",
        meaning="accepts with min(1, p / (l q)), l = 1/2, then falls back to max(p - l q, 0)",
        formula="S + (1 - sum S) max(p - l q, 0), normalised, with S = min(q, p / l)",
        happens="a lenience setting below 1 that scales q in the residual too",
        law=LENIENCE_THROUGHOUT.listed,
        reference="Leviathan, Kalman, Matias (2023), appendix A.5",
        code="A10",
        parameter=LENIENCE_THROUGHOUT,
    ),
    Rule(
        id="synthetic-acceptance",
        family="lossy",
        meaning="accepts every token with 7/10, then falls back to the residual",
        formula="c q + (1 - c) r",
        happens="a benchmark mode that fixes the acceptance rate",
        law=RATE.listed,
        code="A19",
        parameter=RATE,
    ),
    Rule(
        id="synthetic-acceptance-full-target",
        family="lossy",
        meaning="accepts every token with 7/10, then draws from the target row",
        formula="c q + (1 - c) p",
        happens="a benchmark mode that fixes the acceptance rate",
        law=RATE_THEN_TARGET.listed,
        code="A20",
        parameter=RATE_THEN_TARGET,
    ),
)
