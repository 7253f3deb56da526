"""Block verification, right and wrong: the values of the algorithm page (1.6, 1.7, table 3.5)."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations, pairwise

import pytest
from exact_blocks import greedy_block, mean_kept_greedily
from exact_instances import CHAINS, blk, g2, i1, seed, toy
from exact_oracle import enumerate_law

from audit.case import Case
from audit.exact.engine import block_law, completed_law, target_law
from audit.exact.measures import number_accepted_law
from audit.selection import select_cases

IDS = {entry.code: entry.id for entry in CHAINS.values() if entry.code.startswith("B")}
# Code: TV of the completed law on SEED, G2 and BLK with 2 drafted tokens, mean number kept on BLK,
# law of the first token on BLK.
TABLE = {
    "B00": ("0", "0", "0", "49/36", "1/3 1/2 1/6"),
    "B01": ("0", "0", "1/27", "49/36", "1/3 1/2 1/6"),
    "B02": ("3/25", "3/25", "2/27", "155/108", "11/27 23/54 1/6"),
    "B03": ("1/5", "1/5", "2/15", "197/180", "1/5 19/30 1/6"),
    "B04": ("3/50", "3/50", "4/99", "25/18", "1/3 1/2 1/6"),
    "B05": ("21/1000", "11/375", "47/648", "781/648", "23/81 371/648 31/216"),
    "B06": ("9/20", "9/25", "13/36", "49/36", "1/3 1/3 1/6"),
    "B07": ("21/100", "9/40", "1/12", "53/36", "5/12 5/12 1/6"),
    "B08": ("0", "0", "1/9", "5/4", "2/9 11/18 1/6"),
    "B09": ("39/500", "79/1000", "1/6", "49/36", "7/18 5/12 7/36"),
    "B10": ("0", "0", "1/30", "239/180", "3/10 8/15 1/6"),
}
# A block whose last draw is undefined is one outcome () with us; the page keeps its first token.
OURS_FIRST = {"B06": "1/3 1/6 5/36"}


def distance(case: Case, rule_id: str) -> Fraction:
    return completed_law(case, rule_id).total_variation(target_law(case))


def mean_kept(case: Case, rule_id: str) -> Fraction:
    return sum((n * c for n, c in enumerate(number_accepted_law(case, rule_id))), Fraction(0))


def test_the_catalogue_has_the_entries_of_the_table() -> None:
    assert IDS.keys() == TABLE.keys()
    assert {CHAINS[id_].base for code, id_ in IDS.items() if code != "B00"} == {"block"}


@pytest.mark.parametrize("code", TABLE)
def test_the_table(code: str) -> None:
    *apart, kept, first = TABLE[code]
    assert [distance(case, IDS[code]) for case in (seed(2), g2(2), blk())] == [
        Fraction(value) for value in apart
    ]
    assert mean_kept(blk(), IDS[code]) == Fraction(kept)
    law = completed_law(blk(), IDS[code]).first_token()
    expected = OURS_FIRST.get(code, first).split()
    assert [law[(token,)] for token in range(3)] == [Fraction(value) for value in expected]


# Section 5: on BLK every fault is at least 1/30 apart, and so is every pair of rules.
def test_the_shipped_basis_tells_all_block_rules_apart() -> None:
    (shipped,) = select_cases(["block-basis"])
    assert target_law(shipped) == target_law(blk())
    wrong = [id_ for code, id_ in IDS.items() if code != "B00"]
    assert min(distance(shipped, id_) for id_ in wrong) == Fraction(1, 30)
    laws = [block_law(shipped, id_) for id_ in IDS.values()]
    assert min(a.total_variation(b) for a, b in combinations(laws, 2)) >= Fraction(1, 30)


@pytest.mark.parametrize("rule_id", IDS.values())
def test_one_drafted_token_hides_what_stands_between_prefixes(rule_id: str) -> None:
    seen = ("block-residual-of-longer-prefix", "block-full-target-fallback")
    assert (block_law(g2(1), rule_id) == block_law(g2(1), "ratio")) == (rule_id not in seen)


# Section 1.7. The rest of the block follows rows off the drafted path, which no verifier holds.
GREEDY = [(toy(2), "12/9"), (toy(3), "50/27"), (seed(2), "131/100"), (seed(3), "477/250")]
GREEDY += [(g2(2), "34/25"), (blk(), "25/18")]


@pytest.mark.parametrize(("case", "kept"), GREEDY)
def test_greedy_block_verification_keeps_the_most_of_one_block(case: Case, kept: str) -> None:
    assert mean_kept_greedily(case) == Fraction(kept)


def test_full_information_on_three_tokens_of_g2() -> None:
    assert mean_kept_greedily(g2(3)) == Fraction(7887, 4000)


@pytest.mark.parametrize("case", [toy(2), seed(2), g2(2), blk(), i1()])
def test_greedy_block_verification_is_lossless_with_its_changed_target(case: Case) -> None:
    assert enumerate_law(greedy_block, case) == dict(target_law(case))


# The two ways to B04 are one law: nothing but the clamp is missing where the target is not changed.
@pytest.mark.parametrize("case", [toy(3), seed(3), g2(3), blk()])
def test_the_unclamped_product_keeps_what_greedy_block_verification_keeps(case: Case) -> None:
    assert mean_kept(case, "block-product-unclamped") == mean_kept_greedily(case)
    kept = number_accepted_law(case, "block-product-unclamped")
    means = [mean_kept_greedily(cut(case, n)) for n in range(1, len(kept))]
    assert [sum(kept[i:]) for i in range(1, len(kept))] == [
        mean - shorter for shorter, mean in pairwise([0, *means])
    ]


def cut(case: Case, gamma: int) -> Case:
    return Case("cut", "", case.vocab_size, gamma, case.target, case.draft)
