"""The figures of a record for papers, by matplotlib: three panels a case, as PNG, SVG and PDF.

Equal records give equal files with one version of matplotlib. The SVG draws under a policy that
forbids inline style: every property stands in an attribute of its own.
"""

from __future__ import annotations

import io
import math
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from audit.errors import UsageError
from audit.evidence import AcceptedTokens, Deviation, Evidence
from audit.files import write_atomically
from audit.plural import counted
from audit.record import CaseResult, Record
from audit.render.case_view import case_anchor
from audit.render.plain import clean
from audit.verdict import Outcome

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FORMATS = ("png", "svg", "pdf")
BLUE, RED, PURPLE, OCHRE, GREY = "#0b5cad", "#b42318", "#7a3e9d", "#8a5a00", "#57606a"
_SETTINGS = {
    "svg.hashsalt": "draftproof",
    "font.family": "STIXGeneral",  # comes with matplotlib, and is embedded faster than its default
    "font.size": 10.0,
    "pdf.fonttype": 42,
}
_ROOM = {"left": 0.06, "right": 0.985, "bottom": 0.25, "top": 0.83, "wspace": 0.16}
_STYLE = re.compile(r' style="([^"]*)"')
_SHEET = re.compile(r"\s*<style[^>]*>.*?</style>", re.DOTALL)


def write_figures(record: Record, folder: Path, *, passed: bool) -> Iterator[Path]:
    """Yields each file as it is written: cases that did not pass, with `passed` the others too.

    Each is drawn in every format, unless nothing was counted.

    Raises: UsageError where the folder cannot be made or written.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"{folder} cannot be made: {error.strerror}; name another.") from error
    wanted = [c for c in record.cases if passed or c.verdict.outcome is not Outcome.PASS]
    for case in wanted:
        for form, content in drawn(case, record).items():
            path = folder / f"{case_anchor(case.id)}.{form}"
            write_atomically(path, content)
            yield path


def drawn(case: CaseResult, record: Record) -> dict[str, bytes]:
    """Returns a case's figure in each format, {} where nothing was counted."""
    if case.evidence is None:
        return {}
    from matplotlib import rc_context

    with rc_context(_SETTINGS):
        figure = _figure(case, case.evidence, record)
        return {form: _saved(figure, form) for form in FORMATS}


def _saved(figure: Figure, form: str) -> bytes:
    """Returns the figure in a format; savefig would draw it twice, to find its layout."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.backends.backend_pdf import FigureCanvasPdf
    from matplotlib.backends.backend_svg import FigureCanvasSVG

    target = io.BytesIO()
    if form == "png":
        FigureCanvasAgg(figure).print_png(target)
    elif form == "pdf":
        FigureCanvasPdf(figure).print_pdf(target, metadata={"CreationDate": None})
    else:
        FigureCanvasSVG(figure).print_svg(target, metadata={"Date": None})
    content = target.getvalue()
    return without_style(content.decode()).encode() if form == "svg" else content


def without_style(svg: str) -> str:
    """Returns an SVG whose style attributes became attributes of their own.

    >>> without_style('<svg><path style="fill: none; stroke: #000"/></svg>')
    '<svg stroke-linejoin="round" stroke-linecap="butt"><path fill="none" stroke="#000"/></svg>'
    """
    plain = _STYLE.sub(lambda found: _attributes(found[1]), _SHEET.sub("", svg))
    return plain.replace("<svg", '<svg stroke-linejoin="round" stroke-linecap="butt"', 1)


def _attributes(style: str) -> str:
    pairs = (part.split(":", 1) for part in style.split(";") if part.strip())
    return "".join(f' {name.strip()}="{value.strip()}"' for name, value in pairs)


def _figure(case: CaseResult, found: Evidence, record: Record) -> Figure:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11, 3.4), dpi=200)
    laws, tokens, path = figure.subplots(1, 3, width_ratios=(2, 1, 1), gridspec_kw=_ROOM)
    name, sampler = (ascii(clean(text, 60))[1:-1] for text in (case.id, record.sampler.name))
    said = f"{sampler} on {name}: {case.verdict.word}, {counted(found.trials, 'round')}"
    figure.suptitle(said, parse_math=False)
    _deviation(laws, found.deviation, found.trials)
    _accepted(tokens, found.acceptance.tokens)
    _evidence(path, found)
    return figure


def _deviation(axes: Axes, shown: Deviation, trials: int) -> None:
    """Draws observed share minus target, its interval, and what each fault would show."""
    places = range(len(shown.tokens))
    share = [seen / trials for seen in shown.observed]
    axes.axhline(0, color=GREY, linewidth=0.8)
    axes.vlines(
        places,
        [low - law for low, law in zip(shown.low, shown.expected, strict=True)],
        [high - law for high, law in zip(shown.high, shown.expected, strict=True)],
        color=BLUE,
    )
    away = [one - law for one, law in zip(share, shown.expected, strict=True)]
    axes.plot(places, away, "o", color=BLUE, markersize=4, label="observed, 99.9 % together")
    for (fault, law), color in zip(shown.predictions.items(), (RED, PURPLE, OCHRE), strict=False):
        away = [one - target for one, target in zip(law, shown.expected, strict=True)]
        axes.plot(places, away, "x", color=color, label=fault)
    axes.set_xticks(places, map(str, shown.tokens))
    axes.set_xlabel("ratio bin" if shown.bins else "token id")
    axes.set_title("First token: share minus target")
    _legend(axes)


def _accepted(axes: Axes, tokens: AcceptedTokens | None) -> None:
    """Draws the law of accepted tokens, and its mean beside the best that is possible."""
    axes.set_title("Accepted tokens a round")
    if tokens is None:
        return
    n = sum(tokens.rounds)
    axes.bar(
        range(len(tokens.rounds)),
        [one / n for one in tokens.rounds],
        color=BLUE,
        alpha=0.6,
        label="seen",
    )
    if tokens.law:
        axes.plot(
            range(len(tokens.law)), tokens.law, "_", color="black", markersize=16, label="expected"
        )
    axes.axvline(tokens.best, color=GREY, linestyle=":", label="best mean")
    axes.axvspan(tokens.low, tokens.high, color=OCHRE, alpha=0.3, zorder=0, label="mean")
    axes.set_xticks(range(len(tokens.rounds)))
    _legend(axes)


def _legend(axes: Axes) -> None:
    """Puts the legend below, where it covers no mark."""
    axes.legend(fontsize=7, ncols=4, loc="upper center", bbox_to_anchor=(0.5, -0.21), frameon=False)


def _evidence(axes: Axes, found: Evidence) -> None:
    """Draws the e-value by trials, in powers of ten, and where a FAIL begins."""
    axes.set_title("E-value, power of ten")
    path = [(0, 0.0), *found.path]
    axes.plot([n for n, _ in path], [log / math.log(10) for _, log in path], color=BLUE)
    axes.axhline(found.gate.log_threshold / math.log(10), color=RED, linestyle="--", label="FAIL")
    axes.set_xlabel("trials")
    _legend(axes)
