"""Exact laws of the rules for draft trees on the instances of the algorithm page.

The values are those of its sections 1.10 (thresholds), 2.1 to 2.8 and 4 (golden/tree_table.csv).
"""

from __future__ import annotations

import csv
from fractions import Fraction
from pathlib import Path

import pytest
from exact_instances import g2, i1, seed
from tree_instances import (
    PAIR,
    TWO_LEVELS,
    TWO_PATHS,
    drafted_as,
    seed_siblings,
    tr1,
    v4,
)

from audit.case import Case
from audit.exact import measures
from audit.exact.catalogue import RULES, rule
from audit.exact.engine import block_law, completed_law, target_law
from audit.tree import ROOT

TREES = {id_: entry for id_, entry in RULES.items() if entry.trees}


def distance(case: Case, rule_id: str) -> Fraction:
    """Returns the TV between the completed law and the target's."""
    return completed_law(case, rule_id).total_variation(target_law(case))


def accepted(case: Case, rule_id: str) -> Fraction:
    """Returns P(a drafted token is accepted)."""
    return 1 - measures.number_accepted_law(case, rule_id)[0]


def mean_accepted(case: Case, rule_id: str) -> Fraction:
    """Returns the mean number of accepted tokens of a rule that always draws one more."""
    return measures.expected_tokens(case, rule_id) - 1


def first_token(case: Case, rule_id: str) -> list[Fraction]:
    law = completed_law(case, rule_id).first_token()
    return [law[(token,)] for token in range(case.vocab_size)]


def fractions(text: str) -> list[Fraction]:
    return [Fraction(word) for word in text.split()]


# The table of section 4.

CODES = {entry.code: entry.id for entry in TREES.values() if entry.code}
with (Path(__file__).parent / "golden" / "tree_table.csv").open(encoding="utf-8") as file:
    TABLE = list(csv.DictReader(file))


@pytest.mark.parametrize("line", TABLE, ids=[line["code"] for line in TABLE])
@pytest.mark.parametrize("instance", ["seed", "tr1"])
def test_the_table_of_two_siblings(line, instance):
    case = {"seed": seed_siblings, "tr1": tr1}[instance](line["drafting"])
    rule_id = CODES[line["code"]]
    assert first_token(case, rule_id) == fractions(line[f"{instance}_law"])
    assert distance(case, rule_id) == Fraction(line[f"{instance}_tv"])
    assert accepted(case, rule_id) == Fraction(line[f"{instance}_accepted"])


def test_the_catalogue_has_every_entry_of_the_table():
    assert CODES.keys() == {line["code"] for line in TABLE} | {"T22", "T23", "T24"}


# T22, T23.


def test_the_longest_of_two_paths():
    one, two = seed_siblings("independent"), drafted_as(g2(2), TWO_PATHS, "independent")
    assert first_token(one, "longest-accepted-path") == fractions("13/50 9/20 29/100")
    assert distance(one, "longest-accepted-path") == Fraction(3, 50)
    assert first_token(two, "longest-accepted-path") == fractions("51/200 453/1000 73/250")
    assert distance(two, "longest-accepted-path") == Fraction(67, 1000)


def test_a_bonus_token_from_the_first_sibling():
    case = drafted_as(g2(1), PAIR, "distinct")
    assert distance(case, "bonus-from-first-path") == Fraction(87, 1000)
    assert distance(tr1("distinct"), "bonus-from-first-path") == 0  # its rows have no context


# 2.1 to 2.3, and 2.8.


@pytest.mark.parametrize(
    ("rule_id", "drafting", "of_seed", "of_v4"),
    [
        ("recursive-rejection", "independent", "7/10 17/20 37/40", "3/5 18/25 96/125"),
        ("recursive-rejection-distinct", "distinct", "7/10 49/50 1", "3/5 107/140 14117/16800"),
    ],
)
def test_acceptance_of_one_two_and_three_siblings(rule_id, drafting, of_seed, of_v4):
    for count, (a, b) in enumerate(zip(fractions(of_seed), fractions(of_v4), strict=True), 1):
        assert accepted(seed_siblings(drafting, count), rule_id) == a
        assert accepted(v4(drafting, count), rule_id) == b


def test_k_seq_at_other_constants():
    small = rule("k-seq-rho-too-small")
    at = {text: small.at(Fraction(text)) for text in ("1", "5/4", "3/2")}
    case = seed_siblings("independent")
    assert accepted(case, at["3/2"]) == Fraction(779, 900)
    assert accepted(v4("independent"), at["3/2"]) == Fraction(3, 4)
    assert distance(case, at["3/2"]) == distance(v4("independent"), at["3/2"]) == 0
    assert distance(case, at["1"]) == Fraction(3, 50)
    assert distance(case, at["5/4"]) == Fraction(9, 625)


@pytest.mark.parametrize("count", [1, 2, 3])
@pytest.mark.parametrize("share", ["1", "3/2"])
def test_k_seq_is_lossless_from_one_rho_a_sibling_on(count, share):
    for case in (seed_siblings("independent", count), v4("independent", count)):
        assert distance(case, rule("k-seq").at(Fraction(share))) == 0


def test_acceptance_without_the_draft_row():
    for rule_id in ("target-only", "tree-sampler-match"):
        assert accepted(seed_siblings("fixed"), rule_id) == Fraction(7, 10)  # p of {0, 1}
        assert accepted(seed_siblings("distinct"), rule_id) == Fraction(1823, 2800)
        assert accepted(v4("distinct"), rule_id) == Fraction(151, 360)


def test_thresholds_on_a_single_draft():
    # SEED as a chain: acc 4/5, single 2/5, acc 1/2 (section 1.10), one token after each prefix.
    case = seed_siblings("distinct", 1)
    assert first_token(case, "tree-threshold-acc") == fractions("36/175 229/448 453/1600")
    assert first_token(case, "tree-threshold-single") == fractions("7/50 13/20 21/100")
    assert distance(case, "tree-threshold-acc@1/2") == Fraction(27, 400)


# 2.7, traversal.


@pytest.mark.parametrize(
    ("case", "parents", "recursive", "traversal"),
    [
        (g2(2), TWO_PATHS, "877/500", "226/125"),
        (g2(2), TWO_LEVELS, "13191/7000", "967/504"),
        (seed(2), TWO_PATHS, "833/500", "217/125"),
    ],
)
def test_traversal_accepts_more(case, parents, recursive, traversal):
    case = drafted_as(case, parents, "distinct")
    assert mean_accepted(case, "recursive-rejection-distinct") == Fraction(recursive)
    assert mean_accepted(case, "traversal") == Fraction(traversal)


@pytest.mark.parametrize("chain", [g2(2), i1(), seed(3)])
def test_traversal_of_one_path_is_block_verification(chain):
    path = tuple(range(ROOT, chain.num_speculative_tokens - 1))
    assert block_law(drafted_as(chain, path, "distinct"), "traversal") == block_law(chain, "block")


@pytest.mark.parametrize("chain", [g2(2), i1(), seed(3)])
def test_recursive_rejection_of_one_path_is_the_ratio_rule(chain):
    path = tuple(range(ROOT, chain.num_speculative_tokens - 1))
    one = drafted_as(chain, path, "independent")
    for rule_id in ("recursive-rejection", "k-seq", "longest-accepted-path"):
        assert block_law(one, rule_id) == block_law(chain, "ratio")
    assert block_law(one, "tree-sampler-match") == block_law(chain, "sampler-match")


def test_wrong_updates_of_traversal():
    assert distance(seed_siblings("distinct"), "traversal-ratio-update") == Fraction(3, 125)
    chain = drafted_as(g2(2), (ROOT, 0), "distinct")
    assert distance(chain, "traversal-ratio-update") == Fraction(43, 2100)
    assert distance(chain, "traversal-without-update") == Fraction(3, 25)
    assert distance(tr1("distinct"), "traversal-without-update") == 0  # one level hides it
