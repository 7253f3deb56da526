"""The null hypothesis: the exact law of the tensors that are really handed over.

A row is rounded to the working dtype as a sampler will see it; the rational number behind every
rounded value is then renormalised exactly. Rounding is thus never mistaken for bias.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

import torch

from audit.case import Case, Prefix, Rows
from audit.errors import CaseError
from audit.row import Row


@dataclass(frozen=True, eq=False)
class Null:
    """`case` holds the rounded, renormalised rows of `original`; excess is their largest |sum - 1|.

    Where a rounded row does not sum to 1, a sampler may read it as it stands or renormalise it;
    the two readings differ by at most `excess`, which belongs to the numerical tolerance.
    """

    original: Case
    case: Case
    excess: float


def handed_over(case: Case, dtype: torch.dtype) -> Null:
    """Returns the null of `case` when its rows are handed over in `dtype`."""
    rounding = _Rounding(dtype)
    gamma = case.num_speculative_tokens
    target = _rounded(case, case.target, longest=gamma, rounding=rounding)
    draft = _rounded(case, case.draft, longest=gamma - 1, rounding=rounding)
    return Null(case, replace(case, target=target, draft=draft), float(rounding.excess))


class _Rounding:
    """Rounds rows to a dtype and remembers the largest distance of a row's sum from 1."""

    def __init__(self, dtype: torch.dtype) -> None:
        self.dtype = dtype
        self.excess = Fraction(0)

    def __call__(self, row: Row) -> Row:
        rounded = torch.from_numpy(row.floats()).to(self.dtype).to(torch.float64)
        ratios = [value.as_integer_ratio() for value in rounded.tolist()]
        scale = max(denominator for _, denominator in ratios)
        weights = [numerator * (scale // denominator) for numerator, denominator in ratios]
        self.excess = max(self.excess, abs(Fraction(sum(weights), scale) - 1))
        return Row.normalised(weights)


def row_or_none(rows: Rows, prefix: Prefix) -> Row | None:
    """Returns the row, or None for a prefix that nothing can reach and that has no row."""
    try:
        return rows[prefix]
    except CaseError:
        return None


def _rounded(case: Case, rows: Rows, *, longest: int, rounding: _Rounding) -> Rows:
    if rows.context_free:
        return Rows({(): rounding(rows[()])}, extend="repeat")
    prefixes = (prefix for length in range(longest + 1) for prefix in case.prefixes(length))
    known = ((prefix, row_or_none(rows, prefix)) for prefix in prefixes)
    return Rows({p: rounding(row) for p, row in known if row is not None}, extend="none")


def rounding_distance(null: Null) -> float:
    """Returns the largest TV between a target row of the case and the row handed over for it."""
    gamma = null.case.num_speculative_tokens
    lengths = range(1 if null.case.target.context_free else gamma + 1)
    prefixes = (prefix for length in lengths for prefix in null.case.prefixes(length))
    return max(
        _row_distance(null.original.target[prefix], handed)
        for prefix in prefixes
        if (handed := row_or_none(null.case.target, prefix)) is not None
    )


def _row_distance(a: Row, b: Row) -> float:
    return float(sum(abs(x - y) for x, y in zip(a, b, strict=True)) / 2)
