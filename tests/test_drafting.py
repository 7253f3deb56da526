"""How the tokens of a draft tree come about, and the tables and measures of rules on trees."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from exact_instances import g2
from tree_instances import DRAFTINGS, EARLY_LEAF, TWO_LEVELS, drafted_as, seed_siblings, siblings

from audit.errors import CaseError
from audit.exact import measures
from audit.exact.catalogue import headline
from audit.exact.drafting import drawn_from
from audit.exact.engine import completed_law, rounds_of_case
from audit.exact.tables import completed_table, joint_table


def fractions(text: str) -> list[Fraction]:
    return [Fraction(word) for word in text.split()]


@pytest.mark.parametrize("drafting", DRAFTINGS)
def test_tables_agree_with_the_law_and_the_drafts(drafting):
    case = drafted_as(g2(2), TWO_LEVELS, drafting)
    rounds, tables = rounds_of_case(case), joint_table(case, headline(case))
    assert [table.shape for table in tables] == [(3**6, 3), (3**6, 9), (3**6, 27)]
    drafts = sum(table.sum(axis=1) for table in tables)
    np.testing.assert_allclose(drafts, rounds.weight.floats(), atol=1e-15)
    law = completed_law(case, headline(case))
    assert completed_table(case, headline(case)).tolist() == [
        float(law[block]) for block in case.prefixes(3)
    ]


def test_siblings_are_drawn_as_the_tree_says():
    rows = {}
    for drafting in DRAFTINGS:
        rounds = rounds_of_case(seed_siblings(drafting))
        drawn = drawn_from(rounds.tree, rounds.tokens, rounds.draft)[1]
        rows[drafting] = [drawn.taken(np.array([code])).fractions() for code in (0, 3)]
    after_0, after_1 = rows["distinct"]
    assert (after_0, after_1) == (fractions("0 3/5 2/5"), fractions("5/7 0 2/7"))
    assert rows["independent"] == [fractions("1/2 3/10 1/5")] * 2
    assert rows["fixed"] == [fractions("0 1 0")] * 2


def test_ties_of_fixed_drafts_go_to_the_lower_id():
    case = siblings("1/3 1/3 1/3", "1/4 1/4 1/2", drafting="fixed")
    rounds = rounds_of_case(case)
    assert rounds.tokens[rounds.weight.numerators > 0].tolist() == [[2, 0]]


@pytest.mark.parametrize("drafting", ["distinct", "fixed"])
def test_more_siblings_than_tokens_are_refused(drafting):
    with pytest.raises(CaseError, match="fewer tokens than"):
        rounds_of_case(siblings("1/2 1/2", "1/2 1/2", drafting=drafting, count=3))


# Measures on trees.


def test_measures_of_a_tree():
    case = seed_siblings("independent")
    kept = measures.kept_masses(case, "recursive-rejection")
    assert sum(kept) == Fraction(17, 20)
    # x stands among two independent drafts with probability 1 - (1 - q)^2.
    among = [1 - (1 - q) ** 2 for q in fractions("1/2 3/10 1/5")]
    expected = [k / a for k, a in zip(kept, among, strict=True)]
    assert measures.acceptance_by_token(case, "recursive-rejection") == expected
    assert dict(measures.bonus_law(case, "recursive-rejection") or {}) == {
        (x,): p for x, p in enumerate(fractions("1/5 1/2 3/10"))
    }


def test_the_bonus_of_an_early_leaf_is_no_recovered_token():
    case = drafted_as(g2(2), EARLY_LEAF, "distinct")
    full = measures.recovered_law(case, "distinct-full-target-fallback")
    assert [(full or {})[(x,)] for x in range(3)] == fractions("1/5 1/2 3/10")
    deeper = measures.recovered_law(case, "recursive-rejection-distinct", accepted=1)
    assert deeper is not None
    assert measures.recovered_law(case, "recursive-rejection-distinct", accepted=2) is None
