"""A record as one self-contained page: no request, no inline style, readable without script.

Bytes depend on the record alone. Every text that the template prints is cut and made harmless by
`plain.clean`, then escaped. The policy in the page allows its one style sheet and its one script,
by their hashes, and nothing else.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections import Counter
from typing import NamedTuple

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

from audit.record import EMBEDDED_CLOSE, EMBEDDED_OPEN, CaseResult, Record, to_json
from audit.render import facts, figures, history, suspicion, words
from audit.render.plain import clean, clean_lines
from audit.resources import reports_dir
from audit.verdict import SCOPE, TRUST, Verdict

TEMPLATE, STYLE, SCRIPT = "report.html.j2", "report.css", "report.js"
MOST_COUNTS = 20
TEXT_LIMIT = 1_000


class CaseView(NamedTuple):
    """One case as the template needs it; glyph and plot are None where nothing was counted."""

    result: CaseResult
    anchor: str
    control: Verdict | None
    departures: list[str]
    facts: facts.Facts
    counts: list[tuple[str, int]]
    glyph: figures.Glyph | None
    plot: figures.Plot | None


def page(record: Record) -> str:
    """Returns the page of a record."""
    style, script = (_asset(name) for name in (STYLE, SCRIPT))
    text = _environment().get_template(TEMPLATE).render(
        record=record,
        cases=_case_views(record),
        diagnoses=record.diagnoses,
        tones=Counter(words.SIGNS[case.verdict.outcome].tone for case in record.cases),
        trials=words.trials(record),
        settings=words.settings_line(record),
        since_heading=history.since_heading(record),
        since=history.since_facts(record.since) if record.since else [],
        attempts=history.attempt_facts(record),
        not_excluded=words.not_excluded_sentence(record),
        scope=SCOPE,
        no_evidence=words.NO_EVIDENCE,
        trust=TRUST,
        glyph_width=figures.GLYPH_WIDTH,
        policy=_policy(style, script),
        style=style,
        script=script,
        embedded=_embedded(record),
    )  # fmt: skip
    return text.lstrip()


def case_anchor(case_id: str) -> str:
    """Returns the id of a case's element: the case's own where that is plain, else a hash.

    >>> case_anchor("article-three-tokens"), case_anchor('a b"<')
    ('article-three-tokens', 'case-0ed27349')
    """
    if re.fullmatch(r"[A-Za-z][A-Za-z0-9_-]{0,80}", case_id) and case_id != "record":
        return case_id
    return f"case-{hashlib.sha256(case_id.encode()).hexdigest()[:8]}"


def _case_views(record: Record) -> list[CaseView]:
    control = {case.id: case.verdict for case in record.control.cases} if record.control else {}
    return [
        CaseView(
            result=case,
            anchor=case_anchor(case.id),
            control=control.get(case.id),
            departures=suspicion.of_case(record.diagnoses, case.id),
            facts=facts.case_facts(case),
            counts=_most_frequent(case.counts),
            glyph=figures.interval_glyph(case.evidence, record.settings.epsilon),
            plot=figures.deviation_plot(case.evidence.deviation, case.evidence.trials),
        )
        if case.evidence
        else CaseView(case, case_anchor(case.id), None, [], facts.case_facts(case), [], None, None)
        for case in words.worst_first(record.cases)
    ]


def _most_frequent(counts: dict[str, int]) -> list[tuple[str, int]]:
    """Returns the 20 most frequent blocks, and the others as one line."""
    rest = counts.get("rest", 0)
    blocks = sorted(
        ((block, n) for block, n in counts.items() if block != "rest"), key=lambda item: -item[1]
    )
    rest += sum(n for _, n in blocks[MOST_COUNTS:])
    return blocks[:MOST_COUNTS] + ([("rest", rest)] if rest else [])


def _environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(reports_dir()),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_harmless,
    )
    environment.filters.update(
        cut=clean,
        lines=lambda text: Markup(escape(clean_lines(text))),
        fixed=words.fixed,
        e_value=words.e_value,
        p_value=words.p_value,
        anchor=case_anchor,
        conclusion=suspicion.conclusion,
        steps=suspicion.steps,
        what=suspicion.what,
        worst=suspicion.worst,
        sign=lambda verdict: words.SIGNS[verdict.outcome].sign,
        tone=lambda verdict: words.SIGNS[verdict.outcome].tone,
    )
    return environment


def _harmless(value: object) -> object:
    """Returns what a template expression prints: plain text cleaned, coordinates kept short."""
    if isinstance(value, float):
        return f"{value:g}"
    return clean(value, TEXT_LIMIT) if type(value) is str else value


def _asset(name: str) -> Markup:
    return Markup((reports_dir() / name).read_text(encoding="utf-8"))


def _policy(style: str, script: str) -> Markup:
    return Markup(
        f"default-src 'none'; style-src {_source(style)}; script-src {_source(script)}; "
        "base-uri 'none'; form-action 'none'"
    )


def _source(text: str) -> str:
    digest = hashlib.sha256(text.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"


def _embedded(record: Record) -> Markup:
    """Returns the record as a data block; ASCII JSON with < escaped cannot end the element."""
    text = to_json(record, indent=None).replace("<", "\\u003c")
    return Markup(f"{EMBEDDED_OPEN}{text}{EMBEDDED_CLOSE}")
