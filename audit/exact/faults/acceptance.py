"""Wrong acceptance tests."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from audit.exact.chain import Chain, target_over_draft
from audit.exact.integers import product
from audit.exact.paths import Step
from audit.exact.ratios import Ratios, clipped_ratio, constant, minimum, whole
from audit.exact.rowwise import both_as, id_ahead
from audit.exact.rule import Parameter, Rule
from audit.exact.rules import GREEDY, is_argmax, target, target_prob


def always(step: Step) -> Ratios:
    """Returns 1: every drafted token passes."""
    return whole(np.ones_like(step.token))


def never(step: Step) -> Ratios:
    """Returns 0: no drafted token passes."""
    return whole(np.zeros_like(step.token))


def draft_over_target(step: Step) -> Ratios:
    """Returns min(1, q(x) / p(x)), the ratio upside down."""
    return clipped_ratio(step.qx, step.px)


def at_least_draft(step: Step) -> Ratios:
    """Returns 1 where p(x) >= q(x), else 0."""
    return whole((step.px - step.qx).numerators >= 0)


def squared_ratio(step: Step) -> Ratios:
    """Returns min(1, p(x) / q(x)) squared."""
    return target_over_draft(step) * target_over_draft(step)


def smoothed_ratio(epsilon: Fraction) -> Chain:
    """Returns the rule that accepts with min(1, (p(x) + epsilon) / (q(x) + epsilon))."""
    more = constant(epsilon)
    return Chain(accept=lambda step: clipped_ratio(step.px + more, step.qx + more))


def target_over_largest(step: Step) -> Ratios:
    """Returns p(x) / max p."""
    return clipped_ratio(step.px, Ratios(step.p.numerators.max(-1), step.p.denominators[..., 0]))


def on_a_grid(points: Fraction) -> Chain:
    """Returns the rule whose coin is one of 0, 1/N, ..., 1 - 1/N and must be at most p / q."""
    size = np.array([int(points)])

    def reached(step: Step) -> Ratios:
        ratio = target_over_draft(step)
        below = product(ratio.numerators, size) // ratio.denominators
        return minimum(Ratios(below + 1, size), whole([1]))

    return Chain(accept=reached)


def at_other_id(offset: Fraction) -> Chain:
    """Returns the rule that tests x with the ratio at the id `offset` further on."""
    return Chain(tested=both_as(id_ahead(offset)))


EPSILON = Parameter(
    "epsilon in the ratio", Fraction(1, 20), Fraction(0), Fraction(1), law=smoothed_ratio
)
OFFSET = Parameter("id offset", Fraction(1), Fraction(1), Fraction(64), law=at_other_id, whole=True)
# A float32 in [0, 1) of the usual making is one of 2**24 numbers.
GRID = Parameter("coin grid", Fraction(16), Fraction(1), Fraction(2**24), law=on_a_grid, whole=True)

ENTRIES = (
    Rule(
        id="swapped-ratio",
        family="fault",
        meaning="accepts with min(1, q/p), then falls back to the residual",
        formula="S + (1 - sum S) r with S = min(q, q^2 / p)",
        happens="libraries disagree whether p names the target or the draft",
        law=Chain(accept=draft_over_target),
        gate=True,
        code="A01",
    ),
    Rule(
        id="always-accept",
        family="fault",
        meaning="accepts every drafted token",
        formula="q",
        happens="the coin is stuck at 0, or the comparison is always true",
        law=Chain(accept=always),
        reports=("vllm-ascend #13730", "transformers #28508"),
        gate=True,
        code="A02",
    ),
    Rule(
        id="never-accept",
        family="fault",
        meaning="rejects every drafted token and falls back to the residual",
        formula="r",
        happens="the comparison is never true; p = q leaves nothing to draw from",
        law=Chain(accept=never),
        code="A03",
    ),
    Rule(
        id="never-accept-full-target",
        family="fault",
        meaning="rejects every drafted token and draws from the target row: lossless, no speed",
        formula="p",
        happens="the draft is ignored, or drafts and rows never belong together",
        law=Chain(accept=never, fallback=target),
        lossless=True,
        code="A04",
    ),
    Rule(
        id="draft-prob-taken-as-one",
        family="fault",
        meaning="accepts with p(x), as if q were 1 at x, but falls back to max(p - q, 0)",
        formula="p q + (1 - sum p q) r",
        happens="the test believes in a fixed draft, the residual in a sampled one",
        law=Chain(accept=target_prob),
        code="A05",
    ),
    Rule(
        id="deterministic-accept",
        family="fault",
        meaning="accepts exactly where p(x) >= q(x), without a coin",
        formula="q where p >= q, + (1 - S) r",
        happens="the coin is forgotten, or stuck at 1",
        law=Chain(accept=at_least_draft),
        code="A07",
    ),
    Rule(
        id="squared-ratio",
        family="fault",
        meaning="accepts with min(1, p/q) squared",
        formula="min(q, p^2 / q) + (1 - S) r",
        happens="the ratio is applied twice, or two coins must both be below it",
        law=Chain(accept=squared_ratio),
        code="A08",
    ),
    Rule(
        id="epsilon-in-ratio",
        family="fault",
        meaning="accepts with (p + e) / (q + e) for e = 1/20",
        formula="q min(1, (p + e) / (q + e)) + (1 - S) r",
        happens="an epsilon against division by zero, added above and below",
        law=EPSILON.listed,
        code="A11",
        parameter=EPSILON,
    ),
    Rule(
        id="target-over-largest",
        family="fault",
        meaning="accepts with p(x) / max p",
        formula="p q / max p + (1 - S) r",
        happens="a threshold relative to the most probable token is used as a probability",
        law=Chain(accept=target_over_largest),
        reports=("1bit-MONSTER #637",),
        code="A12",
    ),
    Rule(
        id="argmax-accept",
        family="fault",
        meaning="accepts only the target's most probable token, then falls back to the residual",
        formula="q at argmax p, + (1 - S) r",
        happens="a greedy test in front of a sampling fallback",
        law=Chain(accept=is_argmax),
        code="A13",
    ),
    Rule(
        id="argmax-accept-full-target",
        family="fault",
        meaning="accepts only the target's most probable token, then draws from the target row",
        formula="q at argmax p, + (1 - S) p",
        happens="a greedy test in front of the ordinary sampler",
        law=Chain(accept=is_argmax, fallback=target),
        code="A14",
    ),
    Rule(
        id="temperature-ignored",
        family="fault",
        meaning="verifies greedily in a sampling run",
        formula="1 at argmax p",
        happens="the sampling kernel is missing and the greedy one serves every request",
        law=GREEDY,
        reports=("sglang #39253", "sglang #31214"),
        code="A15",
    ),
    Rule(
        id="vocabulary-shift",
        family="fault",
        meaning="accepts with the ratio at the id after the drafted one",
        formula="q(x) min(1, p/q at x + 1) + (1 - S) r",
        happens="ids of a draft vocabulary are mapped with an offset in the test alone",
        law=OFFSET.listed,
        code="A16",
        parameter=OFFSET,
    ),
    Rule(
        id="coarse-coin",
        family="fault",
        meaning="accepts where one of the coins 0, 1/16, ..., 15/16 is at most p/q",
        formula="q min(1, (floor(16 p/q) + 1) / 16) + (1 - S) r",
        happens="random numbers of few bits, compared by <=",
        law=GRID.listed,
        reports=("sglang #35771",),
        code="A18",
        parameter=GRID,
    ),
)
