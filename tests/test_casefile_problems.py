"""Complaints: one sentence a problem, with place, value, bound and hint; none are lost."""

from audit.casefile.problems import MAX_PROBLEMS, Problems, hint
from audit.casefile.schema import HeaderTable, RowsTable, SamplingTable

HEADER = {"id": "x", "why": "Why.", "vocab_size": 3, "num_speculative_tokens": 2}


def complaints(model, values, **options):
    problems = Problems("a.toml")
    assert problems.table(model, values, **options) is None
    return problems.error().problems


def test_a_good_table_comes_back_and_adds_nothing():
    problems = Problems("a.toml")
    table = problems.table(HeaderTable, HEADER)
    assert table is not None
    assert table.vocab_size == 3
    assert problems.count == 0


def test_all_problems_of_a_table_are_named_with_place_value_and_bound():
    found = complaints(HeaderTable, {"id": "A", "vocab_size": 0, "certify": 1, "gamma": 2})
    assert sorted(found) == [
        "a.toml: certify is 1, but must be 'full' or 'partition'; correct it.",
        "a.toml: gamma is an unknown key; known are vocab_size, num_speculative_tokens, id, why, "
        "certify.",
        'a.toml: id is "A", but must be 1 to 64 of a-z, 0-9 and "-", the first no "-"; rename it.',
        "a.toml: num_speculative_tokens is missing; add it.",
        "a.toml: vocab_size is 0, but must be at least 1; correct it.",
        "a.toml: why is missing; add it.",
    ]


def test_types_are_named_in_the_words_of_toml():
    found = complaints(HeaderTable, HEADER | {"id": 5, "vocab_size": "3"})
    assert "a.toml: id is 5, but must be a string in quotes; correct it." in found
    assert 'a.toml: vocab_size is "3", but must be an integer without quotes; correct it.' in found
    assert complaints(SamplingTable, [1], name="sampling") == (
        "a.toml: [sampling] is an array, but must be a table; correct it.",
    )


def test_an_unknown_key_gets_the_nearest_known_one():
    assert complaints(RowsTable, {"extnd": "none"}, name="draft") == (
        'a.toml: [draft] extnd is an unknown key; did you mean "extend"?',
    )
    assert complaints(HeaderTable, HEADER | {"targets": {}}, also=["target"]) == (
        'a.toml: targets is an unknown key; did you mean "target"?',
    )
    assert hint("zzz", ["a", "b"]) == "known are a, b."


def test_hostile_keys_stay_on_one_short_line():
    for key in ("\x1b[2J", "a\nb", "k" * 10_000):
        (found,) = complaints(RowsTable, {key: 1}, name="draft")
        assert found.isprintable()
        assert len(found) < 250


def test_a_table_of_very_many_keys_is_refused_as_a_whole():
    (found,) = complaints(RowsTable, {f"k{n}": 1 for n in range(1000)}, name="draft")
    assert "has 1000 keys, above the bound of 100" in found


def test_many_problems_are_counted_and_the_first_ones_spelt_out():
    problems = Problems("a.toml")
    for number in range(1000):
        problems.add(f"row {number}", "is wrong.")
    found = problems.error().problems
    assert len(found) == MAX_PROBLEMS + 1
    assert found[-1] == "a.toml: 900 more problems; correct these first."


def test_attempt_turns_a_value_error_into_a_problem():
    problems = Problems("a.toml")
    assert problems.attempt("x", lambda: 3) == 3
    assert problems.attempt("x", lambda: int("y")) is None
    assert problems.count == 1
