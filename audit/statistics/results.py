"""What enters and leaves a test: laws are checked on the way in, results on the way out.

A result is a frozen dataclass whose numbers are all finite, so that a NaN stops where it arises
and never reaches a verdict, a record or a page.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields

import numpy as np
import numpy.typing as npt

from audit.errors import DraftproofError

Array = npt.NDArray[np.float64]
Labels = npt.NDArray[np.int64]
_SUM_TOLERANCE = 1e-9


@dataclass(frozen=True)
class Result:
    """Base of every result: its constructor refuses NaN and infinity in any field.

    Raises:
        DraftproofError: if a field holds a number that is not finite.
    """

    def __post_init__(self) -> None:
        for item in fields(self):
            value = getattr(self, item.name)
            if not _is_finite(value):
                raise DraftproofError(
                    f"{type(self).__name__}.{item.name} is {value!r} although every number of a "
                    "result must be finite; this is a defect of draftproof, please report it"
                )


def _is_finite(value: object) -> bool:
    if isinstance(value, Mapping):
        return all(map(_is_finite, value.values()))
    if isinstance(value, tuple | list):
        return all(map(_is_finite, value))
    if isinstance(value, float | np.floating | np.ndarray):
        return bool(np.isfinite(value).all())
    return True


def checked_law(probabilities: npt.ArrayLike) -> Array:
    """Returns the probabilities as float64 [cells], divided by their sum.

    Raises:
        DraftproofError: if one is negative or NaN, or if their sum is not 1 within 1e-9.
    """
    law = np.asarray(probabilities, dtype=np.float64)
    total = float(law.sum())
    if law.ndim != 1 or not (law >= 0).all() or not abs(total - 1) <= _SUM_TOLERANCE:
        raise DraftproofError(
            f"a law of shape {law.shape} with sum {total!r} was handed to a test, which takes one "
            "dimension, no negative or NaN entry, and a sum of 1 within 1e-9"
        )
    return law / total
