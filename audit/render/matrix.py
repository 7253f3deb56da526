"""The matrix fault x case: for a terminal, for spreadsheets (decimals) and exactly (fractions).

Beyond one case the terminal shows one line a fault, since a hundred faults by two dozen cases fit
no screen: where it shows best, and how many cases are blind to it.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator
from dataclasses import fields

from rich.console import RenderableType
from rich.text import Text

from audit.exact.matrix import MEASURES, Cell, FaultMatrix, Measure
from audit.render.plain import clean
from audit.render.terminal import STYLES, plain_table, rendered
from audit.render.words import fixed

TITLES: dict[Measure, str] = {
    "completed": "Total variation of the completed law to the target",
    "block": "Total variation of the law of emitted blocks to that of the base rule",
    "impossible": "Probability per round of a (draft, emitted) pair impossible for the base rule",
}
BLIND = "blind"
UNDEFINED = (
    "* The fault draws from nothing in some rounds; what its code makes of that, an error or a "
    "token, is counted as an outcome of its own."
)
COLUMNS = tuple(item.name for item in fields(Cell))


def matrix_text(matrix: FaultMatrix, *, measure: Measure, color: bool, width: int) -> str:
    """Returns one line a fault, then one a case; of a single case all measures of each fault."""
    one = len(matrix.cases) == 1
    parts = _one_case(matrix) if one else [*_faults(matrix, measure), "", *_cases(matrix)]
    if any(cell.undefined for cell in matrix.cells):
        parts += ["", Text(UNDEFINED, style="dim")]
    return rendered(parts, color=color, width=width)


def _faults(matrix: FaultMatrix, measure: Measure) -> list[RenderableType]:
    numbers = ("there", "shown by")
    table = plain_table("fault", "shows best on", *numbers, numbers=numbers)
    for name in matrix.biased:
        cells, best = matrix.of_rule(name), matrix.best(name, measure)
        shown = sum(cell.measure(measure) > 0 for cell in cells)
        where = Text(clean(best.case, 60)) if shown else Text("no case", style=STYLES["open"])
        table.add_row(name, where, _value(best, measure), f"{shown} of {len(cells)}")
    return [Text(TITLES[measure], style="bold"), table]


def _cases(matrix: FaultMatrix) -> list[RenderableType]:
    table = plain_table("case", "shows", "is blind to", numbers=("shows", "is blind to"))
    for case in matrix.cases:
        cells = _biased(matrix, case)
        blind = sum(cell.blind for cell in cells)
        table.add_row(Text(clean(case, 60)), str(len(cells) - blind), str(blind))
    hint = "Name one case to see what it is blind to: draftproof faults matrix --cases CASE"
    return [Text("Biased faults by case", style="bold"), table, Text(hint, style="dim")]


def _one_case(matrix: FaultMatrix) -> list[RenderableType]:
    (case,) = matrix.cases
    table = plain_table("fault", *MEASURES, numbers=MEASURES)
    for cell in _biased(matrix, case):
        table.add_row(cell.rule, *(_value(cell, name) for name in MEASURES))
    meanings = [Text(f"{name}: {title[0].lower()}{title[1:]}") for name, title in TITLES.items()]
    return [Text(clean(case, 60), style="bold"), *meanings, "", table]


def _biased(matrix: FaultMatrix, case: str) -> list[Cell]:
    names = set(matrix.biased)
    return [cell for cell in matrix.of_case(case) if cell.rule in names]


def _value(cell: Cell, measure: Measure) -> Text:
    value = cell.measure(measure)
    if not value and measure == "completed":
        return Text(BLIND, style=STYLES["open"])
    return Text(fixed(float(value)) + ("*" if cell.undefined and measure != "impossible" else ""))


def matrix_csv(matrix: FaultMatrix, measure: Measure) -> str:
    """Returns entries as lines and cases as columns, decimals; empty where drafts do not suit."""
    import pandas

    lines = [(c.rule, c.case, float(c.measure(measure))) for c in matrix.cells]
    table = pandas.DataFrame(lines, columns=["fault", "case", measure])
    wide = table.pivot(index="fault", columns="case", values=measure)
    text: str = wide.reindex(index=matrix.rules, columns=matrix.cases).to_csv(lineterminator="\n")
    return text


def matrix_json(matrix: FaultMatrix) -> str:
    """Returns all cells with all measures as JSON, fractions as text."""
    cells = [dict(zip(COLUMNS, line, strict=True)) for line in _lines(matrix)]
    return json.dumps({"cells": cells}, indent=1) + "\n"


def exact_csv(matrix: FaultMatrix) -> str:
    """Returns all cells with all measures, a line each, in fractions."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    writer.writerows(_lines(matrix))
    return text.getvalue()


def _lines(matrix: FaultMatrix) -> Iterator[tuple[str, ...]]:
    return (tuple(str(getattr(cell, name)) for name in COLUMNS) for cell in matrix.cells)
