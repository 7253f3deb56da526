"""The best possible sampler: what holds on every case, on random rows in small fractions."""

from __future__ import annotations

import itertools
from fractions import Fraction

from exact_instances import row, toy
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from tree_instances import DRAFTINGS, EARLY_LEAF, PAIR, TWO_PATHS, drafted_as

from audit.case import Case, Rows
from audit.exact.comparison import comparison
from audit.exact.optimum import BOUNDS, best_acceptance, best_accepted
from audit.exact.programs import Program
from audit.row import Row
from audit.tree import ROOT, Drafting

WEIGHTS = st.lists(st.integers(0, 6), min_size=3, max_size=3).filter(any)
ROWS = WEIGHTS.map(Row.normalised)
LEVELS = st.lists(ROWS, min_size=4, max_size=4)
RANDOM = settings(max_examples=40, deadline=None)


def subsets(size: int) -> list[tuple[int, ...]]:
    """Returns all sets of the ids below size."""
    sizes = range(size + 1)
    return [inside for k in sizes for inside in itertools.combinations(range(size), k)]


def mass(law: Row, inside: tuple[int, ...]) -> Fraction:
    """Returns the probability of a set of tokens."""
    return sum((law[token] for token in inside), start=Fraction(0))


def test_khistis_condition_fails_on_seed_at_one_token_only() -> None:
    # Section 2.4: acceptance 1 needs p(T) >= q(T) ** 2 for every T; here 1/5 < 1/4 at T = {0}.
    p, q = row("1/5 1/2 3/10"), row("1/2 3/10 1/5")
    assert [inside for inside in subsets(3) if mass(p, inside) < mass(q, inside) ** 2] == [(0,)]


def drafts_of(rows: list[Row]) -> Rows:
    """Returns rows after each token of three, and after nothing."""
    return Rows({(): rows[0], **{(token,): rows[token + 1] for token in range(3)}})


def random_case(target: list[Row], draft: list[Row], gamma: int = 2) -> Case:
    """Returns the chain over these rows."""
    return Case("random", "", 3, gamma, drafts_of(target), drafts_of(draft))


@RANDOM
@given(
    st.lists(st.integers(0, 6), min_size=5, max_size=5).filter(any).map(Row.normalised),
    st.lists(st.integers(0, 6), min_size=5, max_size=5).filter(any).map(Row.normalised),
    st.integers(1, 4),
)
def test_leading_sets_suffice_for_independent_siblings(p: Row, q: Row, count: int) -> None:
    # The claim of Hu et al. (2025), against all sets; and Khisti's condition for acceptance 1.
    case = Case("random", "", 5, 1, Rows({(): p}), Rows({(): q}))
    slack = {inside: mass(p, inside) - mass(q, inside) ** count for inside in subsets(5)}
    best = best_acceptance(drafted_as(case, (ROOT,) * count, "independent")).value
    assert best == 1 + min(slack.values())
    assert (best == 1) == all(value >= 0 for value in slack.values())


@RANDOM
@given(LEVELS, LEVELS, st.sampled_from([1, 2, 3]))
def test_no_lossless_chain_rule_is_above_the_best(
    target: list[Row], draft: list[Row], gamma: int
) -> None:
    case = random_case(target, draft, gamma)
    found = comparison(case)
    assert found.rule.rule_id == "ratio"
    assert found.not_computed == ()
    best = {"block": best_accepted(case).value}
    for one in (found.rule, *found.others):
        assert one.acceptance <= found.best_acceptance.lower
        assert one.accepted <= found.best_accepted.lower
        if one.rule_id == "block":
            assert one.accepted == best["block"] >= found.rule.accepted


@RANDOM
@given(LEVELS, LEVELS)
def test_everything_is_accepted_only_where_the_rows_are_equal(
    target: list[Row], draft: list[Row]
) -> None:
    for case in (random_case(target, draft), random_case(target, target)):
        reached = [(), *((token,) for token in range(3) if case.draft[()][token])]
        equal = all(case.target[prefix] == case.draft[prefix] for prefix in reached)
        assert (best_accepted(case).value == 2) == equal


TREES = st.sampled_from([PAIR, EARLY_LEAF, TWO_PATHS, (ROOT, 0, 0), (ROOT, ROOT, 0, 0)])


@settings(max_examples=25, deadline=None)
@given(LEVELS, LEVELS, TREES, st.sampled_from(DRAFTINGS))
def test_no_lossless_tree_rule_is_above_the_best(
    target: list[Row], draft: list[Row], parents: tuple[int, ...], drafting: Drafting
) -> None:
    assume(drafting != "distinct" or all((r.numerators > 0).sum() > 1 for r in draft))
    case = drafted_as(random_case(target, draft), parents, drafting)
    found = comparison(case)
    for one in (found.rule, *found.others):
        assert one.lossless
        assert one.acceptance <= found.best_acceptance.lower
        assert one.accepted <= found.best_accepted.lower
    assert found.best_accepted.how != BOUNDS


@settings(max_examples=25, deadline=None)
@given(LEVELS, LEVELS, st.sampled_from(DRAFTINGS))
def test_a_further_draft_never_lowers_the_best(
    target: list[Row], draft: list[Row], drafting: Drafting
) -> None:
    assume(drafting != "distinct" or all((r.numerators > 0).sum() > 1 for r in draft))
    chain = random_case(target, draft)
    growing = [(ROOT,), PAIR, EARLY_LEAF, TWO_PATHS, (*TWO_PATHS, 1)]
    values = [best_accepted(drafted_as(chain, parents, drafting)).value for parents in growing]
    assert None not in values
    assert values == sorted(values)  # type: ignore[type-var]


def any_fractions(count: int) -> st.SearchStrategy[list[Fraction]]:
    """Returns lists of small fractions of both signs."""
    one = st.fractions(min_value=-1, max_value=2, max_denominator=12)
    return st.lists(one, min_size=count, max_size=count)


@settings(max_examples=15, deadline=None)
@given(any_fractions(40), any_fractions(6))
def test_any_plan_and_any_prices_bound_the_value(
    shares: list[Fraction], prices: list[Fraction]
) -> None:
    # So that nothing rests on what the floating-point solver returns.
    program = Program.of(drafted_as(toy(2), TWO_PATHS, "independent"))
    plan = dict(zip(program.shares, shares, strict=True))
    lower = program.lower(plan)
    upper = program.upper(dict(zip(program.chances, prices, strict=True)))
    assert 0 <= lower <= Fraction(131, 81) <= upper


def test_a_bound_that_is_not_met_is_no_value() -> None:
    program = Program.of(drafted_as(toy(2), TWO_PATHS, "independent"))
    assert program.lower({}) == 0
    assert program.upper(dict.fromkeys(program.chances, Fraction(0))) == 2
