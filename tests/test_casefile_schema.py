"""The tables of a case file: defaults, strictness, and the rules that `[sampling]` stands for."""

from fractions import Fraction

import pytest
from pydantic import ValidationError

from audit.casefile.schema import GeneratedTable, HeaderTable, RowsTable, SamplingTable, Sizes
from audit.row import Row

HEADER = {"id": "x", "why": "Why.", "vocab_size": 3, "num_speculative_tokens": 2}


def test_defaults():
    assert HeaderTable.model_validate(HEADER).certify == "full"
    assert RowsTable().extend == "none"
    assert SamplingTable().sentence == ""
    generated = GeneratedTable.model_validate({"seed": 1})
    assert (generated.exponent, generated.draft_spread) == (1, 16)


@pytest.mark.parametrize(
    "change",
    [
        {"vocab_size": True},
        {"vocab_size": 3.0},
        {"vocab_size": "3"},
        {"vocab_size": 0},
        {"vocab_size": 10**7},
        {"num_speculative_tokens": 0},
        {"num_speculative_tokens": 17},
        {"certify": "FULL"},
        {"gamma": 2},
    ],
)
def test_nothing_is_converted_or_ignored(change):
    with pytest.raises(ValidationError):
        HeaderTable.model_validate(HEADER | change)


def test_sizes_survive_whatever_else_is_wrong():
    assert Sizes.of(HEADER | {"id": 5}) == Sizes(3, 2)
    assert Sizes.of({"vocab_size": 3}) == Sizes(3, None)
    assert Sizes.of(HEADER | {"vocab_size": "3"}) == Sizes(None, 2)


def test_sampling_rules_of_a_table():
    table = SamplingTable.model_validate({"temperature": "0.5", "top_k": 2, "top_p": "9/10"})
    assert [str(v) for v in table.rules(Row.normalised([1, 2, 3]))] == ["0", "4/13", "9/13"]
    assert table.sentence == "temperature 1/2, top_k 2, top_p 9/10, applied to the target and draft"


def test_temperature_zero_is_greedy_and_one_is_off():
    greedy = SamplingTable.model_validate({"temperature": "0", "apply_to": "target"})
    assert greedy.rules.greedy
    assert greedy.sentence.endswith(", applied to the target")
    off = SamplingTable.model_validate({"temperature": "1"})
    assert off.rules.temperature_inverse is None
    assert off.sentence == ""


def test_top_k_is_bounded_by_the_vocabulary_of_the_context():
    assert SamplingTable.model_validate({"top_k": 9}).top_k == 9
    with pytest.raises(ValidationError):
        SamplingTable.model_validate({"top_k": 9}, context=Sizes(3, None))


def test_numbers_of_a_generated_table_are_rationals_in_quotes():
    table = GeneratedTable.model_validate({"seed": 0, "exponent": "3/2"})
    assert table.exponent == Fraction(3, 2)
    with pytest.raises(ValidationError):
        GeneratedTable.model_validate({"seed": 0, "exponent": 1.5})
