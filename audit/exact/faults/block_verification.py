"""Wrong block verification: the longest prefix that may stay is looked for in a wrong way.

Each `Block` names only what differs from `Block()`, the correct rule.
"""

from __future__ import annotations

from collections.abc import Sequence

from audit.exact.block import Block, Prefix, clamped, excess, excess_after, failure
from audit.exact.chain import residual
from audit.exact.paths import Step
from audit.exact.ratios import Ratios, clipped_ratio, minimum, quotient, whole
from audit.exact.rule import Rule


def token_residual(prefix: Prefix) -> Ratios:
    """Returns (p - q)+ at the position after the prefix."""
    return residual(prefix.step)


def target_after(prefix: Prefix) -> Ratios:
    """Returns the whole target row after the prefix."""
    return prefix.step.p


def excess_of_longer(prefix: Prefix) -> Ratios:
    """Returns (P p - q)+ with P of the prefix that is one token longer."""
    return excess(clamped(prefix.scale, prefix.step), prefix.step)


def scale_falls_short(prefix: Prefix) -> Ratios:
    """Returns 1 - P."""
    return prefix.scale.complement()


def mass_falls_short(prefix: Prefix) -> Ratios:
    """Returns 1 - S."""
    return excess_after(prefix).total().complement()


def fails_by_last_row(prefix: Prefix) -> Ratios:
    """Returns the probability that the prefix fails with S of its last position."""
    return failure(excess(prefix.scale, prefix.last).total(), prefix.scale)


def unclamped(scale: Ratios, step: Step) -> Ratios:
    """Returns the plain product of the ratios so far."""
    return quotient(scale * step.px, step.qx)


def ratio_alone(scale: Ratios, step: Step) -> Ratios:
    """Returns min(1, p(x) / q(x)), whatever came before."""
    return clipped_ratio(step.px, step.qx)


def until_first_failure(fails: Sequence[Ratios]) -> list[Ratios]:
    """Returns P(i leading prefixes pass) for i = 0..gamma, each with its own coin."""
    chances, reach = [], whole([1])
    for fail in fails[1:]:
        chances.append(reach * fail)
        reach = (reach * fail.complement()).reduced()
    return [*chances, reach]


def by_one_coin(fails: Sequence[Ratios]) -> list[Ratios]:
    """Returns P(prefix i is the longest that passes) where all are tested with one coin."""
    chances, longer_fail = [], whole([1])
    for fail in reversed(fails):
        all_fail = minimum(longer_fail, fail)
        chances.append(longer_fail - all_fail)
        longer_fail = all_fail.reduced()
    return chances[::-1]


ENTRIES = (
    Rule(
        id="block-token-residual",
        family="fault",
        meaning="block verification that falls back to the residual of the token rule",
        formula="prefix i kept as it should be, then max(p - q, 0), normalised",
        happens="the residual of the token rule is at hand and left in place",
        law=Block(fallback=token_residual),
        code="B01",
        base="block",
    ),
    Rule(
        id="block-product-as-height",
        family="fault",
        meaning="tests every prefix with its clamped product instead of S / (S + 1 - P)",
        formula="prefix i passes with P_i",
        happens="the last prefix is tested with P, and the shorter ones like it",
        law=Block(fails=scale_falls_short),
        code="B02",
        base="block",
    ),
    Rule(
        id="block-first-failure-ends",
        family="fault",
        meaning="stops at the first prefix that fails, although a longer one may pass",
        formula="n = number of leading passes instead of the last pass",
        happens="the running product of the token rule's accept mask is applied to block tests",
        law=Block(kept=until_first_failure),
        code="B03",
        base="block",
    ),
    Rule(
        id="block-product-unclamped",
        family="fault",
        meaning="multiplies the ratios up without cutting the product to 1 on the way",
        formula="P_i = P_(i-1) p/q; then max(P_n p - q, 0), normalised",
        happens=(
            "the clamp is left out; or greedy block verification, which is lossless only if the "
            "rest of the block follows a changed target, whose rows off the drafted path no "
            "verifier holds"
        ),
        law=Block(scale=unclamped),
        reference="Sun et al. (2024), first version: greedy block verification",
        code="B04",
        base="block",
    ),
    Rule(
        id="block-mass-as-height",
        family="fault",
        meaning="tests a prefix with S, its denominator S + 1 - P forgotten",
        formula="prefix i passes with S_i",
        happens="half of a formula",
        law=Block(fails=mass_falls_short),
        code="B05",
        base="block",
    ),
    Rule(
        id="block-residual-of-longer-prefix",
        family="fault",
        meaning="scales the residual by the product that includes the rejected token",
        formula="max(P_(n+1) p - q, 0), normalised",
        happens="an index off by one into the running products",
        law=Block(fallback=excess_of_longer),
        code="B06",
        base="block",
    ),
    Rule(
        id="block-token-ratio-last-wins",
        family="fault",
        meaning="tests tokens with their own ratio and keeps everything up to the last that passes",
        formula="n = last i with coin < p/q of token i; then max(p - q, 0), normalised",
        happens="block mode switched on around the criterion and the residual of the token rule",
        law=Block(scale=ratio_alone, fails=scale_falls_short, fallback=token_residual),
        reports=("vllm-ascend #7807",),
        code="B07",
        base="block",
    ),
    Rule(
        id="block-height-row-early",
        family="fault",
        meaning="sums S over the rows of the prefix's last token instead of those after it",
        formula="S_i with p and q of position i - 1",
        happens="an index off by one into the rows",
        law=Block(fails=fails_by_last_row),
        code="B08",
        base="block",
    ),
    Rule(
        id="block-full-target-fallback",
        family="fault",
        meaning="block verification that draws from the whole target row after a rejection",
        formula="prefix i kept as it should be, then p",
        happens="the residual step is left out",
        law=Block(fallback=target_after),
        code="B09",
        base="block",
    ),
    Rule(
        id="block-one-coin",
        family="fault",
        meaning="compares all prefixes with the same random number",
        formula="n = last i with coin < h_i, one coin for all i",
        happens="one uniform is drawn per row instead of one per prefix",
        law=Block(kept=by_one_coin),
        code="B10",
        base="block",
    ),
)
