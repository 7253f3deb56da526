"""How well the shipped cases show and separate the entries of the catalogue.

The bounds are those that the algorithm page states for its instances (sections 3.5, 4 and 5); the
shipped cases hold these instances, and more.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from shipped import CASES, shipped_matrix, shipped_pairs

from audit.exact.aliases import Pair, alias_classes, separations
from audit.exact.catalogue import RULES
from audit.exact.engine import block_law
from audit.exact.matrix import FaultMatrix
from audit.exact.tables import joint_table
from audit.selection import select_cases

CHAIN = [r.id for r in RULES.values() if r.code[:1] in tuple("CFASRX")]
BLOCK = [r.id for r in RULES.values() if r.code[:1] == "B"]
TREES = [r.id for r in RULES.values() if r.trees]
LOSSY = [r.id for r in RULES.values() if r.family == "lossy" and not r.trees]


def bound(rule: str) -> Fraction:
    """Returns the least total variation that some case must show of an entry."""
    if rule in TREES:
        return Fraction(1, 75)
    return Fraction(1, 30) if rule in BLOCK else Fraction(1, 20)


@pytest.fixture(scope="module")
def matrix() -> FaultMatrix:
    return shipped_matrix()


@pytest.fixture(scope="module")
def pairs() -> list[Pair]:
    return shipped_pairs()


def test_the_groups_are_those_of_the_page() -> None:
    assert len(CHAIN) == 76
    assert {RULES[name].code for name in BLOCK} >= {f"B{n:02d}" for n in range(11)}
    assert set(LOSSY) >= {"lenience", "typical-acceptance", "mentored", "cascade-mixture"}
    codes = {RULES[name].code for name in TREES}
    assert codes >= {f"T{n:02d}" for n in range(1, 25)}


def test_every_biased_entry_shows_on_some_case(matrix: FaultMatrix) -> None:
    best = {name: matrix.best(name) for name in matrix.biased}
    weak = {n: (c.case, str(c.completed)) for n, c in best.items() if c.completed < bound(n)}
    assert weak == {}
    assert [n for n, cell in best.items() if cell.undefined] == []


def test_block_faults_show_on_the_block_basis(matrix: FaultMatrix) -> None:
    cells = [c for c in matrix.of_case("block-basis") if c.rule in BLOCK and c.rule != "block"]
    assert [cell.rule for cell in cells if cell.completed < Fraction(1, 30)] == []


def test_every_pair_of_chain_entries_differs_in_block_law(pairs: list[Pair]) -> None:
    near = {(p.one, p.other) for p in pairs if {p.one, p.other} <= {*CHAIN} and p.block < 1 / 20}
    assert near == {("sampler-match", "point-mass")}


def test_every_pair_of_block_entries_differs_on_the_block_basis() -> None:
    (case,) = select_cases(["block-basis"])
    laws = [(name, block_law(case, name)) for name in BLOCK]
    apart = {(a, b): x.total_variation(y) for (a, x), (b, y) in combinations(laws, 2)}
    assert {pair for pair, distance in apart.items() if distance < Fraction(1, 30)} == set()


def test_every_pair_of_tree_entries_differs(pairs: list[Pair]) -> None:
    # 1/75 within one drafting scheme, of (draft, emitted): the index of the accepted sibling.
    inside = [pair for pair in pairs if pair.one in TREES and pair.other in TREES]
    near = {(p.one, p.other) for p in inside if p.joint < 1 / 75 - 1e-12}
    assert near == ONE_LAW_IN_TREES
    assert min(p.joint for p in inside if (p.one, p.other) not in near) == pytest.approx(1 / 75)


# With fixed or distinct siblings both accept the sibling that equals a draw from the target.
ONE_LAW_IN_TREES = {("target-only", "tree-sampler-match")}


def test_lossy_entries_differ_from_each_other_and_from_all_others(pairs: list[Pair]) -> None:
    near = {(p.one, p.other) for p in pairs if {p.one, p.other} & {*LOSSY} and p.block < 1 / 20}
    assert near == set()


def test_aliases_are_equal_laws_and_nothing_else(pairs: list[Pair]) -> None:
    classes = alias_classes(CASES)
    assert {frozenset(group) for group in classes} == {
        frozenset({"greedy", "temperature-ignored"}),
        frozenset({"sampler-match", "point-mass"}),
    }
    aliased = {pair for group in classes for pair in combinations(group, 2)}
    assert {(p.one, p.other) for p in pairs if p.joint < 1e-9} == aliased | ONE_LAW_IN_TREES


def test_distances_are_those_of_the_laws(pairs: list[Pair]) -> None:
    # The page, section 5: on I1 and I2 the ratio rule and X18 are 9/160 apart.
    found = {(pair.one, pair.other): pair for pair in pairs}
    pair = found["ratio", "cumulative-ratio"]
    (case,) = select_cases([pair.case])
    laws = [
        np.concatenate([t.ravel() for t in joint_table(case, n)]) for n in (pair.one, pair.other)
    ]
    assert pair.joint == pytest.approx(np.abs(laws[0] - laws[1]).sum() / 2)
    basis = separations(select_cases(["basis-1", "basis-2"]))
    (narrow,) = (p for p in basis if (p.one, p.other) == ("ratio", "cumulative-ratio"))
    assert narrow.block == pytest.approx(9 / 160)
