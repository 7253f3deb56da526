"""How results are worded everywhere: signs, numbers, and the order of cases."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import NamedTuple

from audit.evidence import REST, Evidence
from audit.exact.catalogue import HEADLINES
from audit.expectation import as_expected, not_as_expected
from audit.plural import counted
from audit.record import Audit, CaseResult, Record
from audit.tree import Tree
from audit.verdict import Outcome

NOT_TESTED = ("state", "performance")
NO_EVIDENCE = (
    "Acceptance is no evidence that a sampler is correct: a wrong one may accept as much, or more "
    "than any lossless rule can. It is a figure of one round after one fixed prefix, not of a "
    "model, a task or speed."
)


class Sign(NamedTuple):
    """A sign that is told from the others without colour, and the tone it is coloured in."""

    sign: str
    tone: str


SIGNS = {
    Outcome.ERROR: Sign("!", "bad"),
    Outcome.FAIL: Sign("✗", "bad"),
    Outcome.DEPENDENT: Sign("≈", "bad"),
    Outcome.WITHIN: Sign("~", "within"),
    Outcome.INCONCLUSIVE: Sign("?", "open"),
    Outcome.NOT_TESTABLE: Sign("–", "open"),
    Outcome.NO_VERDICT: Sign("–", "open"),
    Outcome.PASS: Sign("✓", "good"),
}
_ORDER = list(Outcome)
LARGE_VOCABULARY = 1000
LAW_COLUMN = (
    "law: the total variation is at most this by the law that is read off the code; the other "
    "columns are of sampled rounds."
)


def run_tone(record: Record) -> str:
    """Returns the tone of a whole run: a known defect counts as open, where it is gone as bad."""
    if as_expected(record):
        return "open"
    return "bad" if not_as_expected(record) else SIGNS[record.verdict.outcome].tone


def acceptance(record: Record) -> str:
    """Returns that the bias of a run was accepted beforehand, "" where it was not."""
    within = record.settings.accept_within
    biased = [case for case in record.cases if case.verdict.outcome is Outcome.WITHIN]
    if record.verdict.outcome is not Outcome.WITHIN or within is None:
        return ""
    accepted = all(case.accepted(within) for case in biased)
    return f"A bias of TV <= {within:g} was accepted beforehand (--accept-within)." * accepted


def shows_laws(cases: Iterable[CaseResult]) -> bool:
    """Returns whether a table has a column for the law that is read off the code: one was read."""
    return any(case.law_bound is not None for case in cases)


def drafts_of(num_speculative_tokens: int, tree: Tree | None) -> str:
    """Returns what is drafted in a round.

    >>> drafts_of(2, None), drafts_of(1, Tree((-1, -1), "independent"))
    ('2 speculative tokens', 'a tree of 2 nodes, depth 1, independent siblings')
    """
    if tree is None:
        return counted(num_speculative_tokens, "speculative token")
    nodes = counted(tree.nodes, "node")
    return f"a tree of {nodes}, depth {tree.depth}, {tree.drafting} siblings"


def worst_first(cases: Iterable[CaseResult]) -> list[CaseResult]:
    """Returns the cases by outcome, worst first, else in the order of the run."""
    return sorted(cases, key=lambda case: _ORDER.index(case.verdict.outcome))


def not_excluded_sentence(audit: Audit) -> str:
    """Returns what a passed run does not exclude and which cases say nothing of the fallback.

    "" where the run did not pass.
    """
    faults = audit.not_excluded
    if faults is None or audit.verdict.outcome is not Outcome.PASS:
        return ""
    within = "its bounds" if shows_laws(audit.cases) else "epsilon"
    sentence = (
        f"Catalogued faults that this run does not exclude, since they stay within {within} on "
        f"every case that passed: {', '.join(sorted(faults)) or 'none'}."
    )
    if all(case.vocab_size >= LARGE_VOCABULARY for case in audit.cases):
        sentence += " With a large vocabulary only the faults that the gate bets on are compared."
    return f"{sentence} {_blind_sentence(audit.cases)}".strip()


def _blind_sentence(cases: Iterable[CaseResult]) -> str:
    """Returns which cases cannot show a fallback to the whole target, "" where all can."""
    blind = [case.id for case in cases if case.evidence and says_nothing_of_fallback(case.evidence)]
    if not blind:
        return ""
    return f"A fallback to the whole target row would not show on {', '.join(blind)}."


def says_nothing_of_fallback(evidence: Evidence) -> bool:
    """Whether a PASS does not even exclude a fallback to the whole target."""
    return not HEADLINES.isdisjoint(evidence.blind)


def cell(token: int, *, bins: bool = False) -> str:
    """Returns what a token that is shown stands for.

    >>> cell(3), cell(3, bins=True), cell(REST)
    ('token 3', 'ratio bin 3', 'all other tokens')
    """
    if token == REST:
        return "all other tokens"
    return f"{'ratio bin' if bins else 'token'} {token}"


def first_token(evidence: Evidence) -> str:
    """Returns the first token that deviates most from the target, "" where none stands out."""
    shown, n = evidence.deviation, evidence.trials
    rows = zip(shown.tokens, shown.expected, shown.observed, shown.low, shown.high, strict=True)

    def named(token: int) -> str:
        return f"first {'token in ' * shown.bins}{cell(token, bins=shown.bins)}"

    outside = [
        (abs(seen / n - law), f"{named(token)}: {seen / n:.1%} instead of {law:.1%}")
        for token, law, seen, low, high in rows
        if not low <= law <= high
    ]
    return max(outside)[1] if outside else ""


def trials(audit: Audit) -> int:
    """Returns the rounds counted over all cases."""
    return sum(case.evidence.trials for case in audit.cases if case.evidence)


def settings_line(record: Record) -> str:
    """Returns one line that says under which settings the run stands."""
    s = record.settings
    trials_a_case = f"{counted(s.samples or s.cap, 'trial')} a case"
    amount = trials_a_case if s.samples else f"up to {trials_a_case}"
    laws = f"{'laws' if shows_laws(record.cases) else 'no law'} read off the code"
    amount = {"steered": laws, "both": f"{laws}, {amount}"}.get(s.method, amount)
    return (
        f"tier {s.tier}, {amount}, epsilon {s.epsilon:g}, alpha {s.alpha:g}, delta {s.delta:g}, "
        f"seed {s.seed}, {s.dtype} on {s.device}"
    )


def fixed(value: float | None) -> str:
    """Returns a total variation to four places, the smallest ones in powers of ten.

    >>> fixed(0.06), fixed(0.0), fixed(3e-7), fixed(None)
    ('0.0600', '0', '3.0e-07', '–')
    """
    if value is None:
        return "–"
    if value == 0:
        return "0"
    return f"{value:.4f}" if abs(value) >= 5e-4 else f"{value:.1e}"


def p_value(value: float) -> str:
    """Returns a p-value with two digits.

    >>> p_value(0.4321), p_value(2e-9), p_value(0.0)
    ('0.43', '2.0e-09', '<1e-300')
    """
    if value == 0:
        return "<1e-300"
    return f"{value:.2f}" if value >= 0.01 else f"{value:.1e}"


def e_value(log_e: float) -> str:
    """Returns exp(log_e) with two digits, also where it is beyond any float.

    >>> e_value(0.0), e_value(13.816), e_value(-2000.0)
    ('1.0', '1.0e+06', '2.6e-869')
    """
    power = log_e / math.log(10)
    exponent = math.floor(power)
    mantissa = round(10 ** (power - exponent), 1)
    if mantissa >= 10:
        mantissa, exponent = 1.0, exponent + 1
    if -2 <= exponent < 3:
        return f"{mantissa * 10**exponent:.2g}" if exponent else f"{mantissa:.1f}"
    return f"{mantissa:.1f}e{exponent:+03d}"
