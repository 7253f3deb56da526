"""The verdict that the law of the code leads to, alone or beside sampled rounds.

The map of the search is a claim; h, the bound of its coupling, is what proves it. A PASS compares
the sum of both with epsilon, h counted over calls: nothing is taken for granted of their rows. A
FAIL takes h away from what the map shows, counted over rows, which the contract makes independent.
"""

from __future__ import annotations

import math
from dataclasses import replace
from decimal import ROUND_CEILING, Context, Decimal

from audit.errors import UsageError
from audit.exact.catalogue import rule
from audit.plural import are, counted, on_average
from audit.steered import CodeEdge, CodeReading, Steered, SteeredEvidence
from audit.verdict import Budget, Outcome, Verdict

BESIDE = 0.1  # of alpha and delta, where a law is judged beside sampled rounds
RULE = "rule "  # so begins the name of a reading on a rule of the catalogue
_NOT = "the law of the code is not"
_NEAR, _GRID = 10, 2.0**-24
_TWO_DIGITS = Context(prec=2, rounding=ROUND_CEILING)


def law_verdict(found: Steered, budget: Budget, *, share: float = 1.0, claims: str = "") -> Verdict:
    """Returns the verdict on one case from the law of the code alone.

    share: of alpha, for all that the law may be accused of. claims: the rule whose law judges in
    place of the target's, "" for none.
    """
    if not isinstance(found, SteeredEvidence):
        return Verdict(Outcome.INCONCLUSIVE, f"its law cannot be read off: {found.reason}")
    broken, hard = _broken(found), _hard(found, budget.level(share))
    if broken:
        return Verdict(Outcome.ERROR, broken[0], tuple(broken))
    soft = _biased(found, budget.level(share), claims)
    if hard or soft:
        return _failed(found, budget, hard=hard, soft=soft)
    if found.bound <= budget.epsilon:
        return Verdict(Outcome.PASS, f"{statement(found)} certified{_against(claims)}")
    return Verdict(Outcome.INCONCLUSIVE, _open(found, budget))


def statement(found: SteeredEvidence) -> str:
    """Returns the bound as the sum of its parts, each rounded up.

    >>> e = SteeredEvidence(0.0, 0.0, 69_000, 0, 690, 0, 1e-3, 1e-6, "Batched", 9, 9, (), ())
    >>> statement(e)
    'TV <= 0 (map) + 0.010 (690 coupled calls; 0.00011 if their 69,000 rows are independent)'
    """
    parts = [f"{rounded_up(found.map)} (map)"]
    if found.generators:
        parts.append(f"{rounded_up(found.generators)} (generators)")
    parts.append(f"{rounded_up(found.coupling)} ({_proof(found)})")
    return f"TV <= {' + '.join(parts)}"


def _proof(found: SteeredEvidence) -> str:
    missed = f", {found.broken_calls:,} not foretold" if found.broken_calls else ""
    calls = f"{counted(found.calls, 'coupled call')}{missed}"
    if found.rows == found.calls:
        return calls
    return f"{calls}; {rounded_up(found.by_rows)} if their {found.rows:,} rows are independent"


def rounded_up(value: float) -> str:
    """Returns a number with two digits, not below it.

    >>> rounded_up(9.871e-6), rounded_up(0.0), rounded_up(0.031)
    ('9.9e-06', '0', '0.031')
    """
    return f"{float(_TWO_DIGITS.create_decimal(Decimal(value))):#.2g}" if value else "0"


def beside(sampled: Verdict, law: Verdict) -> Verdict:
    """Returns the verdict on a case from sampled rounds and from the law of the code.

    The worse counts, but either of them certifies alone where the other is merely undecided.
    """
    both = [sampled, law]
    if {one.outcome for one in both} == {Outcome.PASS, Outcome.INCONCLUSIVE}:
        both.sort(key=lambda one: one.outcome is not Outcome.PASS)
    else:
        both.sort(key=lambda one: list(Outcome).index(one.outcome))
    first, other = both
    reasons = tuple(dict.fromkeys((*(first.reasons or (first.sentence,)), other.sentence)))
    return replace(first, reasons=reasons, sentence=f"{first.sentence}; {_said(other, law)}")


def _said(other: Verdict, law: Verdict) -> str:
    """Returns what the other verdict adds: of a law that is biased, how much it is."""
    if other is not law:
        return f"sampled: {other.sentence}"
    biased = law.sentence.startswith(_NOT)
    return f"read off the code: {law.sentence.partition(': ')[2] if biased else law.sentence}"


def disagreement(found: Steered) -> str:
    """Returns the sentence where sampled rounds contradict the law of the code, else ""."""
    seen = found.agreement if isinstance(found, SteeredEvidence) else None
    if seen is None or seen.agrees:
        return ""
    return (
        f"the code behaves differently when steered: {seen.event} in {seen.seen:,} of "
        f"{seen.trials:,} sampled rounds, {on_average(seen.expected)} by the law that was read "
        f"off, p {seen.p_value:.1e}"
    )


def _broken(found: SteeredEvidence) -> list[str]:
    """Returns what breaks the contract more often than arithmetic may."""
    return [
        f"{_happens(edge)}: {edge.kind}, {edge.number}"
        for edge in found.edges
        if edge.grade == "FAIL" and edge.kind != "impossible token"
    ]


def _hard(found: SteeredEvidence, level: float) -> list[str]:
    """Returns what no certificate softens: impossible tokens, and a broken declared rule."""
    sentences = [
        f"{_happens(edge)}: the impossible block {list(edge.outcome)}, {edge.number}"
        for edge in found.edges
        if edge.grade == "FAIL" and edge.kind == "impossible token"
    ]
    apart = found.least(found.to_declared or 0.0, level)
    if apart > found.tolerance:
        sentences.append(f"does not follow the declared rule: its law is at least {apart:.3g} off")
    return sentences


def _happens(edge: CodeEdge) -> str:
    return f"with probability {edge.chance:.3g}"


def _biased(found: SteeredEvidence, level: float, claims: str) -> list[str]:
    least = found.least(found.map, level)
    if least <= found.tolerance:
        return []
    where = f"the declared law of {claims}" if claims else "the target's law"
    parts = f"{found.map:.3g} (map) - {found.generators + found.reach(level):.2g} (coupling)"
    return [f"{_NOT} {where}: TV >= {parts}"]


def _failed(found: SteeredEvidence, budget: Budget, *, hard: list[str], soft: list[str]) -> Verdict:
    reasons = (*hard, *soft)
    if not hard and found.bound <= max(budget.accept_within or 0, budget.epsilon):
        sentence = f"bias is proven, and {statement(found)} is certified"
        return Verdict(Outcome.WITHIN, sentence, reasons)
    return Verdict(Outcome.FAIL, reasons[0], reasons, suspects=_suspects(found))


def _suspects(found: SteeredEvidence) -> tuple[str, ...]:
    """Returns the faults of the catalogue that have the law of the code."""
    names = (one.name.removeprefix(RULE) for one in nearest_rules(found))
    return tuple(name for name in names if not _lossless(name))


def nearest_rules(found: SteeredEvidence) -> list[CodeReading]:
    """Returns the readings on rules of the catalogue, without those that are clearly farther."""
    rules = [one for one in found.readings if one.name.startswith(RULE)]
    least = min((one.size for one in rules), default=0.0)
    return [one for one in rules if one.size <= _NEAR * max(least, _GRID)]


def _lossless(name: str) -> bool:
    try:
        return rule(name).lossless
    except UsageError:
        return True


def _against(claims: str) -> str:
    return f", against the declared law of {claims}" if claims else ""


def _open(found: SteeredEvidence, budget: Budget) -> str:
    left = budget.epsilon - found.map - found.generators
    why = "no number of coupled calls can certify it"
    if found.broken_calls:
        why = f"its map foretells all but {found.broken_calls:,} of {counted(found.calls, 'call')}"
    elif left > 0:
        needed = math.ceil(-math.log(found.delta) / left)
        why = f"{counted(needed, 'coupled call')} {are(needed)} needed"
    return f"{statement(found)}, epsilon = {budget.epsilon:g}: {why}"
