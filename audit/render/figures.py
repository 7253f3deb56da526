"""Where the marks of the figures of a page stand; the template only draws them.

Coordinates are SVG user units, y downwards, rounded so that equal records give equal bytes.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from audit.evidence import REST, AcceptedTokens, Deviation, Evidence
from audit.render.words import cell

GLYPH_WIDTH = 132.0
EPSILONS_SHOWN = 3.0
TRACE_WIDTH, TRACE_HEIGHT, TRACE_TOP = 64.0, 18.0, 3.0
LEFT, RIGHT, TOP, HEIGHT = 62.0, 12.0, 12.0, 150.0
NARROWEST, WIDEST, SPAN = 26.0, 90.0, 480.0
LONGEST = 3  # signs of a label that has its place at the narrowest
MOST_PREDICTIONS = 3
GAUGE_WIDTH = 200.0


class Glyph(NamedTuple):
    """The interval of a total variation against epsilon; beyond: it leaves the axis."""

    low: float
    estimate: float
    high: float
    epsilon: float
    beyond: bool


class Gauge(NamedTuple):
    """What a round accepts, of at most `most` tokens.

    low, observed, high: an interval and its estimate. expected: None where no rule is known.
    """

    most: int
    low: float
    observed: float
    high: float
    best: float
    expected: float | None


class Mark(NamedTuple):
    """One token: where its dot, its interval and each prediction's cross stand."""

    token: str
    x: float
    y: float
    low: float
    high: float
    predicted: tuple[float, ...]
    says: str


class Tick(NamedTuple):
    """A labelled height of the vertical axis."""

    y: float
    label: str


class Plot(NamedTuple):
    """Observed share minus target probability, by first token or, of a large vocabulary, bin.

    lines: on how many lines the labels of the marks take turns, since long ones are wider than
    their marks are apart.
    """

    axis: str
    lines: int
    width: float
    height: float
    zero: float
    marks: tuple[Mark, ...]
    ticks: tuple[Tick, ...]
    predictions: tuple[str, ...]


def interval_glyph(evidence: Evidence, epsilon: float) -> Glyph:
    """Returns lower bound, estimate and certified bound on an axis from 0 to three epsilons."""
    bounds = evidence.views[0].total_variation
    high = bounds.upper if evidence.certified is None else evidence.certified
    most = EPSILONS_SHOWN * epsilon

    def x(value: float) -> float:
        return round(GLYPH_WIDTH * min(value / most, 1.0), 1)

    return Glyph(x(bounds.lower), x(bounds.estimate), x(high), x(epsilon), high > most)


def gauge(tokens: AcceptedTokens | None) -> Gauge | None:
    """Returns the gauge of the tokens that a round accepts, None for an old record."""
    if tokens is None or len(tokens.rounds) < 2:
        return None
    most = len(tokens.rounds) - 1

    def x(value: float) -> float:
        return round(GAUGE_WIDTH * min(value / most, 1.0), 1)

    expected = None if tokens.expected is None else x(tokens.expected)
    low, observed, high = map(x, (tokens.low, tokens.observed, tokens.high))
    return Gauge(most, low, observed, high, x(tokens.best), expected)


def evidence_trace(evidence: Evidence) -> str:
    """Returns the e-value's path as SVG points, by trials; "" where the record has none.

    The height at which a FAIL begins is TRACE_TOP; the bottom lies as far below an e-value of 1 as
    that lies above it, and what is beyond either runs along it.
    """
    path, bar = evidence.path, evidence.gate.log_threshold
    if not path or bar <= 0:
        return ""
    half = TRACE_HEIGHT / 2 - TRACE_TOP

    def point(trials: int, log_e: float) -> str:
        y = TRACE_HEIGHT / 2 - half * min(max(log_e / bar, -1.0), 1.2)
        return f"{TRACE_WIDTH * trials / path[-1][0]:.0f} {y:.0f}"

    return " ".join(_corners([point(0, 0.0), *(point(*place) for place in path)]))


def _corners(points: list[str]) -> list[str]:
    """Returns the points "x y" without those inside a level stretch, which no one sees.

    >>> _corners(["0 9", "1 9", "5 9", "6 2"])
    ['0 9', '5 9', '6 2']
    """
    levels = [point.split()[1] for point in points]
    inner = range(1, len(points) - 1)
    level = {n for n in inner if levels[n - 1] == levels[n] == levels[n + 1]}
    return [point for n, point in enumerate(points) if n not in level]


def deviation_plot(deviation: Deviation, trials: int) -> Plot:
    """Returns the plot of the tokens shown, with the predictions of at most three faults."""
    names = tuple(deviation.predictions)[:MOST_PREDICTIONS]
    columns = [_column(deviation, index, trials, names) for index in range(len(deviation.tokens))]
    reach = _round_up(max((abs(value) for column in columns for value in column), default=0.0))
    slot = min(max(SPAN / max(len(columns), 1), NARROWEST), WIDEST)

    def y(value: float) -> float:
        return round(TOP + HEIGHT * (1 - value / reach) / 2, 1)

    marks = []
    for place, (token, column) in enumerate(zip(deviation.tokens, columns, strict=True)):
        dot, low, high, *predicted = map(y, column)
        x = round(LEFT + slot * (place + 0.5), 1)
        says = _says(cell(token, bins=deviation.bins), column, names)
        label = "rest" if token == REST else str(token)
        marks.append(Mark(label, x, dot, low, high, tuple(predicted), says))
    ticks = (Tick(y(part * reach), f"{part * reach:+.3g}") for part in (1, 0.5, -0.5, -1))
    width = round(LEFT + slot * len(columns) + RIGHT, 1)
    axis = "ratio bin" if deviation.bins else "token id"
    lines = 2 if any(len(mark.token) > LONGEST for mark in marks) else 1
    return Plot(axis, lines, width, TOP + HEIGHT, y(0.0), tuple(marks), tuple(ticks), names)


def _column(
    deviation: Deviation, index: int, trials: int, names: tuple[str, ...]
) -> tuple[float, ...]:
    """Returns share, its low and high limit, and each prediction, minus the target's value."""
    shares = (
        deviation.observed[index] / trials,
        deviation.low[index],
        deviation.high[index],
        *(deviation.predictions[name][index] for name in names),
    )
    return tuple(share - deviation.expected[index] for share in shares)


def _says(what: str, column: tuple[float, ...], names: tuple[str, ...]) -> str:
    share, low, high, *predicted = column
    faults = "".join(f"; {name} {value:+.5f}" for name, value in zip(names, predicted, strict=True))
    return f"{what}: {share:+.5f} ({low:+.5f} to {high:+.5f}){faults}"


def _round_up(value: float) -> float:
    """Returns the next of 1, 2, 5 times a power of ten; 1 for 0.

    >>> _round_up(0.031), _round_up(0.2), _round_up(0.0)
    (0.05, 0.2, 1.0)
    """
    if value <= 0:
        return 1.0
    power = 10.0 ** math.floor(math.log10(value))
    return next(step * power for step in (1, 2, 5, 10) if value <= step * power * (1 + 1e-12))
