"""Verifiers that never look at the draft row: how the siblings were drawn does not matter.

`sampler-match` draws y from p and goes on with the sibling that holds y. `target-only` walks one
coin along the cumulated p of the siblings, and draws from p without them beyond the last. The two
are one law as long as siblings differ.

References: SGLang and EAGLE-2 (Li et al., 2024) for `target-only`.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from audit.exact.ratios import Ratios, constant, minimum, whole
from audit.exact.rule import Parameter, Rule
from audit.exact.trees.walk import Siblings, Walk


def sampler_match(siblings: Siblings) -> tuple[list[Ratios], Ratios]:
    """Returns the chance that a draw from p is a sibling's token and no earlier sibling's."""
    columns = zip(siblings.tokens.T, siblings.repeated.T, strict=True)
    chances = [siblings.p.at(token) * whole(~repeated) for token, repeated in columns]
    return chances, siblings.p_without_tokens


@dataclass(frozen=True)
class TargetOnly:
    """The law of one coin along the siblings: it accepts where the cumulated p has passed it.

    cumulated: the threshold that the coin is scaled to, single: a sibling at least as probable is
    accepted whatever the coin. Both are 1 in the lossless rule.
    """

    cumulated: Fraction = Fraction(1)
    single: Fraction = Fraction(1)

    def __call__(self, siblings: Siblings) -> tuple[list[Ratios], Ratios]:
        """Returns the chance that each sibling is accepted, and the weights if none is."""
        total, open_, chances = whole([0]), whole([1]), []
        for token in siblings.tokens.T:
            probability = siblings.p.at(token)
            total = (total + probability * constant(1 / self.cumulated)).reduced()
            below = whole((probability - constant(self.single)).numerators < 0)
            still = minimum(open_, below * total.complement().positive()).reduced()
            chances.append((open_ - still).reduced())
            open_ = still
        return chances, siblings.p_without_tokens


def match_or_full_target(siblings: Siblings) -> tuple[list[Ratios], Ratios]:
    """Returns the chances of `sampler_match`, and the whole target row if none is accepted."""
    return sampler_match(siblings)[0], siblings.p


CUMULATED = Parameter(
    "cumulated threshold",
    Fraction(4, 5),
    low=Fraction(1, 20),
    high=Fraction(1),
    law=lambda value: Walk(TargetOnly(cumulated=value)),
)
SINGLE = Parameter(
    "single threshold",
    Fraction(2, 5),
    low=Fraction(0),
    high=Fraction(1),
    law=lambda value: Walk(TargetOnly(single=value)),
)
_REFERENCE = "Li et al. (2024), EAGLE-2; SGLang's target-only tree verification"

ENTRIES = (
    Rule(
        id="target-only",
        family="lossless",
        meaning="walks one coin along the target probabilities of siblings that all differ",
        formula="accepts c_j with p(c_j), falls back to p without the siblings = p",
        happens="top-k trees, where q plays no part; often mistaken for a biased rule",
        law=Walk(TargetOnly()),
        reports=("EAGLE #183", "EAGLE #329", "EAGLE #171", "EAGLE #221", "EAGLE #74"),
        reference=_REFERENCE,
        lossless=True,
        trees=("distinct", "fixed"),
    ),
    Rule(
        id="tree-sampler-match",
        family="lossless",
        meaning="draws y from p, emits y, and goes on below the sibling that holds y",
        formula="p, whatever the siblings are",
        happens="verifiers that reuse the ordinary sampler at every node",
        law=Walk(sampler_match),
        reference="Miao et al. (2024), SpecInfer, naive sampling",
        lossless=True,
        trees=("independent", "distinct", "fixed"),
    ),
    Rule(
        id="fixed-full-target-fallback",
        family="fault",
        meaning="draws from the whole target row when no sibling is accepted",
        formula="p(c_j) for the siblings, then p instead of p without the siblings",
        happens="rejected siblings are not taken out of the row before the last draw",
        law=Walk(match_or_full_target),
        gate=True,
        trees=("fixed",),
        base="target-only",
    ),
    Rule(
        id="repeated-sibling-counted-twice",
        family="fault",
        meaning="walks one coin along the siblings and counts a repeated token twice",
        formula="accepts c_j where p(c_1) + ... + p(c_j) passes the coin, repeats included",
        happens="the rule for siblings that differ is applied to independent draws",
        law=Walk(TargetOnly()),
        gate=True,
        code="T15",
        trees=("independent",),
        base="tree-sampler-match",
    ),
    Rule(
        id="tree-threshold-acc",
        family="lossy",
        meaning="walks a coin along the siblings that is scaled below 1, so that more are accepted",
        formula="accepts where the cumulated p over t passes the coin",
        happens="an accumulated acceptance threshold below 1",
        law=CUMULATED.listed,
        reference=_REFERENCE,
        gate=True,
        code="T16",
        parameter=CUMULATED,
        trees=("distinct", "fixed"),
        base="target-only",
    ),
    Rule(
        id="tree-threshold-single",
        family="lossy",
        meaning="accepts a sibling that is probable enough in the target row, whatever the coin",
        formula="accepts where p(c) >= t, or where the cumulated p passes the coin",
        happens="a single-token acceptance threshold below 1",
        law=SINGLE.listed,
        reference=_REFERENCE,
        gate=True,
        code="T17",
        parameter=SINGLE,
        trees=("distinct", "fixed"),
        base="target-only",
    ),
)
