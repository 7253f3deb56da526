"""One case as the page shows it: laws as fractions, figures where they are needed."""

from __future__ import annotations

from dataclasses import replace

import browser_records
import pytest
import sample_record as sample

from audit.evidence import REST
from audit.render.case_view import as_fraction, case_views, head_table, law_table
from audit.verdict import Outcome


def test_laws_stand_beside_the_observed_share() -> None:
    found = sample.evidence(sample.FULL_TARGET, log_e=10.0)
    table = law_table(found.deviation, found.trials)
    assert table.heading == "Token id"
    assert table.columns == ("target", "draft", "full-target-fallback", "observed")
    # the article's case: p = .2 .5 .3, q = .5 .3 .2, and 13/50 after a fallback to the whole target
    assert table.rows[0] == ("0", ["1/5", "1/2", "13/50", "0.2600"])


def test_the_law_that_a_sampler_declares_is_not_called_the_target() -> None:
    audit = sample.audit("s", sample.good(), claims="lenience")
    (view,) = case_views(sample.record(audit, control=None))
    assert view.tables[0].columns[0] == "declared"


def test_bins_are_called_bins_and_old_records_have_no_draft() -> None:
    shown = sample.evidence(sample.FULL_TARGET, log_e=10.0).deviation
    table = law_table(replace(shown, bins=True, draft=(), predictions={}), sample.TRIALS)
    assert (table.heading, table.columns) == ("Ratio bin", ("target", "observed"))


def test_the_head_of_a_large_vocabulary_is_shown_in_rounds() -> None:
    head = replace(
        sample.evidence(sample.FULL_TARGET, log_e=10.0).deviation, tokens=(70_000, 4, REST)
    )
    table = head_table(head, sample.TRIALS)
    assert table.columns == ("expected", "observed", "limits")
    assert table.rows[0] == ("70000", ["4,000.0", "5,200", "5,000.0 to 5,400.0"])
    assert table.rows[2][0] == "rest"
    assert "the 2 likeliest ids" in table.caption


def test_a_large_vocabulary_has_its_bins_and_its_head() -> None:
    case = browser_records.large().cases[0]
    (view,) = case_views(sample.record(sample.audit("s", case)))
    assert [table.heading for table in view.tables] == ["Ratio bin", "Token id"]
    assert [plot.axis for plot in view.plots] == ["ratio bin", "token id"]


@pytest.mark.parametrize(
    ("value", "said"),
    [(0.0, "0"), (1.0, "1"), (1 / 3, "1/3"), (0.0303, "0.0303"), (1e-5, "1.0e-05")],
)
def test_only_what_is_a_small_fraction_is_written_as_one(value: float, said: str) -> None:
    assert as_fraction(value) == said


def test_a_plot_is_made_of_what_failed_or_stands_out() -> None:
    nothing = sample.case_result("broken", Outcome.ERROR, None)
    near, far = (
        sample.case_result(name, Outcome.INCONCLUSIVE, sample.evidence(law, log_e=1.0))
        for name, law in (("near", sample.NEAR_TARGET), ("far", sample.FULL_TARGET))
    )
    audit = sample.audit("s", sample.good("fine"), sample.bad("wrong"), near, far, nothing)
    views = {view.anchor: view for view in case_views(sample.record(audit))}
    assert views["fine"].plots == ()
    assert (len(views["wrong"].plots), len(views["far"].plots)) == (1, 1)
    assert views["near"].plots == ()
    assert len(views["fine"].tables) == 1
    assert views["fine"].gauge is not None
    assert views["broken"].gauge is None
    assert (views["broken"].tables, views["broken"].glyph, views["broken"].trace) == ((), None, "")
    assert list(views) == ["broken", "wrong", "near", "far", "fine"]
    assert [name for name, view in views.items() if view.opened] == ["broken", "wrong", "far"]


def test_only_the_three_worst_stand_open_with_a_plot() -> None:
    audit = sample.audit("s", *(sample.bad(f"wrong-{n}") for n in range(5)))
    views = case_views(sample.record(audit))
    assert [view.opened for view in views] == [True, True, True, False, False]
    assert [len(view.plots) for view in views] == [1, 1, 1, 0, 0]
