"""The `[tree]` table: what a good one gives, and one clear sentence for each way to break it."""

import pytest

from audit.casefile.document import is_large, parse_case
from audit.errors import CaseError
from audit.tree import Tree
from tests.test_casefile_document import GOOD

PAIR = {"parents": [-1, -1], "drafting": "distinct"}
ONE = GOOD | {"num_speculative_tokens": 1, "tree": PAIR}


def problems(document, **tree):
    with pytest.raises(CaseError) as error:
        parse_case(document | {"tree": PAIR | tree}, file="a.toml")
    return error.value.problems


def test_a_good_tree():
    case = parse_case(ONE, file="a.toml")
    assert case.tree == Tree((-1, -1), "distinct")
    assert (case.drafted, case.drafting, case.large) == (2, "distinct", False)


def test_a_tree_is_part_of_what_a_case_is():
    chain = GOOD | {"num_speculative_tokens": 1}
    hashes = {
        parse_case(document, file="a.toml").hash
        for document in (chain, ONE, ONE | {"tree": PAIR | {"drafting": "fixed"}})
    }
    assert len(hashes) == 3


@pytest.mark.parametrize(
    ("tree", "said"),
    [
        ({"parents": "x"}, '[tree] parents is "x", but must be an array such as [-1, -1, 0];'),
        ({"parents": []}, "[tree] has no node, but needs at least one;"),
        ({"parents": [-1, "0"]}, '[tree] parents holds "0" for node 1, but must hold node numbers'),
        ({"parents": [-1, True]}, "[tree] parents holds true for node 1"),
        (
            {"parents": [-1, 1]},
            "[tree] parent 1 of node 1 must be from -1 (the start of the round)",
        ),
        ({"parents": [-1] * 65}, "[tree] parents has 65 nodes, above the bound of 64;"),
        ({"parents": [-1, 0]}, "[tree] is 2 nodes deep, but num_speculative_tokens is 1;"),
        ({"drafting": "drawn"}, "[tree] drafting is \"drawn\", but must be 'independent', "),
        ({"draft": 1}, '[tree] draft is an unknown key; did you mean "drafting"?'),
    ],
)
def test_each_mistake_has_its_sentence(tree, said):
    (problem,) = problems(ONE, **tree)
    assert problem.startswith(f"a.toml: {said}")
    assert problem.endswith((".", "?"))


def test_a_tree_must_be_a_table():
    with pytest.raises(CaseError, match=r"\[tree\] is 5, but must be a table"):
        parse_case(ONE | {"tree": 5}, file="a.toml")


def test_a_tree_must_be_small_enough_to_be_counted():
    (problem,) = problems(ONE, parents=[-1] * 13, drafting="independent")
    assert "needs V^nodes (depth + 1) V^(depth + 1) = 28,697,814 cells" in problem
    assert not is_large(ONE | {"tree": {"parents": [-1] * 13}})  # it can only be refused


def test_a_huge_document_with_a_broken_tree_is_refused_at_once():
    huge = ONE | {"vocab_size": 1_000_000, "num_speculative_tokens": 16}
    assert any("[tree]" in problem for problem in problems(huge, parents=[0]))


@pytest.mark.parametrize(("drafting", "fits"), [("independent", True), ("distinct", False)])
def test_a_draft_row_must_have_an_id_for_every_different_sibling(drafting, fits):
    sure = GOOD | {"draft": {"extend": "repeat", "": ["1/2", "1/2", "0"], "0": ["0", "1", "0"]}}
    tree = {"parents": [-1, -1, 0, 0], "drafting": drafting}
    if fits:
        assert parse_case(sure | {"tree": tree}, file="a.toml").drafted == 4
        return
    (problem,) = problems(sure, **tree)
    assert problem == (
        'a.toml: [draft] row "0" has 1 id of positive probability, but [tree] draws 2 different '
        "siblings from it; give it more, or take independent siblings."
    )


def test_a_row_that_nothing_reaches_may_be_short():
    draft = {"extend": "repeat", "": ["1/2", "1/2", "0"], "2": ["0", "1", "0"]}
    tree = {"parents": [-1, -1, 0, 0], "drafting": "distinct"}
    assert parse_case(GOOD | {"draft": draft, "tree": tree}, file="a.toml").drafted == 4
