"""A record as Markdown for a step summary, a pull request or a bug report; always below 60 kB.

Names and sentences from outside stay text whatever they hold: a plain name stands in backquotes,
and elsewhere what Markdown or HTML would read as markup stands as a character reference.
"""

from __future__ import annotations

import re

from audit.evidence import Evidence
from audit.plural import counted
from audit.record import Audit, Record
from audit.render import history, words
from audit.render.findings import Judged, explained, not_passed, repeat_of, worst_first
from audit.render.numbers import Numbers, numbers
from audit.render.plain import clean
from audit.render.steered import steered_lines
from audit.verdict import SCOPE, Verdict

MOST_ROWS = 40
MOST_SENTENCES = 8
NAME_LIMIT, SENTENCE_LIMIT, COMMAND_LIMIT = 60, 300, 1_500  # a character takes up to 6 bytes
_HEADINGS = ("case", "n", "intended and measured", "TV (null mean)", "bound", "p", "e-value")
_LAW = "bound by the law of the code"
_PLAIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9_./:@-]*")
_ESCAPES = {ord(sign): f"&#{ord(sign)};" for sign in "\\`*_[]<>#|~&$@"}


def markdown(record: Record) -> str:
    """Returns the Markdown of a record: verdict, table, what did not pass, how to run it again."""
    parts = [
        f"### {_headline(record)}",
        _text(words.acceptance(record)),
        _text(clean(record.expectation, SENTENCE_LIMIT)),
        f"Control {_headline(record.control)}" if record.control else "",
        _text(clean(words.settings_line(record), SENTENCE_LIMIT)),
        _table(record),
        _sentences(record),
        _text("\n\n".join(steered_lines(record.cases))),
        _since(record),
        _repeat(record),
        _limits(record),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _headline(audit: Audit) -> str:
    sentence = _text(clean(audit.verdict.sentence, SENTENCE_LIMIT))
    return f"{_word(audit.verdict)}  {_name(audit.sampler.name)}: {sentence}"


def _table(record: Record) -> str:
    rows, laws = worst_first(record), words.shows_laws(record.cases)
    headings = [*_HEADINGS, *([_LAW] if laws else [])]
    lines = [
        f"| {' | '.join(headings)} | verdict |",
        "|---|" + "---:|" * (len(headings) - 1) + "---|",
        *(f"| {' | '.join(_row(one, laws=laws))} |" for one in rows[:MOST_ROWS]),
    ]
    more = len(rows) - MOST_ROWS
    return "\n".join(lines) + (f"\n\nand {counted(more, 'more row')}." if more > 0 else "")


def _row(one: Judged, *, laws: bool) -> list[str]:
    evidence = one.case.evidence if one.case else None
    law = [words.fixed(one.case.law_bound if one.case else None)] if laws else []
    known = " (expected)" * (one.kind == "expected")
    return [_name(one.name), *_cells(evidence), *law, _word(one.verdict) + known]


def _cells(evidence: Evidence | None) -> list[str]:
    if evidence is None:
        return ["–"] * (len(_HEADINGS) - 1)
    found = numbers(evidence)
    return [
        f"{found.trials:,}",
        _shares(found),
        f"{words.fixed(found.tv)} ({words.fixed(found.tv_null_mean)})",
        words.fixed(found.tv_bound),
        _text(words.p_value(found.p_value)),
        words.e_value(evidence.gate.log_e),
    ]


def _shares(found: Numbers) -> str:
    """Returns the two shares of the first token, or ratio bin, that is farthest from its law."""
    bins = found.ratio_bin is not None
    place = found.ratio_bin if bins else found.token
    if place is None:
        return "–"
    shares = f"{words.fixed(found.intended)}, {words.fixed(found.measured)}"
    return f"{words.cell(place, bins=bins)}: {shares}"


def _sentences(record: Record) -> str:
    found = not_passed(record)
    lines = [
        f"- {_name(one.name)}: {_text(clean(explained(one), SENTENCE_LIMIT))}"
        for one in found[:MOST_SENTENCES]
    ]
    more = len(found) - len(lines)
    return "\n".join(lines + [f"- and {more} more."] * (more > 0))


def _since(record: Record) -> str:
    """Returns what has changed since an earlier record, "" where there is none."""
    heading, *lines = history.since_lines(record) or [""]
    changes = (f"- {_text(clean(line.strip(), SENTENCE_LIMIT))}" for line in lines)
    return "\n".join([_text(heading), "", *changes]).strip()


def _repeat(record: Record) -> str:
    """Returns the commands for the worst case alone and for the whole run, as code."""
    worst = [repeat_of(one, record) for one in not_passed(record)[:1]]
    commands = [clean(command, COMMAND_LIMIT) for command in (*worst, record.command) if command]
    lines = list(dict.fromkeys(commands))
    fence = "`" * max(3, 1 + max(map(len, re.findall("`+", "\n".join(lines))), default=0))
    heading = f"Audit again{', the worst case alone and the run' * (len(lines) > 1)}:"
    return "\n".join([heading, "", f"{fence}sh", *lines, fence]) if lines else ""


def _limits(record: Record) -> str:
    excluded = _text(clean(words.not_excluded_sentence(record), 2 * SENTENCE_LIMIT))
    tested = f"Not tested: {', '.join(words.NOT_TESTED)}."
    return "\n\n".join(part for part in (SCOPE, excluded, tested) if part)


def _word(verdict: Verdict) -> str:
    return f"{words.SIGNS[verdict.outcome].sign} {verdict.word}"


def _name(text: str) -> str:
    """Returns a name as code.

    >>> _name("basis-1"), _name("a|b`")
    ('`basis-1`', '<code>a&#124;b&#96;</code>')
    """
    text = clean(text, NAME_LIMIT)
    return f"`{text}`" if _PLAIN.fullmatch(text) else f"<code>{_text(text)}</code>"


def _text(text: str) -> str:
    """Returns text that stays text, and makes no link.

    >>> _text("*https://example.org*")
    '&#42;https&#58;//example.org&#42;'
    """
    escaped = text.translate(_ESCAPES)
    return escaped.replace("://", "&#58;//").replace("www.", "www&#46;")
