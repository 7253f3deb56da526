"""Where the marks of the figures stand."""

from __future__ import annotations

import pytest
import sample_record as sample

from audit.render.figures import GLYPH_WIDTH, deviation_plot, interval_glyph

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
    assert first.says.startswith("token 0: +0.06000, interval +0.05000 to +0.07000")


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
