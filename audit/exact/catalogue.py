"""The catalogue of rules, right and wrong: what each does, how it comes about, and its exact law.

In the formulas p is the target row, q the draft row, x the drafted token, m = min(p, q),
R = 1 - sum m the probability of a rejection, r = max(p - q, 0) / R the residual, A = 1 - R. A
formula gives the law of one emitted token after a fixed prefix, or what becomes of the bonus.

`reports` are public reports of the same defect, or of a correct rule taken for one.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

from audit.errors import UsageError
from audit.exact import faults, rules
from audit.exact.chain import Branch
from audit.exact.paths import Rounds

Family = Literal["lossless", "lossy", "fault"]


@dataclass(frozen=True)
class Rule:
    """One verification rule: its description and its law as a function of one round.

    lossless: the completed law is the target's on every case the rule is made for (for `greedy`
    those at temperature 0).
    """

    id: str
    family: Family
    meaning: str
    formula: str
    happens: str
    law: Callable[[Rounds], list[Branch]]
    reports: tuple[str, ...] = ()
    reference: str = ""
    lossless: bool = False


_LOSSLESS = (
    Rule(
        id="ratio",
        family="lossless",
        meaning="accepts with min(1, p/q), falls back to the residual, ends with a bonus token",
        formula="m + R r = p",
        happens="the standard rule; the draft must really come from q, every coin must be fresh",
        law=rules.RATIO,
        reference="Leviathan, Kalman, Matias (2023), Algorithm 1; Chen et al. (2023)",
        lossless=True,
    ),
    Rule(
        id="greedy",
        family="lossless",
        meaning="accepts only the target's most probable token and emits that token otherwise",
        formula="1 at argmax p (ties: lowest id)",
        happens="temperature 0; in a sampling run it means that the temperature is ignored",
        law=rules.GREEDY,
        reports=("sglang #39253", "sglang #31214"),
        reference="Leviathan, Kalman, Matias (2023), section 2.2",
        lossless=True,
    ),
    Rule(
        id="sampler-match",
        family="lossless",
        meaning="draws y from p, emits y, and goes on while y equals the drafted token",
        formula="p, with acceptance sum p q",
        happens="verifiers that reuse the ordinary sampler; often mistaken for a biased rule",
        law=rules.SAMPLER_MATCH,
        reports=("mlx-swift-lm #459", "mlxcel #992", "z-lab/dflash #74"),
        lossless=True,
    ),
    Rule(
        id="point-mass",
        family="lossless",
        meaning="accepts with p(x), as if q were 1 at x, and falls back to p without x",
        formula="for every x: p(x) at x + (1 - p(x)) p without x, normalised = p",
        happens="fixed drafts (n-gram, prompt lookup, top-k trees) or a q that was not handed over",
        law=rules.POINT_MASS,
        reports=("EAGLE #183", "vllm #40149", "vllm-ascend #2881"),
        lossless=True,
    ),
    Rule(
        id="block",
        family="lossless",
        meaning="tests whole prefixes of the draft block and keeps the longest one that passes",
        formula="P_i = min(1, P_(i-1) p/q); then max(P_n p - q, 0), normalised",
        happens="block verification, accepts more than the ratio rule from 2 drafted tokens on",
        law=rules.block,
        reports=("vllm-ascend #7807",),
        reference="Sun et al. (2025), block verification",
        lossless=True,
    ),
)

_FAULTS = (
    Rule(
        id="full-target-fallback",
        family="fault",
        meaning="draws from the whole target row after a rejection instead of the residual",
        formula="m + R p",
        happens="the residual step is left out, so that accepted mass is counted twice",
        law=faults.FULL_TARGET_FALLBACK,
        reports=("Spec-RL #14",),
    ),
    Rule(
        id="absolute-residual",
        family="fault",
        meaning="draws from |p - q| after a rejection",
        formula="m + |p - q| / 2 = (p + q) / 2",
        happens="abs() stands where negative differences should be cut to 0",
        law=faults.ABSOLUTE_RESIDUAL,
    ),
    Rule(
        id="draft-fallback",
        family="fault",
        meaning="draws from the draft row again after a rejection",
        formula="m + R q",
        happens="the wrong one of two row buffers is sampled",
        law=faults.DRAFT_FALLBACK,
    ),
    Rule(
        id="always-accept",
        family="fault",
        meaning="accepts every drafted token",
        formula="q",
        happens="the coin is stuck at 0, or the comparison is always true",
        law=faults.ALWAYS_ACCEPT,
        reports=("vllm-ascend #13730", "transformers #28508"),
    ),
    Rule(
        id="swapped-ratio",
        family="fault",
        meaning="accepts with min(1, q/p), then falls back to the residual",
        formula="S + (1 - sum S) r with S = min(q, q^2 / p)",
        happens="libraries disagree whether p names the target or the draft",
        law=faults.SWAPPED_RATIO,
    ),
    Rule(
        id="target-without-rejected",
        family="fault",
        meaning="draws from the target row without the rejected token",
        formula="m(y) + p(y) sum over x != y of max(q - p, 0)(x) / (1 - p(x))",
        happens="the point-mass fallback is combined with the ratio test",
        law=faults.TARGET_WITHOUT_REJECTED,
    ),
    Rule(
        id="bonus-from-draft",
        family="fault",
        meaning="draws the bonus token from the last draft row",
        formula="m + R r = p, but q of the last drafted position for the bonus",
        happens="the draft row is taken because it is at hand and the shapes fit",
        law=faults.BONUS_FROM_DRAFT,
    ),
    Rule(
        id="bonus-one-row-early",
        family="fault",
        meaning="draws the bonus token from the target row before the last drafted token",
        formula="m + R r = p, but p of the last drafted position for the bonus",
        happens="an index off by one; unseen wherever rows do not depend on the prefix",
        law=faults.BONUS_ONE_ROW_EARLY,
    ),
    Rule(
        id="bonus-missing",
        family="fault",
        meaning="emits no bonus token after full acceptance: lossless, only shorter",
        formula="m + R r = p, no bonus",
        happens="the round ends with the draft block; costs speed and no correctness",
        law=faults.BONUS_MISSING,
        lossless=True,
    ),
    Rule(
        id="continues-after-rejection",
        family="fault",
        meaning="replaces a rejected token and keeps later drafted tokens and the bonus",
        formula="m + R r = p for the first token, then rows of a prefix that was not emitted",
        happens="the accept mask is applied position by position, without a running product",
        law=faults.continues_after_rejection,
    ),
    Rule(
        id="target-row-late",
        family="fault",
        meaning="takes the residual from the target row after the rejected token",
        formula="m + R max(p' - q, 0), normalised, with p' the next target row",
        happens="target rows shifted by one against draft rows in the fallback",
        law=faults.TARGET_ROW_LATE,
        reports=("transformers #28166",),
    ),
    Rule(
        id="shared-coin",
        family="fault",
        meaning="compares every position of a round with the same random number",
        formula="p for the first token; n tokens pass with the smallest of their n ratios",
        happens="one uniform is drawn per row instead of one per position",
        law=faults.SHARED_COIN,
    ),
    Rule(
        id="unnormalised-residual",
        family="fault",
        meaning="inverts the running sum of max(p - q, 0) without normalising it",
        formula="m + R (max(p - q, 0) + A at the last id)",
        happens="the uniform exceeds the last running sum and the search ends at the last id",
        law=faults.UNNORMALISED_RESIDUAL,
    ),
)

_LOSSY = (
    Rule(
        id="lenience-half",
        family="lossy",
        meaning="accepts with min(1, 2p/q), then falls back to the residual",
        formula="S + (1 - sum S) r with S = min(q, 2p)",
        happens="a lenience setting of 1/2 that trades the law for acceptance",
        law=faults.LENIENCE_HALF,
        reports=("verl-SpeCo #19",),
        reference="Leviathan, Kalman, Matias (2023), appendix A.5",
    ),
)

RULES: Mapping[str, Rule] = MappingProxyType(
    {entry.id: entry for entry in (*_LOSSLESS, *_FAULTS, *_LOSSY)}
)


def rule(rule_id: str) -> Rule:
    """Returns the catalogue entry with this id.

    Raises:
        UsageError: no entry has it.

    >>> rule("ratio").lossless
    True
    """
    if rule_id not in RULES:
        nearest = difflib.get_close_matches(rule_id, RULES, n=1, cutoff=0.0)
        raise UsageError(
            f'no rule or fault is called "{rule_id}": the nearest of {len(RULES)} ids is '
            f'"{nearest[0]}".'
        )
    return RULES[rule_id]
