"""The values of random operations and their exact probabilities."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
import torch
from scipy import stats

from audit.steering.continuous import Continuous
from audit.steering.grids import Uniform, Whole, uniform_grid

DTYPES = [torch.float64, torch.float32, torch.bfloat16, torch.float16]
LAWS = ["exponential", "normal", "log-normal", "cauchy", "gumbel"]


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_what_rand_returns_is_on_its_grid(dtype):
    grid = uniform_grid(dtype)
    drawn = torch.rand(20_000, dtype=dtype, generator=torch.Generator().manual_seed(7))
    values = drawn.double().numpy()
    assert np.array_equal(grid.values(grid.indices(values)), values)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_the_masses_of_a_grid_are_those_of_rand(dtype):
    # 16 cells, chi-square with 15 degrees of freedom: above 64 with probability 5e-8.
    grid = uniform_grid(dtype)
    drawn = torch.rand(200_000, dtype=dtype, generator=torch.Generator().manual_seed(3))
    edges = [grid.last * i // 16 for i in range(17)]
    edges[-1] += 1
    counts, _ = np.histogram(grid.indices(drawn.double().numpy()), bins=edges)
    # Equal values share their lowest index, so that a cell may lose half a value to its neighbour.
    expected = [200_000 * float(grid.mass(a, b)) for a, b in pairwise(edges)]
    if dtype in (torch.float64, torch.float32):
        assert stats.chisquare(counts, expected, sum_check=False).statistic < 64
    else:
        assert np.abs(counts - expected).max() < 200_000 / 128


def test_a_grid_beyond_its_end_is_the_value_that_rand_never_gives():
    for dtype in DTYPES:
        grid = uniform_grid(dtype)
        assert grid.values(np.array([grid.last + 1])) == 1.0
        assert grid.values(np.array([grid.last])) < 1.0


def test_a_short_grid_wraps_what_rounds_up_to_one():
    # Of 2^24 numbers the top 2^15 round to 1 in bfloat16 (8 bits) and are 0 instead.
    grid = Uniform(24, dtype=torch.bfloat16, wrapped=2**15)
    assert grid.values(np.array([0, 2**15 - 1, 2**15])).tolist() == [0.0, 0.0, 0.0]
    assert grid.indices(np.array([0.0])) == 0
    half = int(grid.indices(np.array([0.5]))[0])
    assert grid.values(np.array([half - 1])) < 0.5 == grid.values(np.array([half]))


def test_a_scaled_uniform_keeps_its_masses():
    grid = Uniform(24, -1.0, 3.0, torch.float32)
    values = torch.empty(1000).uniform_(-1, 3, generator=torch.Generator().manual_seed(1))
    assert np.array_equal(grid.values(grid.indices(values.double().numpy())), values.double())
    assert grid.mass(0, 2**22) == Fraction(1, 4)


def test_whole_numbers_are_equally_probable():
    grid = Whole(101, low=-3)
    assert grid.values(np.array([0, 100])).tolist() == [-3.0, 97.0]
    assert grid.mass(0, 1) == Fraction(1, 101)
    assert grid.at(np.array([0.0, 0.999999])).tolist() == [0, 100]


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_the_index_of_a_float_keeps_the_order(law, dtype):
    grid = Continuous(law, dtype)
    indices = np.unique(grid.at(np.linspace(0.001, 0.999, 500)))
    values = grid.values(indices)
    assert (np.diff(values) > 0).all()
    assert np.array_equal(grid.indices(values), indices)


@pytest.mark.parametrize("law", LAWS)
def test_shares_and_masses_agree(law):
    grid = Continuous(law, torch.float64, 0.25, 1.5)
    for share in (0.05, 0.4, 0.9):
        index = int(grid.at(np.array([share]))[0])
        assert float(grid.mass(grid.first, index)) == pytest.approx(share, abs=1e-9)
    assert grid.mass(grid.first, grid.last + 1) == 1


@pytest.mark.parametrize(
    ("law", "dist"),
    [("exponential", stats.expon), ("normal", stats.norm), ("cauchy", stats.cauchy)],
)
def test_masses_are_those_of_the_law(law, dist):
    grid = Continuous(law, torch.float64, 1.0, 2.0)
    a, b = (int(grid.indices(np.array([x]))[0]) for x in (1.5, 4.0))
    expected = dist.cdf(4.0, 1.0, 2.0) - dist.cdf(1.5, 1.0, 2.0)
    assert float(grid.mass(a, b)) == pytest.approx(expected, abs=1e-9)
