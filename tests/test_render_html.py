"""The page: its content, its policy, and names that try to leave their place."""

from __future__ import annotations

import base64
import hashlib
import re
import time
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest
import sample_record as sample

from audit.evidence import Deviation
from audit.exact.catalogue import RULES
from audit.record import CaseResult, Visibility
from audit.recordfile import read_record
from audit.render.case_view import case_anchor
from audit.render.html import LARGEST, page
from audit.render.junit import junit
from audit.render.markdown import markdown
from audit.render.sarif import sarif
from audit.render.text import audit_text, verdict_line
from audit.steered import Agreement, CodeEdge, CodeReading, SteeredEvidence
from audit.verdict import SCOPE, TRUST, Outcome, Verdict

HOSTILE_CASES = (
    sample.bad(sample.HOSTILE),
    sample.case_result('a" onload="x', Outcome.ERROR, None, detail=sample.HOSTILE),
    sample.good("</details><h1>"),
)
HOSTILE_PAGE = page(sample.record(sample.audit(sample.HOSTILE, *HOSTILE_CASES)))
PAGE = page(sample.record())


VOID = {"meta", "br"}
IMPLIED = {"caption", "thead", "tbody", "tr", "th", "td", "dt", "dd", "option"}  # need no end tag


class Outline(HTMLParser):
    """Collects tags, ids and attribute names, and checks that tags are closed in order.

    Inside a table or a list, an end tag may be left out where the next one implies it.
    """

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.ids: list[str] = []
        self.attributes: set[str] = set()
        self._open: list[str] = []
        self.feed(text)
        assert self._open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes.update(name for name, _ in attrs)
        self.ids += [value or "" for name, value in attrs if name == "id"]
        if tag not in VOID | IMPLIED:
            self._open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in VOID | IMPLIED:
            self._open.pop()

    def handle_endtag(self, tag: str) -> None:
        if tag not in IMPLIED:
            assert self._open.pop() == tag


@pytest.mark.parametrize("text", [PAGE, HOSTILE_PAGE])
def test_tags_are_closed_and_ids_unique(text: str) -> None:
    outline = Outline(text)
    assert len(outline.ids) == len(set(outline.ids))


def test_nothing_is_fetched_and_nothing_is_styled_inline() -> None:
    outline = Outline(HOSTILE_PAGE)
    assert not outline.attributes & {"src", "style", "srcset", "action", "onload", "onclick"}
    assert not {"link", "img", "iframe", "object", "form", "base"} & set(outline.tags)
    assert not re.search(r"https?://", HOSTILE_PAGE)


def test_the_policy_allows_the_one_style_and_the_one_script_by_hash() -> None:
    style = re.search(r"<style>(.*?)</style>", PAGE, re.DOTALL)
    script = re.search(r"<script>(.*?)</script>", PAGE, re.DOTALL)
    assert style is not None
    assert script is not None
    for text in (style[1], script[1]):
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert f"'sha256-{digest}'" in PAGE
    assert "default-src 'none'" in PAGE
    assert "unsafe" not in PAGE


def test_a_hostile_name_is_text_and_short() -> None:
    assert HOSTILE_PAGE.count("<script") == 2  # the record and the page's own
    assert "&lt;script&gt;alert(1)" in HOSTILE_PAGE
    shown, _, _ = HOSTILE_PAGE.partition('id="_record"')
    assert not any(sign in shown for sign in "\x1b\u202e\x00")
    assert "x" * 8_001 not in shown


def test_a_traceback_is_shown_once_and_line_by_line() -> None:
    case = sample.case_result("broken", Outcome.ERROR, None, detail="Traceback:\n  line 7")
    audit = sample.audit("s", case)
    for reason, shown in (("Traceback:\n  line 7", 1), ("Traceback:\n  line 8", 2)):
        verdict = Verdict(Outcome.ERROR, "it raised.", (reason,))
        text = page(sample.record(audit.model_copy(update={"verdict": verdict}), control=None))
        assert text.count("<pre") == shown
        assert f'<pre tabindex="0">{reason}</pre>' in text
        assert "<li>Traceback" not in text


def test_verdict_scope_and_limits_are_said() -> None:
    for sentence in (SCOPE, TRUST, "bonus-missing, lenience", "not tested"):
        assert sentence in PAGE
    assert "transformers was judged on 2 cases." in PAGE


def test_a_bias_within_bounds_is_counted_apart_and_only_where_there_is_one() -> None:
    case = sample.case_result("within", Outcome.WITHIN, sample.evidence(sample.TARGET, log_e=9.0))
    undecided = sample.case_result("u", Outcome.INCONCLUSIVE, None)
    text = page(sample.record(sample.audit("s", case, undecided)))
    assert "<dt>biased within bounds</dt><dd>1</dd>" in text
    assert "<dt>undecided</dt><dd>1</dd>" in text
    assert '<option value="within">biased within bounds<option value="open">' in text
    assert text.count('class="badge within"') == 2 + text.count('class="outcome"')
    assert "biased within bounds" not in PAGE


@pytest.mark.parametrize(("accepted", "says"), [(None, False), (0.001, False), (0.1, True)])
def test_a_bias_accepted_beforehand_is_said_to_be_accepted(
    accepted: float | None, says: bool
) -> None:
    case = sample.case_result("w", Outcome.WITHIN, sample.evidence(sample.TARGET, log_e=9.0))
    settings = sample.record().settings.model_copy(update={"accept_within": accepted})
    record = sample.record(sample.audit("s", case), settings=settings, control=None)
    sentence = "A bias of TV &lt;= 0.1 was accepted beforehand (--accept-within)."
    assert (sentence in page(record)) == says
    for text in (verdict_line(record), audit_text(record, color=False, width=200)):
        assert (sentence.replace("&lt;", "<") in text) == says


def test_a_failed_case_is_open_and_a_passed_one_closed() -> None:
    text = page(sample.record(sample.audit("s", sample.good("fine"), sample.bad("wrong"))))
    assert '<details id="wrong" open>' in text
    assert '<details id="fine">' in text
    assert text.index('id="wrong"') < text.index('id="fine"')


def test_the_control_and_what_it_predicts_are_there() -> None:
    assert "fault:full-target-fallback" in PAGE
    assert '<path class="fault1"' not in PAGE  # a passed case has its table of laws alone
    assert HOSTILE_PAGE.count('<path class="fault1"') == 1
    assert '<th scope="col">full-target-fallback<th' in PAGE


def test_a_law_that_was_read_off_is_certified_without_a_round() -> None:
    law = SteeredEvidence(
        map=0.0, generators=0.0, rows=10_000, mismatches=0, calls=1_000, broken_calls=0,
        delta=1e-3, tolerance=1e-6, mode="Batched", search_calls=9, search_rows=99, edges=(),
        readings=(),
    )  # fmt: skip
    case = sample.case_result("law", Outcome.PASS, None, steered=law)
    record = sample.record(sample.audit("s", case), control=None)
    steered = record.settings.model_copy(update={"method": "steered"})
    text = page(record.model_copy(update={"settings": steered}))
    # no mismatch in 1,000 calls: h = 1 - .001 ** (1 / 1000) = .0069
    assert "<td>read off the code<td><td>0.0069<br><small>by law</small><td>" in text
    assert "nothing was counted" not in text
    assert "has foretold fresh calls" in text
    assert "has foretold fresh calls" not in PAGE


def test_equal_records_give_equal_bytes() -> None:
    assert page(sample.record()) == PAGE


def test_many_blocks_are_cut_to_eight_and_the_rest() -> None:
    counts = {str(block): 100 - block for block in range(50)}
    case = sample.good().model_copy(update={"counts": counts})
    text = page(sample.record(sample.audit("s", case)))
    assert f'<th scope="row">rest<td>{sum(range(51, 93)):,}' in text


def real_looking(number: int) -> CaseResult:
    """Returns a passed case of about the size of real ones, its law read off beside."""
    found = sample.evidence(sample.NEAR_TARGET, log_e=-1.2345678901)
    digits = tuple(((7 * number + n) ** 0.5) % 1 for n in range(4))
    deviation = Deviation((0, 1, 2, 3), digits, (1, 2, 3, 4), digits[::-1], digits, {}, digits)
    never = CodeEdge("out of range", (0, 0), (0, 0, 3), "torch.rand = exactly 1", 0.0, "warning")
    law = SteeredEvidence(
        map=digits[0] * 1e-8, generators=0.0, rows=18_000 + number, mismatches=0, calls=500,
        broken_calls=0, delta=1e-5, tolerance=3e-6, mode="Batched", search_calls=163,
        search_rows=35_044 + number, edges=(never, never), to_declared=1.5e-8,
        readings=(
            CodeReading("ratio", "accepts with min(1, p / q), up to 4.7e-09", digits[1]),
            CodeReading("rule ratio", "has the law of ratio", digits[2]),
        ),
        agreement=Agreement(10_000, "block 0 0 0", 707, 800.0, 1.0, digits[3]),
    )  # fmt: skip
    counts = {f"{a} {b} {c}": 1_000 + a for a in range(3) for b in range(3) for c in range(3)}
    path = tuple((1_000 * step, -0.1234 * step) for step in range(1, 13))
    blind = tuple(RULES)[:30]
    case = sample.good(f"case-of-some-length-{number}")
    follows = replace(sample.conformity(), traces=())
    found = replace(found, path=path, blind=blind, deviation=deviation, conformity=follows)
    verdict = Verdict(Outcome.PASS, f"TV to the target <= {digits[0]:.4f} certified")
    changed = {"counts": counts, "evidence": found, "steered": law, "verdict": verdict}
    return case.model_copy(update=changed)


def seen_by(cases: int) -> tuple[Visibility, ...]:
    """Returns a matrix of all faults in which hardly two rows are alike."""
    return tuple(
        Visibility(fault=name, distances=tuple(0.0123 * (row * n % 17) for n in range(cases)))
        for row, name in enumerate(RULES)
    )


def test_twenty_cases_stay_under_150_kilobytes() -> None:
    audit = sample.audit("s", *map(real_looking, range(20)))
    text = page(sample.record(audit, visibility=seen_by(20)))
    assert len(text.encode()) < 150_000


def failed_looking(number: int) -> CaseResult:
    """Returns a failed case of about the size of real ones, sampled."""
    case = real_looking(number)
    assert case.evidence is not None
    assert case.evidence.deviation is not None
    digits = case.evidence.deviation.expected
    deviation = replace(case.evidence.deviation, predictions={"full-target-fallback": digits})
    found = replace(case.evidence, deviation=deviation)
    verdict = sample.bad().verdict
    return case.model_copy(update={"verdict": verdict, "evidence": found, "steered": None})


def test_twenty_failed_cases_with_a_control_stay_under_150_kilobytes() -> None:
    audit, control = (
        sample.audit("s", *(failed_looking(n) for n in numbers))
        for numbers in (range(20), range(20, 40))
    )
    text = page(sample.record(audit, control=control, visibility=seen_by(20)))
    assert text.count("<figure>") == text.count(" open>") == 3
    assert len(text.encode()) < 150_000


def test_four_reports_of_twenty_cases_take_less_than_three_seconds() -> None:
    audit = sample.audit("s", *map(real_looking, range(20)))
    record, start = sample.record(audit, visibility=seen_by(20)), time.process_time()
    for report in (page, junit, sarif, markdown):
        report(record)
    assert time.process_time() - start < 3


def test_no_page_is_larger_than_two_megabytes(tmp_path: Path) -> None:
    detail = "<&" * 4_000
    many = [sample.bad(f"case-{n}").model_copy(update={"detail": detail}) for n in range(70)]
    text = page(sample.record(sample.audit("s", *many), visibility=seen_by(70)))
    assert len(text.encode()) <= LARGEST
    assert re.search(r"\d+ more cases are not shown, nor what each case can see\.", text)
    (tmp_path / "report.html").write_text(text, encoding="utf-8")
    assert len(read_record(tmp_path / "report.html").cases) == 70


def test_a_record_that_no_page_can_carry_is_said_to_be_missing() -> None:
    digits = "".join(hashlib.sha256(str(n).encode()).hexdigest() for n in range(50_000))
    audit = sample.audit("s", sample.bad().model_copy(update={"detail": digits}))
    text = page(sample.record(audit, control=None))
    assert len(text.encode()) <= LARGEST
    assert "<p>The record is too large for a page; --json has it.</p>" in text
    assert 'id="_record"' not in text


def test_anchors_keep_plain_ids_and_hash_the_others() -> None:
    assert case_anchor("basis-1") == "basis-1"
    assert re.fullmatch(r"case-[0-9a-f]{8}", case_anchor('"><script>'))


def luminance(colour: str) -> float:
    """Returns the relative luminance of #rrggbb (WCAG 2.2)."""
    channels = [int(colour[start : start + 2], 16) / 255 for start in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return sum(w * c for w, c in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


@pytest.mark.parametrize("theme", [0, 1], ids=["light", "dark"])
def test_text_can_be_read_in_both_themes(theme: int) -> None:
    pairs = re.findall(r"--(\w+): light-dark\((#\w{6}), (#\w{6})\)", PAGE)
    colours = {name: luminance(pair[theme]) for name, *pair in pairs}
    for paper in ("page", "card"):
        for ink in colours.keys() - {"page", "card", "line"}:
            light, dark = sorted((colours[paper], colours[ink]), reverse=True)
            assert (light + 0.05) / (dark + 0.05) >= 4.5, (paper, ink)
