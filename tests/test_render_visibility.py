"""The matrix fault x case: what is seen, what is too small, what a case is blind to."""

from __future__ import annotations

import sample_record as sample

from audit.record import Record, Visibility
from audit.render.html import page
from audit.render.visibility import blind_cases, visibility_rows


def record_of(**faults: tuple[float | None, ...]) -> Record:
    """Returns a record of two cases, at epsilon .05, that see the faults so."""
    rows = tuple(Visibility(fault=name, distances=row) for name, row in faults.items())
    audit = sample.audit("s", sample.good("first"), sample.good("second"))
    return sample.record(audit, visibility=rows, control=None)


def test_cells_say_what_a_pass_excludes_and_the_least_visible_comes_first() -> None:
    rows = visibility_rows(record_of(seen=(0.06, 0.3), half=(0.06, 1e-15), small=(0.05, None)))
    assert [(row.faults, row.cells, row.seen) for row in rows] == [
        (["small"], ("·", ""), 0),
        (["half"], ("●", "-"), 1),
        (["seen"], ("●", "●"), 2),
    ]


def test_faults_that_no_case_tells_apart_share_a_row() -> None:
    (row,) = visibility_rows(record_of(b=(0.06, 0.3), a=(0.2, 0.1)))
    assert row.faults == ["a", "b"]


def test_cases_that_see_nothing_are_named() -> None:
    assert blind_cases(record_of(one=(0.06, 0.01), two=(0.0, None))) == ["second"]


def test_an_old_record_has_no_matrix() -> None:
    record = sample.record()
    assert visibility_rows(record) == []
    assert blind_cases(record) == []
    assert "What each case can see" not in page(record)


def test_hostile_names_of_faults_stay_text() -> None:
    text = page(record_of(**{sample.HOSTILE: (0.06, 0.0)}))
    assert text.count("<script") == 2
    assert "x" * 1_001 not in text
