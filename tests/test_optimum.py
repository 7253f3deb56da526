"""The best possible sampler: values of the algorithm page, each enumerated anew.

Sections are those of that page. What holds on every case stands in test_optimum_theorems.py.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest
from exact_instances import blk, context_free, g2, i1, i2, seed, toy
from tree_instances import EARLY_LEAF, PAIR, TWO_LEVELS, TWO_PATHS, drafted_as

from audit.case import Case, Rows
from audit.exact.comparison import comparison, standard_rule, standing
from audit.exact.measures import number_accepted_law
from audit.exact.optimum import BOUNDS, CLOSED, PROGRAM, best_acceptance, best_accepted
from audit.exact.programs import Program, certified_bounds
from audit.row import Row
from audit.tree import ROOT, Drafting

ONE_PATH = {
    # Section 1.6: token, block, and what block probabilities alone would allow (full information).
    "toy 2": (toy(2), "10/9 11/9 4/3"),
    "toy 3": (toy(3), "38/27 5/3 50/27"),
    "seed 2": (seed(2), "119/100 5/4 131/100"),
    "seed 3": (seed(3), "1533/1000 43/25 477/250"),
    "g2 2": (g2(2), "5/4 13/10 34/25"),
    "g2 3": (g2(3), "421/250 1457/800 7887/4000"),
    "blk": (blk(), "47/36 49/36 25/18"),
}


def v4(gamma: int = 1) -> Case:
    """V4 of the algorithm page."""
    return context_free(gamma, "1/10 2/5 3/10 1/5", "2/5 1/10 1/5 3/10")


def siblings(case: Case, count: int, drafting: Drafting = "independent") -> Case:
    """Returns the case with that many drafts of one token."""
    return drafted_as(case, (ROOT,) * count, drafting)


def mean_accepted(case: Case, rule: str) -> Fraction:
    """Returns the exact mean number of accepted tokens of a rule."""
    law = number_accepted_law(case, rule)
    return sum((n * chance for n, chance in enumerate(law)), start=Fraction(0))


def full_information(case: Case) -> Fraction:
    """Returns sum_i sum over blocks x^i of min(p(x^i), q(x^i)) (section 1.7)."""
    total = Fraction(0)
    for length in range(1, case.num_speculative_tokens + 1):
        for block in case.prefixes(length):
            p = q = Fraction(1)
            for i, token in enumerate(block):
                p, q = p * case.target[block[:i]][token], q * case.draft[block[:i]][token]
            total += min(p, q)
    return total


@pytest.mark.parametrize("name", ONE_PATH)
def test_one_path_the_block_value_is_the_best(name: str) -> None:
    case, values = ONE_PATH[name]
    token, block, bound = map(Fraction, values.split())
    assert mean_accepted(case, "ratio") == token
    assert mean_accepted(case, "block") == block
    assert (best_accepted(case).value, best_accepted(case).how) == (block, CLOSED)
    assert full_information(case) == bound > block


@pytest.mark.parametrize(
    "case", [toy(1), toy(2), toy(3), seed(1), seed(2), g2(2), blk(), i1(), i2()]
)
def test_the_linear_program_confirms_the_block_value(case: Case) -> None:
    value = best_accepted(case).value
    assert certified_bounds(Program.of(case)) == (value, value)


# Section 2.4, columns "OT iid" and "OT w/o"; 1 - TV for one draft.
@pytest.mark.parametrize(
    ("case", "count", "independent", "distinct"),
    [
        (seed(1), 1, "7/10", "7/10"),
        (seed(1), 2, "19/20", "1"),
        (seed(1), 3, "1", "1"),
        (v4(), 1, "3/5", "3/5"),
        (v4(), 2, "79/100", "701/840"),
        (v4(), 3, "871/1000", "1"),
    ],
)
def test_one_level_by_token_sets_and_by_program(
    case: Case, count: int, independent: str, distinct: str
) -> None:
    kinds: tuple[tuple[Drafting, str], ...] = (
        ("independent", independent),
        ("distinct", distinct),
    )
    for drafting, expected in kinds:
        drafted = siblings(case, count, drafting)
        assert (best_acceptance(drafted).value, best_acceptance(drafted).how) == (
            Fraction(expected),
            CLOSED,
        )
        assert certified_bounds(Program.of(drafted)) == (Fraction(expected),) * 2


# Section 2.4, multi-draft block program: k independent paths.
@pytest.mark.parametrize(
    ("gamma", "parents", "value"),
    [
        (1, PAIR, "8/9"),
        (2, TWO_PATHS, "131/81"),
        (2, (ROOT, ROOT, ROOT, 0, 1, 2), "1351/729"),
    ],
)
def test_several_paths(gamma: int, parents: tuple[int, ...], value: str) -> None:
    best = best_accepted(drafted_as(toy(gamma), parents, "independent"))
    assert best.value == Fraction(value)
    assert best.how == (CLOSED if gamma == 1 else PROGRAM)


# Section 2.7 has the values of the rules; the best is our own, certified.
@pytest.mark.parametrize(
    ("case", "parents", "recursive", "traversal", "value"),
    [
        (g2(2), TWO_PATHS, "877/500", "226/125", "1369/700"),
        (g2(2), TWO_LEVELS, "13191/7000", "967/504", "2"),
        (seed(2), TWO_PATHS, "833/500", "217/125", "10641/5600"),
    ],
)
def test_trees_of_two_levels(
    case: Case, parents: tuple[int, ...], recursive: str, traversal: str, value: str
) -> None:
    tree = drafted_as(case, parents, "distinct")
    assert mean_accepted(tree, "recursive-rejection-distinct") == Fraction(recursive)
    assert mean_accepted(tree, "traversal") == Fraction(traversal)
    best = best_accepted(tree)
    assert (best.value, best.how) == (Fraction(value), PROGRAM)


# Section 2.4, two drafts: recursive rejection and k-SEQ at rho 3/2 on V4, without replacement too,
# and recursive rejection on SEED; the best values stand above.
def test_rules_of_two_drafts_stand_below_the_best() -> None:
    two = siblings(v4(), 2)
    assert comparison(two, "recursive-rejection").rule.accepted == Fraction(18, 25)
    k_seq = comparison(two, "k-seq-rho-too-small@3/2").rule
    assert (k_seq.lossless, k_seq.accepted) == (True, Fraction(3, 4))
    distinct = comparison(siblings(v4(), 2, "distinct"))
    assert distinct.rule.rule_id == "recursive-rejection-distinct"
    assert distinct.rule.accepted == Fraction(107, 140)
    assert distinct.best_accepted.value == Fraction(701, 840)
    assert comparison(siblings(seed(1), 2)).rule.accepted == Fraction(17, 20)


# Section 2.5, SpecHub reaches the best of its own pair law: pairs (x, a) and (a, x), a = argmax q.
@pytest.mark.parametrize(("case", "value"), [(seed(1), "1"), (v4(), "23/30")])
def test_a_law_of_pairs_that_no_tree_draws(case: Case, value: str) -> None:
    p, q = case.target[()], list(case.draft[()])
    top = q.index(max(q))
    pairs = {
        frozenset({(top,), (x,)}): q[x] + q[top] * q[x] / (1 - q[top])
        for x in range(len(q))
        if x != top
    }
    program = Program(pairs, {(x,): p[x] for x in range(len(q))})
    assert certified_bounds(program) == (Fraction(value),) * 2


# Section 2.4, greedy draft set on SEED, k = 2: the top token of q and one drawn. The page's value
# is that of a draw from the other tokens; a draw from all of q, which may repeat it, gives 7/10.
@pytest.mark.parametrize(("others", "value"), [((1, 2), "1"), ((0, 1, 2), "7/10")])
def test_a_fixed_and_a_drawn_sibling(others: tuple[int, ...], value: str) -> None:
    p, q = seed(1).target[()], seed(1).draft[()]
    law = {frozenset({(0,), (x,)}): q[x] / mass(q, others) for x in others}
    program = Program(law, {(x,): p[x] for x in range(3)})
    assert certified_bounds(program) == (Fraction(value),) * 2


def test_fixed_siblings_are_accepted_with_the_targets_probabilities() -> None:
    # Section 2.8: SEED {0, 1}: 7/10. Below: each path with its own probability, by the program too.
    assert best_acceptance(siblings(seed(1), 2, "fixed")).value == Fraction(7, 10)
    tree = drafted_as(g2(2), EARLY_LEAF, "fixed")
    best = best_accepted(tree)
    expected = Fraction(7, 10) + Fraction(1, 5) * Fraction(1, 4)
    assert (best.value, best.how) == (expected, CLOSED)
    assert certified_bounds(Program.of(tree)) == (expected, expected)


def mass(law: Row, inside: tuple[int, ...]) -> Fraction:
    """Returns the probability of a set of tokens."""
    return sum((law[token] for token in inside), start=Fraction(0))


def test_what_is_too_large_has_bounds_only() -> None:
    words = context_free(1, " ".join(["1/40"] * 40), " ".join(["1/50"] * 30 + ["1/25"] * 10))
    tree = drafted_as(words, TWO_PATHS, "distinct")
    best = best_accepted(tree)
    assert (best.value, best.how) == (None, BOUNDS)
    assert 0 < best.lower < best.upper <= 2
    chain = replace(words, num_speculative_tokens=5)
    assert best_accepted(chain).how == BOUNDS
    assert best_accepted(chain).lower <= standing(chain, "ratio").accepted
    assert standing(chain, "ratio").accepted <= best_accepted(chain).upper


def test_a_large_vocabulary_has_a_closed_form_for_one_draft() -> None:
    size = 5000
    rising = [k * k for k in range(1, size + 1)]
    target, draft = (Rows({(): Row.normalised(weights)}) for weights in (rising, rising[::-1]))
    case = Case("large", "", size, 1, target, draft, large=True)
    found = comparison(case)
    assert found.best_accepted.value == found.rule.accepted
    assert "block" in found.not_computed
    pair = best_acceptance(siblings(case, 2)).value
    assert pair is not None
    assert found.rule.acceptance < pair < 1


def test_a_biased_rule_is_compared_too_and_said_to_be_biased() -> None:
    always = comparison(g2(2), "always-accept")
    assert not always.rule.lossless
    assert always.rule.accepted == 2
    assert always.best_accepted.value == Fraction(13, 10)
    assert standard_rule(g2(2)) == "ratio"
    assert comparison(g2(2), "greedy").rule.lossless is False
