"""What was read off the code, in words: bound, readings, edges, agreement with sampled rounds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from audit.judgement.steered import RULE, disagreement, nearest_rules, statement
from audit.plural import counted
from audit.record import CaseResult
from audit.render.plain import clean
from audit.render.words import fixed, p_value
from audit.steered import CodeEdge, NotSteered, Steered, SteeredEvidence

MODES = {
    "Batched": "many rows a call",
    "Looped": "many rows a call, drawn for row after row",
    "Single": "one row a call",
}
MOST_EDGES = 4
MOST_READINGS = 4
MOST_REASONS = 2
_TEXT = 300


def steered_lines(cases: Iterable[CaseResult]) -> list[str]:
    """Returns what all cases together show, a sentence each: the worst bound, what has no law.

    () where no law was asked for.
    """
    found = [(case.id, case.steered) for case in cases if case.steered is not None]
    known = [(name, one) for name, one in found if isinstance(one, SteeredEvidence)]
    lines = []
    if known:
        name, worst = max(known, key=lambda item: item[1].bound)
        of_which = f", the worst of {len(known)} cases: {clean(name)}" if len(known) > 1 else ""
        lines.append(f"Read off the code: {statement(worst)}{of_which}.")
    reasons = Counter(one.reason for _, one in found if isinstance(one, NotSteered))
    for reason, times in reasons.most_common(MOST_REASONS):
        cases_of = f"{times} of {counted(len(found), 'case')}"
        lines.append(f"Not read off the code in {cases_of}: {clean(reason, _TEXT)}.")
    compared = [one for _, one in known if one.agreement is not None]
    if compared:
        wrong = sum(bool(disagreement(one)) for one in compared)
        agree = f"contradict it in {wrong} of {len(compared)}" if wrong else "agree with it in all"
        lines.append(f"Sampled rounds {agree} cases in which both were seen.")
    return lines


def steered_facts(found: Steered, *, said: str = "") -> list[tuple[str, str]]:
    """Returns what steering shows of a case, as terms and values; not what is `said` already."""
    if isinstance(found, NotSteered):
        return [("Read off the code", f"nothing: {clean(found.reason, _TEXT)}")]
    bound = statement(found)
    facts = [
        *([] if bound in said else [("Read off the code", bound)]),
        ("Search", _calls(found)),
        *(("The code", clean(says, _TEXT)) for says in told(found)[:MOST_READINGS]),
        *_edges(found.edges),
    ]
    if found.to_declared is not None:
        facts.append(("Distance to the declared rule", fixed(found.to_declared)))
    return [*facts, *_agreement(found)]


def _edges(edges: Iterable[CodeEdge]) -> list[tuple[str, str]]:
    """Returns what the generator can give, and the first of what it never gives."""
    found = [one for one in edges if one.grade != "warning"][:MOST_EDGES]
    never = [one for one in edges if one.grade == "warning"]
    more = f"; {len(never) - 1} more of them" if len(never) > 1 else ""
    facts = [("Edge", clean(edge(one), _TEXT)) for one in found]
    return facts + [("Edge", clean(edge(one), _TEXT) + more) for one in never[:1]]


def _calls(found: SteeredEvidence) -> str:
    """Returns what the search took; the calls of the coupling stand in the bound."""
    return f"{found.search_calls:,} calls, {found.search_rows:,} rows, {MODES[found.mode]}"


def told(found: SteeredEvidence) -> list[str]:
    """Returns what the law tells of the code, the rules that have this law in one sentence."""
    rules = nearest_rules(found)
    says = [one.says for one in found.readings if not one.name.startswith(RULE)]
    if rules:
        names = " = ".join(one.name.removeprefix(RULE) for one in rules)
        says.append(f"has the law of {names}, up to {max(one.size for one in rules):.1e}")
    return says


def edge(one: CodeEdge) -> str:
    """Returns an edge in words.

    >>> edge(CodeEdge("impossible token", (0,), (2,), "torch.rand = 0", 6e-8, "note"))
    'note: impossible token [2] on draft [0], torch.rand = 0 (probability 6e-08)'
    """
    outcome = f" {list(one.outcome)}" if one.kind not in ("exception", "no token") else ""
    chance = f"probability {one.chance:.3g}" if one.chance else "the generator never gives it"
    return f"{one.grade}: {one.kind}{outcome} on draft {list(one.block)}, {one.number} ({chance})"


def _agreement(found: SteeredEvidence) -> list[tuple[str, str]]:
    seen = found.agreement
    if seen is None:
        return []
    agree = f"they agree, p {p_value(seen.p_value)}"
    return [("Sampled rounds", disagreement(found) or agree)]
