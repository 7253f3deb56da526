"""What enters and leaves a test."""

from dataclasses import dataclass, field

import numpy as np
import pytest

from audit.errors import DraftproofError
from audit.statistics.results import Result, checked_law


@dataclass(frozen=True)
class Sample(Result):
    number: float = 1.0
    cells: np.ndarray = field(default_factory=lambda: np.ones(2))
    parts: tuple[float, ...] = ()
    name: str = "name"


@pytest.mark.parametrize(
    "broken",
    [
        {"number": float("nan")},
        {"number": np.float32("nan")},
        {"number": float("inf")},
        {"cells": np.array([1.0, np.nan])},
        {"parts": (1.0, float("nan"))},
    ],
)
def test_a_result_refuses_what_is_not_finite(broken: dict[str, object]) -> None:
    with pytest.raises(DraftproofError, match=f"Sample.{next(iter(broken))} is"):
        Sample(**broken)


def test_a_result_takes_finite_numbers_and_text() -> None:
    assert Sample(number=0.5, parts=(1.0,)).number == 0.5


@pytest.mark.parametrize("broken", [[0.5, 0.6], [-0.1, 1.1], [np.nan, 1.0], [[0.5, 0.5]], []])
def test_a_law_must_be_one(broken: list[float]) -> None:
    with pytest.raises(DraftproofError, match="law of shape"):
        checked_law(broken)


def test_a_rounded_law_is_normalised() -> None:
    assert checked_law([0.1] * 10).sum() == pytest.approx(1, abs=1e-16)
