"""What is of sampled rounds and what of the law read off the code are told apart in every table."""

from __future__ import annotations

import io

import pandas as pd
import pytest
import sample_record as sample

from audit.record import CaseResult, Record
from audit.render import words
from audit.render.html import page
from audit.render.markdown import markdown
from audit.render.table import table
from audit.render.text import audit_text
from audit.steered import NotSteered, Steered, SteeredEvidence
from audit.verdict import Outcome

LAW = SteeredEvidence(
    map=1e-3,
    generators=0.0,
    rows=7_000,
    mismatches=0,
    calls=7_000,
    broken_calls=0,
    delta=1e-3,
    tolerance=3e-6,
    mode="Single",
    search_calls=200,
    search_rows=200,
    edges=(),
    readings=(),
)
BOUND = words.fixed(LAW.bound)
U = "0.0196"  # of the sampled rounds of sample.good()


def beside(case: CaseResult, steered: Steered) -> CaseResult:
    """Returns the case with what reading its law gave."""
    return case.model_copy(update={"steered": steered})


BOTH = sample.record(
    sample.audit(
        "s",
        beside(sample.good("both"), LAW),
        beside(sample.good("sampled"), NotSteered("it hides its numbers", 1, 1)),
        beside(sample.case_result("read", Outcome.PASS, None), LAW),
    ),
    control=None,
)


def in_text(record: Record, width: int) -> dict[str, list[str]]:
    """Returns the words of the rows of the table by case, and those of its headings."""
    lines = [line.split() for line in audit_text(record, color=False, width=width).splitlines()]
    wanted = ("case", "both", "sampled", "read")
    return {line[0]: line[1:] for line in reversed(lines) if line and line[0] in wanted}


def test_the_text_has_a_column_each_and_says_which_is_which() -> None:
    rows = in_text(BOTH, 110)
    assert rows["case"] == ["verdict", "law", "trials", "TV", "(null)", "U", "e-value", "p"]
    assert (rows["both"][2], rows["both"][6]) == (BOUND, U)
    assert (rows["sampled"][2], rows["sampled"][6]) == ("–", U)
    assert rows["read"][2:] == [BOUND, *["–"] * 6]
    assert words.LAW_COLUMN in " ".join(audit_text(BOTH, color=False, width=110).split())


def test_a_narrow_text_has_both_bounds() -> None:
    rows = in_text(BOTH, 60)
    assert rows["case"] == ["verdict", "law", "U"]
    assert rows["both"][2:] == [BOUND, U]


def test_without_laws_there_is_no_such_column() -> None:
    plain = sample.record(control=None)
    assert "law:" not in audit_text(plain, color=False, width=110)
    assert "law of the code" not in markdown(plain)
    assert "<small>by " not in page(plain)


def test_markdown_has_a_column_each() -> None:
    row = next(line for line in markdown(BOTH).splitlines() if line.startswith("| `both` "))
    assert [cell for cell in row.split(" | ") if cell in (U, BOUND)] == [U, BOUND]


def test_the_page_says_by_what_a_case_is_certified() -> None:
    text = page(BOTH)
    assert f"<td>{BOUND}<br><small>by law</small><td>20,000" in text
    assert f"<td>{U}<br><small>by rounds</small><td>20,000" in text
    assert f"<td>read off the code<td><td>{BOUND}<br><small>by law</small>" in text


def test_the_csv_has_a_column_each() -> None:
    frame = pd.read_csv(io.StringIO(table(BOTH))).set_index("case")
    assert frame.loc["both", "law_bound"] == pytest.approx(LAW.bound, rel=1e-5)
    assert frame.loc["both", "tv_bound"] == pytest.approx(0.0195743)
    assert pd.isna(frame.loc["sampled", "law_bound"])
    assert pd.isna(frame.loc["read", "tv_bound"])
