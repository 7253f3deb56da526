"""Nodes of a map: their laws, and what they foretell."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
import torch

from audit.steering.answers import ABSENT, Answer
from audit.steering.continuous import Continuous
from audit.steering.coupling import UNFORETOLD, foretold
from audit.steering.grids import Uniform
from audit.steering.head_starts import HeadStart
from audit.steering.lanes import as_it_is, from_bottom, from_gumbel, from_top
from audit.steering.map import Choice, Leaf, Race, Split

GRID = Uniform(24)
LEAVES = [Leaf(code=code) for code in range(3)]


def answer(coins: list[list[int]], weights: dict[int, np.ndarray] | None = None) -> Answer:
    return Answer(np.zeros(len(coins), dtype=np.int64), np.array(coins), weights or {})


def foretell(node, given: Answer) -> list[int]:
    return foretold({0: node}, np.zeros(len(given.codes), dtype=np.int64), given).tolist()


def test_a_split_has_the_masses_of_its_ranges():
    node = Split(column=0, grid=GRID, starts=(0, 2**22, 2**23), children=LEAVES)
    assert node.law == {0: Fraction(1, 4), 1: Fraction(1, 4), 2: Fraction(1, 2)}
    given = answer([[0], [2**22 - 1], [2**22], [2**24 - 1], [ABSENT]])
    assert foretell(node, given) == [0, 0, 1, 2, UNFORETOLD]


def test_a_choice_needs_the_weights_it_was_found_with():
    known = np.array([0.2, 0.0, 0.8])
    node = Choice(column=0, weights=known, things=(0, 2), children=LEAVES[:2])
    assert node.law == {0: Fraction(0.2) / (Fraction(0.2) + Fraction(0.8)), 1: 1 - node.law[0]}
    weights = np.array([known, 2 * known, [0.2, 0.01, 0.79], known, [0.0, 0.0, 0.0]])
    given = answer([[0], [2], [2], [1], [2]], {0: weights})
    assert foretell(node, given) == [0, 1, UNFORETOLD, UNFORETOLD, UNFORETOLD]


def test_weights_off_by_rounding_are_taken_and_counted():
    known = np.array([0.25, 0.75])
    node = Choice(column=0, weights=known, things=(0, 1), children=LEAVES[:2], slack=1e-7)
    off = known + np.array([2.0**-24, -(2.0**-24)])
    assert foretell(node, answer([[1]], {0: off[None]})) == [1]
    assert node.hidden == pytest.approx(1e-7 + 2.0**-24)


@pytest.mark.parametrize(
    ("clock", "grid"),
    [
        (from_top, Uniform(53)),
        (from_bottom, Uniform(53)),
        (as_it_is, Continuous("exponential", torch.float64)),
        (from_gumbel, Continuous("gumbel", torch.float64)),
    ],
)
def test_a_race_is_won_by_weight(clock, grid):
    # 40,000 races; a share is off by more than 6 standard deviations with probability 2e-9.
    weights = np.array([0.2, 0.0, 0.5, 0.3])
    node = Race(
        columns=(0, 1, 2, 3),
        grid=grid,
        clock=clock,
        weights=weights,
        things=(0, 2, 3),
        children=LEAVES,
    )
    coins = grid.at(np.random.default_rng(2).random((40_000, 4)))
    counts = np.bincount(foretell(node, answer(coins.tolist())), minlength=3)
    expected = np.array([0.2, 0.5, 0.3])
    assert [float(node.law[code]) for code in range(3)] == pytest.approx(expected)
    spread = np.sqrt(40_000 * expected * (1 - expected))
    assert (np.abs(counts - 40_000 * expected) < 6 * spread).all()


def test_a_race_with_head_starts_has_the_law_of_its_runs():
    # The law is checked against 40,000 runs at 6 standard deviations.
    node = HeadStart(
        columns=(0, 1, 2, 3),
        grid=Uniform(53),
        clock=from_bottom,
        weights=np.array([1.0, 2.0, 0.5]),
        delays=np.array([0.0, 1.5, 0.25]),
        children=LEAVES,
    )
    coins = GRID.at(np.random.default_rng(3).random((40_000, 4))) * 2**29
    counts = np.bincount(foretell(node, answer(coins.tolist())), minlength=3)
    law = np.array([float(node.law[code]) for code in range(3)])
    assert sum(node.law.values()) == 1
    assert (np.abs(counts - 40_000 * law) < 6 * np.sqrt(40_000 * law * (1 - law))).all()


def test_without_delays_a_head_start_is_a_race():
    node = HeadStart(
        columns=(0, 1, 2),
        grid=Uniform(53),
        clock=from_bottom,
        weights=np.array([1.0, 3.0]),
        delays=np.array([0.0, 0.0]),
        children=LEAVES[:2],
    )
    assert node.law == {0: Fraction(1, 4), 1: Fraction(3, 4)}


def test_nodes_add_up_along_their_branches():
    inner = Split(column=1, grid=GRID, starts=(0, 2**23), children=LEAVES[:2], slack=1e-6)
    node = Split(column=0, grid=GRID, starts=(0, 2**22), children=[inner, LEAVES[0]])
    assert node.law == {0: Fraction(7, 8), 1: Fraction(1, 8)}
    assert node.hidden == pytest.approx(2.5e-7)
    assert len(list(node.nodes())) == 5
