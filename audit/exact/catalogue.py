"""The catalogue of rules, right and wrong: what each does, how it comes about, and its exact law.

In the formulas p is the target row, q the draft row, x the drafted token, m = min(p, q),
R = 1 - sum m the probability of a rejection, r = max(p - q, 0) / R the residual, A = 1 - R. A
formula gives the law of one emitted token after a fixed prefix, or what becomes of the bonus.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from fractions import Fraction
from types import MappingProxyType

from audit.case import Case
from audit.errors import UsageError
from audit.exact import rules
from audit.exact.faults import (
    acceptance,
    block_verification,
    blocks,
    declared,
    fallback,
    lossy,
    randomness,
    stages,
    thresholds,
)
from audit.exact.rule import Rule
from audit.exact.trees import distinct, independent, k_seq, recursive, target_only, traversal
from audit.tree import Drafting

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
        code="C00",
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
        code="R01",
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
        code="A06",
    ),
    Rule(
        id="block",
        family="lossless",
        meaning="tests whole prefixes of the draft block and keeps the longest one that passes",
        formula="P_i = min(1, P_(i-1) p/q); then max(P_n p - q, 0), normalised",
        happens="block verification, accepts more than the ratio rule from 2 drafted tokens on",
        law=rules.BLOCK,
        reports=("vllm-ascend #7807",),
        reference="Sun et al. (2025), block verification",
        lossless=True,
        code="B00",
    ),
    Rule(
        id="gumbel-coupled",
        family="lossless",
        meaning=(
            "draws y from p by the exponential noise that drew x, emits y, and goes on while y is "
            "the drafted token"
        ),
        formula="p, with acceptance sum over x of 1 / (sum over j of max(p_j / p_x, q_j / q_x))",
        happens="shared-seed sampling: the output depends on the seed and not on the drafter",
        law=rules.GUMBEL_COUPLED,
        reference="Daliri, Musco, Suresh (2024)",
        lossless=True,
    ),
)

_FAULTS = (
    *fallback.ENTRIES,
    *acceptance.ENTRIES,
    *stages.ENTRIES,
    *randomness.ENTRIES,
    *blocks.ENTRIES,
    *block_verification.ENTRIES,
    *thresholds.ENTRIES,
    *lossy.ENTRIES,
    *declared.ENTRIES,
)

_TREES = (
    *recursive.ENTRIES,
    *target_only.ENTRIES,
    *k_seq.ENTRIES,
    *traversal.ENTRIES,
    *independent.ENTRIES,
    *distinct.ENTRIES,
)

RULES: Mapping[str, Rule] = MappingProxyType(
    {entry.id: entry for entry in (*_LOSSLESS, *_FAULTS, *_TREES)}
)

_HEADLINE_OF: Mapping[Drafting | None, str] = {
    None: "full-target-fallback",
    "independent": "siblings-full-target-fallback",
    "distinct": "distinct-full-target-fallback",
    "fixed": "fixed-full-target-fallback",
}
HEADLINES = frozenset(_HEADLINE_OF.values())


def rule(wanted: str | Rule) -> Rule:
    """Returns the catalogue entry with this id; `id@value` is the entry at another constant.

    A Rule is returned as it is, so that an entry of one's own can stand wherever an id can.

    Raises:
        UsageError: no entry has this id, or it cannot have this constant.

    >>> rule("ratio").lossless
    True
    """
    if isinstance(wanted, Rule):
        return wanted
    name, at, value = wanted.partition("@")
    if name not in RULES:
        nearest = difflib.get_close_matches(name, RULES, n=1, cutoff=0.0)
        raise UsageError(
            f'no rule or fault is called "{name}": the nearest of {len(RULES)} ids is '
            f'"{nearest[0]}".'
        )
    try:
        return RULES[name].at(Fraction(value)) if at else RULES[name]
    except (ValueError, ZeroDivisionError) as error:
        raise UsageError(f'"{wanted}" is no entry of the catalogue: {error}.') from None


def rule_for(case: Case, wanted: str | Rule) -> Rule:
    """Returns the entry with this id, which must verify drafts of this case's shape.

    Raises:
        UsageError: the rule is unknown, or made for drafts of another shape.
    """
    entry = rule(wanted)
    if not verifies(entry, case):
        needed = " or ".join(f"trees of {drafting} siblings" for drafting in entry.trees)
        found = f"a tree of {case.drafting} siblings" if case.drafting else "a chain of tokens"
        raise UsageError(
            f'"{entry.id}" verifies {needed or "chains of tokens"}, but case "{case.id}" drafts '
            f"{found}: choose one of {', '.join(rules_for(case)[:3])}, ..., or another case."
        )
    return entry


def rules_for(case: Case) -> tuple[str, ...]:
    """Returns the ids of the entries that verify drafts of this case's shape."""
    return tuple(name for name, entry in RULES.items() if verifies(entry, case))


def verifies(entry: Rule, case: Case) -> bool:
    """Returns whether a rule is made for drafts of this case's shape."""
    return case.drafting in (entry.trees or (None,))


def headline(case: Case) -> str:
    """Returns the id of the commonest public defect on drafts of this case's shape."""
    return _HEADLINE_OF[case.drafting]
