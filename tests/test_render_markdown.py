"""Markdown: the golden file, its size, and names that try to become markup.

markdown-it-py reads it back, a CommonMark parser that rich brings along.
"""

from __future__ import annotations

import re
from dataclasses import replace

import golden_reports
import pytest
import sample_record as sample
from markdown_it import MarkdownIt

from audit.render import words
from audit.render.markdown import MOST_ROWS, markdown
from audit.verdict import SCOPE, Outcome, Verdict

ALLOWED = {
    "h3", "p", "table", "thead", "tbody", "tr", "th", "td", "ul", "li", "pre", "code",
}  # fmt: skip
LIMIT = 60_000


def rendered(text: str) -> str:
    """Returns the HTML of the Markdown, raw HTML let through as on a code host."""
    return str(MarkdownIt("commonmark").enable("table").render(text))


def rows(html: str) -> list[list[str]]:
    """Returns the cells of each row of the table."""
    return [re.findall(r"<td[^>]*>(.*?)</td>", row) for row in html.split("<tr>")[2:]]


def test_the_golden_file() -> None:
    text = markdown(golden_reports.every_outcome())
    assert golden_reports.golden("summary.md", text) == text


def test_the_table_has_the_numbers_one_pastes() -> None:
    row = rows(rendered(markdown(golden_reports.every_outcome())))[1]
    assert row == [
        "<code>article-three-tokens</code>", "20,000", "token 0: 0.2000, 0.2600",
        "0.0600 (0.0038)", "0.0752", "6.1e-100", "4.0e+78", "✗ FAIL",
    ]  # fmt: skip


def test_verdict_repeat_line_scope_and_limits_are_there() -> None:
    text = markdown(sample.record())
    assert text.startswith("### ✓ PASS  `transformers`: transformers was judged on 2 cases.\n")
    assert "\n```sh\ndraftproof run transformers --control full-target-fallback\n```\n" in text
    assert SCOPE in text
    assert words.not_excluded_sentence(sample.record()) in text
    assert "Not tested: state, performance." in text


@pytest.mark.parametrize("name", golden_reports.HOSTILE_NAMES)
def test_a_hostile_name_is_text(name: str) -> None:
    record = golden_reports.hostile()
    case = sample.bad(name).model_copy(update={"repeat": f"x {name}"})
    audit = sample.audit(name, case)
    for text in (markdown(record), markdown(sample.record(audit, command=f"draftproof {name}"))):
        html = rendered(text)
        tags = set(re.findall(r"</?([a-z0-9]+)", html))
        assert tags <= ALLOWED
        assert not any(sign in text for sign in "\x1b\u202e\x00\x0b\ufffe")
        assert {len(row) for row in rows(html)} == {8}


def test_a_command_cannot_leave_its_code_block() -> None:
    text = markdown(sample.record(command="draftproof run '`````' # <b>"))
    html = rendered(text)
    assert html.count("<pre>") == 1
    assert "'`````' # &lt;b&gt;\n</code></pre>" in html


@pytest.mark.parametrize("sign", ["<", "|", "\U0001f600", "x"])
def test_it_stays_below_60_kilobytes(sign: str) -> None:
    long = sign * 10_000
    verdict = Verdict(Outcome.FAIL, long, (long,), suspects=(long,))
    case = sample.bad().model_copy(update={"id": long, "verdict": verdict, "repeat": long})
    settings = sample.record().settings.model_copy(update={"device": long})
    audit = sample.audit(long, *[case] * 1_000).model_copy(update={"verdict": verdict})
    text = markdown(sample.record(audit, command=f"draftproof {long}", settings=settings))
    assert len(text.encode()) < LIMIT
    assert f"and {1_000 - MOST_ROWS} more rows." in text


def test_what_is_not_excluded_is_cut_too() -> None:
    blind = tuple("<" * 100 for _ in range(1_000))
    found = replace(sample.evidence(sample.NEAR_TARGET, log_e=0.0), blind=blind)
    record = sample.record(sample.audit("s", sample.case_result("a", Outcome.PASS, found)))
    assert len(markdown(record).encode()) < 10_000
