"""Rows of a case file: reading them, and which of them must be there."""

import pytest

from audit.case import Rows
from audit.casefile.problems import Problems
from audit.casefile.rows import Laws, missing_rows, reachable, read_rows
from audit.casefile.schema import SamplingTable, Sizes
from audit.row import Row

FIRST = Row.normalised([1, 1, 0])
LAST = Row.normalised([0, 0, 1])
ZERO = Row.normalised([1, 0, 0])


def read(document, *, vocab_size=3):
    sizes = Sizes(vocab_size, 1)
    problems = Problems("a.toml")
    laws = read_rows(document, sizes=sizes, problems=problems)
    return laws, problems.error().problems


def test_rows_are_read_by_prefix():
    laws, problems = read(
        {
            "target": {"extend": "repeat", "": ["1/2", "1/2", "0"], "2": ["0", "0", "1"]},
            "draft": {"": ["0", "0", "1.0"]},
        }
    )
    assert problems == ()
    assert laws.target[()] == FIRST
    assert laws.target[(2,)] == LAST
    assert (laws.target.extend, laws.draft.extend) == ("repeat", "none")


def test_the_draft_needs_prefixes_one_shorter_than_the_target():
    row = ["1", "0", "0"]
    _, problems = read({"target": {"": row, "0": row}, "draft": {"": row, "0": row}})
    assert len(problems) == 1
    assert '[draft] row "0" has 1 token, but the longest prefix of this table has 0' in problems[0]


def test_every_wrong_token_is_named():
    _, problems = read({"target": {"": ["-1", 0.5, "1"]}, "draft": {"": "1"}})
    assert [problem.partition(" is ")[0] for problem in problems] == [
        'a.toml: [target] row "", token 0,',
        'a.toml: [target] row "", token 1,',
        'a.toml: [draft] row ""',
    ]


@pytest.mark.parametrize("table", [5, "x", ["1"], None])
def test_a_table_that_is_none(table):
    laws, problems = read({"target": table, "draft": {"": ["1", "0", "0"]}})
    assert laws is None
    assert problems[0].startswith("a.toml: [target] is ")


def test_rows_stand_beside_generated_ones_in_vain():
    _, problems = read({"generated": {"seed": 1}, "draft": {}}, vocab_size=100)
    assert problems == ("a.toml: [draft] stands beside [generated], which makes it; remove one.",)


def test_generated_rows_are_context_free():
    laws, _ = read({"generated": {"seed": 1}}, vocab_size=100)
    assert laws.target.context_free
    assert laws.draft.context_free
    assert len(laws.target[(7,)]) == 100


def test_a_seed_that_proposes_nothing_is_a_problem():
    # With one id and factors 0 and 1, half the seeds leave the draft empty.
    outcomes = [
        read({"generated": {"seed": s, "draft_spread": 1}}, vocab_size=1) for s in range(30)
    ]
    empty = [problems for laws, problems in outcomes if laws is None]
    assert 0 < len(empty) < 30
    assert all("makes every draft weight 0; choose another" in found[0] for found in empty)


def test_rules_apply_to_the_side_they_are_for():
    laws = Laws(Rows({(): FIRST}), Rows({(): FIRST}))
    for side, hot in (("target", (True, False)), ("draft", (False, True)), ("both", (True, True))):
        sampling = SamplingTable.model_validate({"temperature": "0", "apply_to": side})
        after = laws.after(sampling)
        assert (after.target[()] == ZERO, after.draft[()] == ZERO) == hot
    assert laws.after(SamplingTable()).target.rule is laws.target.rule


def test_reachable_prefixes_have_positive_probability():
    rows = Rows({(): FIRST, (0,): LAST, (1,): ZERO}, "none")
    assert list(reachable(rows, 2)) == [(), (0,), (1,), (0, 2), (1, 0)]


def test_rows_are_demanded_along_both_models_and_nowhere_else():
    # Two tokens: the target goes 0 or 1 and then 2; the draft goes 2 and then 0.
    target = Rows({(): FIRST, (0,): LAST, (1,): LAST}, "none")
    draft = Rows({(): LAST}, "none")
    assert list(missing_rows(Laws(target, draft), 2)) == [
        '[target] row "2"',
        '[target] row "0 2"',
        '[target] row "1 2"',
        '[draft] row "2"',
    ]
    whole = {(): FIRST, (0,): LAST, (1,): LAST, (2,): ZERO, (0, 2): ZERO, (1, 2): ZERO}
    laws = Laws(Rows({**whole, (2, 0): ZERO}, "none"), Rows({(): LAST, (2,): ZERO}, "none"))
    assert list(missing_rows(laws, 2)) == []
