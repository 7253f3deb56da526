"""From tables to a Case: what a good document gives, and how its parts must fit together."""

from fractions import Fraction

import pytest

from audit.casefile.document import MAX_FULL_CELLS, full_cells, is_large, parse_case
from audit.errors import CaseError

ROW = ["1/5", "1/2", "3/10"]
GOOD = {
    "id": "x",
    "why": "Why.",
    "vocab_size": 3,
    "num_speculative_tokens": 2,
    "target": {"extend": "repeat", "": ROW},
    "draft": {"extend": "repeat", "": ROW},
}


def problems(**changes):
    document = {key: value for key, value in (GOOD | changes).items() if value is not None}
    with pytest.raises(CaseError) as error:
        parse_case(document, file="a.toml")
    return error.value.problems


def test_a_good_document():
    case = parse_case(GOOD, file="a.toml")
    assert (case.id, case.why, case.vocab_size, case.num_speculative_tokens) == ("x", "Why.", 3, 2)
    assert (case.certify, case.sampling, case.greedy, case.large) == ("full", "", False, False)
    assert case.source == "a.toml"
    assert case.target[(2, 1)][1] == Fraction(1, 2)


def test_sampling_rules_are_applied_and_described():
    case = parse_case(GOOD | {"sampling": {"top_k": 2, "apply_to": "draft"}}, file="a.toml")
    assert list(case.draft[()]) == [0, Fraction(5, 8), Fraction(3, 8)]
    assert case.target[()][0] == Fraction(1, 5)
    assert case.sampling == "top_k 2, applied to the draft"


@pytest.mark.parametrize(("side", "greedy"), [("target", True), ("both", True), ("draft", False)])
def test_a_case_is_greedy_where_its_target_is(side, greedy):
    sampling = {"temperature": "0", "apply_to": side}
    assert parse_case(GOOD | {"sampling": sampling}, file="a.toml").greedy is greedy


def test_rows_that_the_rules_make_unreachable_are_not_demanded():
    target = {"": ROW, "1": ROW, "1 1": ROW}
    draft = {"": ROW, "1": ROW}
    sampling = {"temperature": "0"}
    parse_case(GOOD | {"target": target, "draft": draft, "sampling": sampling}, file="a.toml")
    assert len(problems(target=target, draft=draft)) > 1


def test_missing_tables_and_keys():
    assert problems(target=None, why=None) == (
        "a.toml: why is missing; add it.",
        "a.toml: [target] is missing; add it, or [generated] for a large vocabulary.",
    )


def test_everything_wrong_is_said_at_once():
    found = problems(
        id="No",
        certify="ful",
        target={"": ["1/5", "1/2", "1/5"], "0": ROW, "1": ["-1", "1", "1"], "7": ROW},
        draft={"extend": "repeat", "": ["1/2", "1/2"]},
        sampling={"temperature": "3", "top_k": 4, "top_q": "1/2"},
        extra=1,
    )
    for part in (
        "id is",
        "certify is",
        "extra is an unknown key",
        "[sampling] temperature is",
        "[sampling] top_k is 4, but must be from 1 to vocab_size = 3",
        '[sampling] top_q is an unknown key; did you mean "top_p"?',
        '[target] row "" sums to 9/10',
        '[target] row "1", token 0, is "-1", which is negative',
        '[target] row "7" holds token 7',
        '[draft] row "" has 2 probabilities, but vocab_size is 3',
    ):
        assert sum(part in problem for problem in found) == 1, part
    assert all(problem.startswith("a.toml: ") for problem in found)


def test_a_missing_row_shows_beside_other_problems():
    found = problems(target={"": ROW, "0": ROW, "1": ["1"]}, num_speculative_tokens=1)
    assert len(found) == 2
    assert found[1] == (
        'a.toml: [target] row "2" is missing, but its prefix can occur; add it or choose another '
        "extend."
    )


def test_cells_are_those_of_the_counts_table():
    # tables[0] is [V^gamma, gamma + 1, V^(gamma + 1)]: 3^2 x 3 x 3^3.
    assert full_cells(3, 2) == 9 * 3 * 27
    assert full_cells(1, 16) == 17


def test_a_case_too_large_to_count_by_token_must_be_a_partition_and_context_free():
    long_row = ["1", *["0"] * 999]
    large = {"vocab_size": 1000, "num_speculative_tokens": 1}
    repeat = {"extend": "repeat", "": long_row}
    assert is_large(large)
    (found,) = problems(**large, target=repeat, draft=repeat)
    assert 'certify is "full"' in found
    assert f"= 2,000,000,000 cells, above the bound of {MAX_FULL_CELLS:,}" in found
    dependent = {"extend": "repeat", "": long_row, "0": long_row}
    (found,) = problems(**large, target=dependent, draft=repeat, certify="partition")
    assert "[target] and [draft] depend on the prefix" in found
    case = parse_case(
        GOOD | large | {"target": repeat, "draft": repeat, "certify": "partition"}, file="a.toml"
    )
    assert case.large


def test_absurd_sizes_are_refused_before_any_row_is_made():
    found = problems(vocab_size=1_000_000, num_speculative_tokens=16)
    assert any("certify is" in problem for problem in found)
    assert all(len(problem) < 400 for problem in found)


def test_sizes_that_are_wrong_leave_nothing_large():
    assert not is_large({})
    assert not is_large({"vocab_size": "a", "num_speculative_tokens": 1})


def test_one_token_is_a_vocabulary():
    one = {"extend": "repeat", "": ["1"]}
    case = parse_case(GOOD | {"vocab_size": 1, "target": one, "draft": one}, file="a.toml")
    assert list(case.target[(0, 0)]) == [1]
