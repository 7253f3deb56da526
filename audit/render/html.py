"""A record as one self-contained page: no request, no inline style, readable without script.

Bytes depend on the record alone. Every text that the template prints is cut and made harmless by
`plain.clean`, then escaped. The policy in the page allows its one style sheet and its one script,
by their hashes, and nothing else.
"""

from __future__ import annotations

import base64
import hashlib
from collections import Counter

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

from audit.plural import are, counted, on_average
from audit.record import Record
from audit.recordfile import embedded
from audit.render import figures, history, suspicion, words
from audit.render.case_view import case_anchor, case_views
from audit.render.plain import clean, clean_lines
from audit.render.rounds import rounds_of
from audit.render.steered import steered_lines
from audit.render.visibility import blind_cases, visibility_rows
from audit.resources import reports_dir
from audit.verdict import SCOPE, TRUST, Outcome

TEMPLATE, STYLE, SCRIPT = "report.html.j2", "report.css", "report.js"
TEXT_LIMIT = 1_000
LARGEST = 2_000_000  # bytes
MOST_CASES = (250, 60, 15)  # tried in this order


def page(record: Record) -> str:
    """Returns the page of a record, at most LARGEST bytes long.

    Of a record that is too large for that, the page shows and carries less, and says so.
    """
    texts = (_page(record, most) for most in MOST_CASES)
    fitting = (text for text in texts if len(text.encode()) <= LARGEST)
    return next(fitting, None) or _page(record, MOST_CASES[-1], carries=False)


def _page(record: Record, most: int, *, carries: bool = True) -> str:
    """Returns the page with the evidence of the `most` worst cases, and with the record or not."""
    style, script = (asset(name) for name in (STYLE, SCRIPT))
    text = (
        environment()
        .get_template(TEMPLATE)
        .render(
            **_about_the_run(record),
            **_about_the_cases(record, most),
            left_out=_left_out(record, most, carries=carries),
            glyph_width=figures.GLYPH_WIDTH,
            gauge_width=figures.GAUGE_WIDTH,
            trace_width=figures.TRACE_WIDTH,
            trace_top=figures.TRACE_TOP,
            policy=policy_of(style, script),
            style=style,
            script=script,
            embedded=Markup(embedded(record)) if carries else "",
        )
    )
    return text.lstrip()


def _about_the_run(record: Record) -> dict[str, object]:
    return {
        "record": record,
        "diagnoses": record.diagnoses,
        "steered": steered_lines(record.cases),
        "laws": words.shows_laws(record.cases),
        "traceback": _traceback(record),
        "tone": words.run_tone(record),
        "acceptance": words.acceptance(record),
        "tones": Counter(words.SIGNS[case.verdict.outcome].tone for case in record.cases),
        "trials": words.trials(record),
        "settings": words.settings_line(record),
        "since_heading": history.since_heading(record),
        "since": history.since_facts(record.since) if record.since else [],
        "attempts": history.attempt_facts(record),
        "not_excluded": words.not_excluded_sentence(record),
        "scope": SCOPE,
        "no_evidence": words.NO_EVIDENCE,
        "trust": TRUST,
    }


def _traceback(record: Record) -> str | None:
    """Returns the traceback of an error that no case shows; None where there is no error."""
    if record.verdict.outcome is not Outcome.ERROR:
        return None
    shown = {case.detail for case in record.cases}
    return "\n".join(reason for reason in record.verdict.reasons if reason not in shown)


def _about_the_cases(record: Record, most: int) -> dict[str, object]:
    cases = case_views(record)[:most]
    everything = len(cases) == len(record.cases)
    return {
        "cases": cases,
        "rounds": rounds_of(case.result for case in cases),
        "visibility": visibility_rows(record) if everything else [],
        "columns": [case.id for case in record.cases],
        "blind": blind_cases(record),
    }


def _left_out(record: Record, most: int, *, carries: bool) -> str:
    more = len(record.cases) - most
    said = f"{counted(more, 'more case')} {are(more)} not shown, nor what each case can see. "
    cases = said if more > 0 else ""
    record_too = "" if carries else "The record is too large for a page; --json has it."
    return f"{cases}{record_too}".strip()


def environment() -> Environment:
    """Returns what renders the templates of pages, all that they print made harmless."""
    made = Environment(
        loader=FileSystemLoader(reports_dir()),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_harmless,
    )
    made.filters.update(
        cut=clean,
        counted=counted,
        on_average=on_average,
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
    return made


def _harmless(value: object) -> object:
    """Returns what a template expression prints: plain text cleaned, coordinates kept short."""
    if isinstance(value, float):
        return f"{value:g}"
    return clean(value, TEXT_LIMIT) if type(value) is str else value


def asset(name: str) -> Markup:
    """Returns the text of a file without what stands there for its readers alone."""
    lines = map(str.strip, (reports_dir() / name).read_text(encoding="utf-8").splitlines())
    return Markup("\n".join(line for line in lines if not line.startswith(("//", "/*"))))


def policy_of(style: str, script: str) -> Markup:
    """Returns the policy of a page that has this one style sheet and this one script."""
    return Markup(
        f"default-src 'none'; style-src {_source(style)}; script-src {_source(script)}; "
        "base-uri 'none'; form-action 'none'"
    )


def _source(text: str) -> str:
    digest = hashlib.sha256(text.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"
