"""Attempts and changes in words, in every form that people read."""

from __future__ import annotations

import sample_record as sample

from audit.history import Attempt, Since
from audit.record import Record
from audit.render.history import attempt_facts, since_facts, since_heading, since_lines
from audit.render.html import page
from audit.render.markdown import markdown
from audit.render.text import audit_text, verdict_line

ATTEMPTS = (
    Attempt("2025-01-30T08:00:00Z", seed=3, tier="smoke", cap=20_000),
    Attempt("2025-01-31T12:00:00Z", seed=3, tier="ci", cap=200_000, exit_code=1),
)
CHANGED = Since(
    started="2025-01-01T00:00:00Z",
    sampler="transformers",
    newly_failing=("a", "b"),
    removed=("c",),
    code={"torch": ("2.4", "2.13"), "hashed": ("a" * 64, "b" * 64)},
)


def with_history(**history: object) -> Record:
    """Returns the sample record with this history."""
    return sample.record(**history)


def test_changes_are_listed_by_kind() -> None:
    assert since_facts(CHANGED) == [
        ("Newly failing", "a, b"),
        ("Cases left out", "c"),
        ("Code", "torch from 2.4 to 2.13, hashed"),
    ]
    assert since_facts(Since("2025", "x")) == [("Changes", "none")]


def test_another_sampler_is_named() -> None:
    assert since_heading(with_history()) == ""
    assert since_heading(with_history(since=CHANGED)) == "Since the record of 2025-01-01T00:00:00Z"
    other = Since("2025", "other")
    assert since_heading(with_history(since=other)).endswith("of 2025, which is of other")


def test_many_names_are_cut_and_hostile_ones_harmless() -> None:
    hostile = Since("2025", sample.HOSTILE, newly_failing=(sample.HOSTILE,) * 30)
    record = with_history(since=hostile)
    lines = "\n".join(since_lines(record))
    assert "and 10 more" in lines
    assert len(lines) < 2_000
    assert not any(sign in lines for sign in "\x1b\u202e\x00")
    assert "<script>alert" not in page(record)
    assert "<script>" not in markdown(record)


def test_every_attempt_is_told() -> None:
    assert attempt_facts(with_history(attempts=ATTEMPTS)) == [
        (
            "Attempt 1 of 2",
            "2025-01-30T08:00:00Z, tier smoke, up to 20,000 trials a case, seed 3: never finished",
        ),
        (
            "Attempt 2 of 2",
            "2025-01-31T12:00:00Z, tier ci, up to 200,000 trials a case, seed 3: exit code 1",
        ),
    ]


def test_history_and_expectation_stand_in_text_page_and_markdown() -> None:
    record = with_history(since=CHANGED, attempts=ATTEMPTS, expectation="expected to fail: it does")
    for text in (audit_text(record, color=False, width=110), page(record), markdown(record)):
        assert "Since the record of 2025-01-01T00" in text.replace("&#58;", ":")
        assert "Newly failing" in text
        assert "expected to fail: it does" in text
    for text in (audit_text(record, color=False, width=110), page(record)):
        assert "Attempt 1 of 2" in text
        assert "never finished" in text
    assert verdict_line(record).splitlines()[1] == "expected to fail: it does"


def test_a_record_without_history_says_nothing_of_it() -> None:
    for text in (audit_text(with_history(), color=False, width=110), page(with_history())):
        assert "Since the record" not in text
        assert "Attempt 1" not in text
