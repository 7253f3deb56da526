"""Every rule for draft trees against an independent oracle that replays it as a program."""

from __future__ import annotations

from fractions import Fraction

import pytest
from exact_instances import g2, seed
from tree_instances import EARLY_LEAF, TWO_LEVELS, TWO_PATHS, drafted_as
from tree_programs import PROGRAMS, law_of

from audit.casefile.reading import read_case
from audit.exact.catalogue import RULES, rules_for
from audit.exact.engine import block_law, completed_law, target_law
from audit.exact.tables import joint_table
from audit.resources import cases_dir
from audit.tree import ROOT

TREES = {id_: entry for id_, entry in RULES.items() if entry.trees}
PAIRS = [(id_, drafting) for id_, entry in TREES.items() for drafting in entry.trees]


def test_the_oracle_knows_every_rule():
    assert PROGRAMS.keys() == TREES.keys()


@pytest.mark.parametrize(("rule_id", "drafting"), PAIRS)
@pytest.mark.parametrize("parents", [EARLY_LEAF, TWO_PATHS, (ROOT,) * 3], ids=str)
def test_the_joint_law_is_the_oracles(rule_id, drafting, parents):
    case = drafted_as(g2(2), parents, drafting)
    law = law_of(rule_id, case)
    nodes = len(parents)
    found = {}
    for length, table in enumerate(joint_table(case, rule_id), 1):
        for path, code in zip(*table.nonzero(), strict=True):
            block = (*digits(int(path), nodes), *digits(int(code), length))
            found[block] = table[path, code]
    assert found == {block: float(p) for block, p in law.items() if block}
    assert block_law(case, rule_id).undefined == law.get((), 0)


@pytest.mark.parametrize("rule_id", ["traversal", "traversal-ratio-update"])
def test_two_levels_of_two_siblings_are_the_oracles(rule_id):
    case = drafted_as(seed(2), TWO_LEVELS, "distinct")
    blocks: dict[tuple[int, ...], Fraction] = {}
    for outcome, mass in law_of(rule_id, case).items():
        blocks[outcome[6:]] = blocks.get(outcome[6:], Fraction(0)) + mass
    assert dict(block_law(case, rule_id)) == blocks


def digits(code: int, length: int) -> tuple[int, ...]:
    return tuple(code // 3**i % 3 for i in reversed(range(length)))


# The shipped cases.

SHIPPED = [case for case in map(read_case, sorted(cases_dir().glob("tree-*.toml"))) if case.tree]


@pytest.mark.parametrize("case", SHIPPED, ids=lambda case: case.id)
def test_every_rule_is_defined_on_the_shipped_trees_and_the_lossless_ones_are(case):
    for rule_id in rules_for(case):
        assert block_law(case, rule_id).undefined == 0
        if TREES[rule_id].lossless:
            assert completed_law(case, rule_id) == target_law(case)


@pytest.mark.parametrize("rule_id", [id_ for id_, entry in TREES.items() if not entry.lossless])
def test_some_shipped_tree_shows_every_fault(rule_id):
    distances = (
        completed_law(case, rule_id).total_variation(target_law(case))
        for case in SHIPPED
        if rule_id in rules_for(case)
    )
    assert max(distances) >= Fraction(1, 75)
