"""One case as the page shows it: words, tables and the marks of its figures."""

from __future__ import annotations

import hashlib
import re
from fractions import Fraction
from typing import NamedTuple

from audit.evidence import REST, Deviation, Evidence
from audit.plural import on_average
from audit.record import CaseResult, Record
from audit.render import facts, figures, suspicion, words
from audit.verdict import Outcome, Verdict

MOST_COUNTS, MOST_OPENED = 8, 3
_DENOMINATORS, _ROUNDING = 100, 1e-7


class FirstTokens(NamedTuple):
    """The first token's laws beside what was observed. rows: the token, then a cell a column."""

    caption: str
    heading: str
    columns: tuple[str, ...]
    rows: list[tuple[str, list[str]]]


class CaseView(NamedTuple):
    """One case as the template needs it; None, "" and () where nothing was counted.

    opened: whether it stands open at first and is plotted, as the worst are that stand out; the
    tables of the others say the same.
    """

    result: CaseResult
    anchor: str
    control: Verdict | None
    departures: list[str]
    facts: facts.Facts
    counts: list[tuple[str, int]]
    tables: tuple[FirstTokens, ...] = ()
    glyph: figures.Glyph | None = None
    trace: str = ""
    gauge: figures.Gauge | None = None
    plots: tuple[figures.Plot, ...] = ()
    opened: bool = False


def case_views(record: Record) -> list[CaseView]:
    """Returns the views of a record's cases, the worst first."""
    control = {case.id: case.verdict for case in record.control.cases} if record.control else {}
    worst = words.worst_first(record.cases)
    opened = [case.id for case in worst if _stands_out(case)][:MOST_OPENED]
    views = (_view(case, control.get(case.id), record) for case in worst)
    return [_opened(view) if view.result.id in opened else view for view in views]


def _opened(view: CaseView) -> CaseView:
    found = view.result.evidence
    return view._replace(plots=_plots(found) if found else (), opened=True)


def _view(case: CaseResult, control: Verdict | None, record: Record) -> CaseView:
    found = case.evidence
    departures = suspicion.of_case(record.diagnoses, case.id)
    said = case.verdict.sentence
    told = facts.case_facts(case, names=not record.visibility, beside=said)
    view = CaseView(case, case_anchor(case.id), control, departures, told, [])
    if found is None:
        return view
    return view._replace(
        counts=_most_frequent(case.counts),
        tables=_tables(found, "declared" if record.sampler.facts.get("claims") else "target"),
        glyph=figures.interval_glyph(found, record.settings.epsilon),
        trace=figures.evidence_trace(found),
        gauge=figures.gauge(found.acceptance.tokens),
    )


def _stands_out(case: CaseResult) -> bool:
    """Whether a case failed, or did not pass and shows a token off the target's law."""
    if case.verdict.outcome is Outcome.PASS:
        return False
    failed = words.SIGNS[case.verdict.outcome].tone == "bad"
    return failed or (case.evidence is not None and bool(words.first_token(case.evidence)))


def case_anchor(case_id: str) -> str:
    """Returns the id of a case's element: the case's own where that is plain, else a hash.

    Every other id of the page begins with an underscore.

    >>> case_anchor("article-three-tokens"), case_anchor('a b"<')
    ('article-three-tokens', 'case-0ed27349')
    """
    if re.fullmatch(r"[A-Za-z][A-Za-z0-9_-]{0,80}", case_id):
        return case_id
    return f"case-{hashlib.sha256(case_id.encode()).hexdigest()[:8]}"


def _tables(found: Evidence, judged: str) -> tuple[FirstTokens, ...]:
    laws = law_table(found.deviation, found.trials, judged)
    return (laws,) if found.head is None else (laws, head_table(found.head, found.trials))


def _plots(found: Evidence) -> tuple[figures.Plot, ...]:
    shown = (found.deviation, found.head)
    return tuple(figures.deviation_plot(one, found.trials) for one in shown if one)


def law_table(shown: Deviation, trials: int, judged: str = "target") -> FirstTokens:
    """Returns the laws of the first token, exact, and the observed shares.

    The law that it should follow (`judged`: the name of its column), the draft's, the suspects'.
    """
    laws = {judged: shown.expected, "draft": shown.draft, **shown.predictions}
    known = {name: law for name, law in laws.items() if law}
    rows = [
        (
            str(token),
            [*(as_fraction(law[place]) for law in known.values()), f"{seen / trials:.4f}"],
        )
        for place, (token, seen) in enumerate(zip(shown.tokens, shown.observed, strict=True))
    ]
    heading = "Ratio bin" if shown.bins else "Token id"
    caption = "First token: exact laws and the observed share"
    return FirstTokens(caption, heading, (*known, "observed"), rows)


def head_table(shown: Deviation, trials: int) -> FirstTokens:
    """Returns the rounds of the likeliest tokens and of all others, observed and expected.

    The limits are those of the expected rounds; all of them hold together with 99.9 %.
    """
    columns = zip(shown.tokens, shown.expected, shown.observed, shown.low, shown.high, strict=True)
    rows = [
        (
            "rest" if token == REST else str(token),
            [on_average(trials * law), f"{seen:,}", f"{trials * low:,.1f} to {trials * high:,.1f}"],
        )
        for token, law, seen, low, high in columns
    ]
    caption = (
        f"First token: rounds with the {len(rows) - 1} likeliest ids and with all others; "
        "the limits of the mean hold together with 99.9 %. Shown, and no part of a test"
    )
    return FirstTokens(caption, "Token id", ("expected", "observed", "limits"), rows)


def as_fraction(value: float) -> str:
    """Returns the fraction with a small denominator that was rounded to it, else four places.

    >>> as_fraction(0.2), as_fraction(0.30000000745058053), as_fraction(0.7182818)
    ('1/5', '3/10', '0.7183')
    """
    exact = Fraction(value).limit_denominator(_DENOMINATORS)
    return str(exact) if abs(float(exact) - value) <= _ROUNDING else words.fixed(value)


def _most_frequent(counts: dict[str, int]) -> list[tuple[str, int]]:
    """Returns the most frequent blocks, and the others as one line."""
    rest = counts.get("rest", 0)
    blocks = sorted(
        ((block, n) for block, n in counts.items() if block != "rest"), key=lambda item: -item[1]
    )
    rest += sum(n for _, n in blocks[MOST_COUNTS:])
    return blocks[:MOST_COUNTS] + ([("rest", rest)] if rest else [])
