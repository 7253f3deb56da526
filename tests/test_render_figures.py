"""Where the marks of the figures stand."""

from __future__ import annotations

from dataclasses import replace

import pytest
import sample_record as sample

from audit.evidence import REST
from audit.render.figures import (
    GAUGE_WIDTH,
    GLYPH_WIDTH,
    TRACE_HEIGHT,
    TRACE_WIDTH,
    deviation_plot,
    evidence_trace,
    gauge,
    interval_glyph,
)

W = GAUGE_WIDTH
BIASED = sample.evidence(sample.FULL_TARGET, log_e=10.0)


def test_a_fault_that_explains_the_data_has_its_crosses_on_the_dots() -> None:
    plot = deviation_plot(BIASED.deviation, BIASED.trials)
    assert plot.predictions == ("full-target-fallback",)
    assert [mark.predicted[0] for mark in plot.marks] == [mark.y for mark in plot.marks]


def test_more_than_the_target_stands_above_the_zero_line() -> None:
    # .26 - .2 > 0 > .45 - .5: algorithms page, full target as fallback on the article's case
    first, second, _ = deviation_plot(BIASED.deviation, BIASED.trials).marks
    zero = deviation_plot(BIASED.deviation, BIASED.trials).zero
    assert first.y < zero < second.y
    assert first.says.startswith(
        "token 0: +0.06000 (+0.05000 to +0.07000); full-target-fallback +0.06000"
    )


def test_marks_stay_inside_the_plot() -> None:
    plot = deviation_plot(BIASED.deviation, BIASED.trials)
    heights = [y for mark in plot.marks for y in (mark.low, mark.high, *mark.predicted)]
    assert all(0 <= y <= plot.height for y in heights)
    assert all(0 < mark.x < plot.width for mark in plot.marks)


@pytest.mark.parametrize(("epsilon", "beyond"), [(0.05, False), (0.02, True)])
def test_an_interval_beyond_the_axis_says_so(epsilon: float, beyond: bool) -> None:
    glyph = interval_glyph(BIASED, epsilon)
    assert glyph.beyond is beyond
    assert 0 <= glyph.low <= glyph.estimate <= glyph.high <= GLYPH_WIDTH
    assert glyph.epsilon == GLYPH_WIDTH / 3


def test_the_evidence_runs_from_the_middle_to_the_bar_and_no_farther() -> None:
    # log e-values 18.1, 90.5, 181 against a bar of 14.5: beyond it at once
    steps = evidence_trace(sample.evidence(sample.FULL_TARGET, log_e=181.0)).split()
    places = [(float(x), float(y)) for x, y in zip(steps[::2], steps[1::2], strict=True)]
    assert places == [(0, 9), (6, 2), (TRACE_WIDTH, 2)]  # level from 6 to the end
    falling = evidence_trace(sample.evidence(sample.TARGET, log_e=-99.0)).split()
    assert falling[-1] == f"{TRACE_HEIGHT - 3:.0f}"


def test_an_old_record_has_no_trace() -> None:
    assert evidence_trace(replace(BIASED, path=())) == ""


def test_what_is_accepted_stands_on_an_axis_up_to_all_drafted_tokens() -> None:
    # observed .7 (.69 to .71), expected .7, best .72, of one drafted token
    found = gauge(BIASED.acceptance.tokens)
    assert [found.low, found.observed, found.high] == [0.69 * W, 0.7 * W, 0.71 * W]
    assert (found.most, found.expected, found.best) == (1, 0.7 * W, 0.72 * W)


def test_without_a_known_rule_nothing_is_expected_and_an_old_record_has_no_gauge() -> None:
    unknown = gauge(replace(BIASED.acceptance.tokens, expected=None, rounds=(1, 1, 1)))
    assert (unknown.most, unknown.expected, unknown.observed) == (2, None, 0.35 * W)
    assert gauge(None) is None


def test_long_ids_take_turns_on_two_lines() -> None:
    shown = replace(BIASED.deviation, tokens=(70_000, 128_255, REST))
    plot = deviation_plot(shown, BIASED.trials)
    assert plot.lines == 2
    assert [mark.token for mark in plot.marks] == ["70000", "128255", "rest"]
    assert plot.marks[2].says.startswith("all other tokens: ")
    assert deviation_plot(BIASED.deviation, BIASED.trials).lines == 1


def test_bins_are_called_so() -> None:
    shown = BIASED.deviation
    assert deviation_plot(shown, BIASED.trials).axis == "token id"
    plot = deviation_plot(replace(shown, bins=True), BIASED.trials)
    assert plot.axis == "ratio bin"
    assert plot.marks[1].says.startswith("ratio bin 1: ")
