"""A rule on a case beside the other lossless rules and the best that any of them could do.

Exact figures of one round after one fixed prefix. None of them says whether a rule is right: a
wrong one may accept more than any lossless rule can.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from audit.case import Case
from audit.errors import UsageError
from audit.exact.catalogue import RULES, rule_for, rules_for
from audit.exact.measures import number_accepted_law
from audit.exact.onestep import is_causal, is_lossless_on, one_step
from audit.exact.optimum import Optimum, best_acceptance, best_accepted
from audit.exact.paths import CELL_LIMIT, cells_of
from audit.exact.rule import Rule


@dataclass(frozen=True)
class Standing:
    """What one rule reaches on a case.

    acceptance: P(at least one drafted token is accepted). accepted: mean number of accepted
    tokens. slack: error bound of both, 0 unless a common denominator is too long.
    """

    rule_id: str
    lossless: bool
    acceptance: Fraction
    accepted: Fraction
    slack: Fraction = Fraction(0)


@dataclass(frozen=True)
class Comparison:
    """One rule, the others that are lossless on the case, the most accepting first, and the best.

    not_computed: lossless rules of the catalogue whose laws are too large here.
    """

    case_id: str
    rule: Standing
    others: tuple[Standing, ...]
    not_computed: tuple[str, ...]
    best_acceptance: Optimum
    best_accepted: Optimum


def standard_rule(case: Case) -> str:
    """Returns the id of the lossless rule that comes first for drafts of this case's shape."""
    return next(name for name in rules_for(case) if RULES[name].lossless)


def comparison(case: Case, rule_id: str | None = None) -> Comparison:
    """Returns the standing of a rule (the standard one by default) beside the best.

    Raises:
        UsageError: the rule is unknown or of another shape, or its law is too large here.
    """
    entry = rule_for(case, rule_id or standard_rule(case))
    others, not_computed = list[Standing](), list[str]()
    for name in rules_for(case):
        if RULES[name].lossless and name != entry.id:
            try:
                others.append(standing(case, name))
            except UsageError:
                not_computed.append(name)
    others = sorted((one for one in others if one.lossless), key=lambda one: -one.accepted)
    return Comparison(
        case_id=case.id,
        rule=standing(case, entry),
        others=tuple(others),
        not_computed=tuple(not_computed),
        best_acceptance=best_acceptance(case),
        best_accepted=best_accepted(case),
    )


def standing(case: Case, rule: str | Rule) -> Standing:
    """Returns what a rule reaches on a case.

    Raises:
        UsageError: the case is beyond CELL_LIMIT and the one-step check does not decide it.
    """
    entry = rule_for(case, rule)
    if cells_of(case) > CELL_LIMIT and case.context_free and is_causal(entry):
        return _by_one_step(case, entry)
    chances = number_accepted_law(case, entry)
    accepted = sum((n * chance for n, chance in enumerate(chances)), start=Fraction(0))
    return Standing(entry.id, is_lossless_on(case, entry), 1 - chances[0], accepted)


def _by_one_step(case: Case, entry: Rule) -> Standing:
    """Returns the standing where every position accepts with the same chance."""
    step = one_step(entry, case.target[()], case.draft[()])
    rate, lossless = step.acceptance, is_lossless_on(case, entry)
    powers = (rate**n for n in range(1, case.num_speculative_tokens + 1))
    return Standing(entry.id, lossless, rate, sum(powers, start=Fraction(0)), step.slack)
