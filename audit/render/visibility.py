"""The matrix fault x case of a page: what a PASS of each case excludes, and where it is blind."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from audit.record import Record

SEEN, SMALL, BLIND, NOT_COMPARED = "●", "·", "-", ""
_NOTHING = 1e-12  # a total variation that arithmetic alone leaves


class Row(NamedTuple):
    """The cells of faults that no case tells apart in this respect."""

    faults: list[str]
    cells: tuple[str, ...]
    seen: int


def visibility_rows(record: Record) -> list[Row]:
    """Returns what the cases see of each fault, the least visible first; old records have none."""
    epsilon, found = record.settings.epsilon, dict[tuple[str, ...], list[str]]()
    for one in record.visibility:
        cells = tuple(_cell(distance, epsilon) for distance in one.distances)
        found.setdefault(cells, []).append(one.fault)
    rows = [Row(sorted(faults), cells, cells.count(SEEN)) for cells, faults in found.items()]
    return sorted(rows, key=lambda row: (row.seen, row.faults))


def blind_cases(record: Record) -> Sequence[str]:
    """Returns the cases that see no fault at all above epsilon."""
    epsilon = record.settings.epsilon
    columns = zip(*(one.distances for one in record.visibility), strict=True)
    return [
        case.id
        for case, column in zip(record.cases, columns, strict=False)
        if all(distance is None or distance <= epsilon for distance in column)
    ]


def _cell(distance: float | None, epsilon: float) -> str:
    if distance is None:
        return NOT_COMPARED
    if distance <= _NOTHING:
        return BLIND
    return SEEN if distance > epsilon else SMALL
