"""The null is the exact law of the rounded tensors."""

from fractions import Fraction

import numpy as np
import pytest
import torch

from audit.harness.null import handed_over, rounding_distance
from tests.worlds import article, prefix_dependent


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
def test_rows_are_the_rounded_numbers_renormalised_exactly(dtype):
    case = article()
    row = handed_over(case, dtype).case.target[()]
    rounded = torch.tensor([0.2, 0.5, 0.3], dtype=torch.float64).to(dtype).double().tolist()
    weights = [Fraction(value) for value in rounded]
    assert list(row) == [weight / sum(weights) for weight in weights]


def test_dyadic_rows_stay_as_they_are():
    case = prefix_dependent()
    null = handed_over(case, torch.bfloat16)
    assert null.case.target[(0,)] == case.target[(0,)]  # (1/2, 1/4, 1/4)


def test_excess_is_the_largest_distance_of_a_rounded_sum_from_one():
    null = handed_over(article(), torch.bfloat16)
    sums = [
        float(torch.tensor(row, dtype=torch.float64).to(torch.bfloat16).double().sum())
        for row in ([0.2, 0.5, 0.3], [0.5, 0.3, 0.2])
    ]
    assert null.excess == pytest.approx(max(abs(total - 1) for total in sums))
    assert null.excess > 1e-4
    assert handed_over(article(), torch.float32).excess < 1e-7


def test_rounding_distance_is_of_the_order_of_the_dtype():
    far = rounding_distance(handed_over(article(), torch.bfloat16))
    near = rounding_distance(handed_over(article(), torch.float32))
    assert 1e-5 < far < 1e-2
    assert 0 < near < 1e-7


def test_rows_depending_on_the_prefix_are_rounded_at_every_prefix():
    case = prefix_dependent(3)
    null = handed_over(case, torch.float32).case
    for prefix in case.prefixes(3):
        expected = np.float32(case.target[prefix].floats())
        assert null.target[prefix].floats() == pytest.approx(expected, abs=1e-7)
