"""Single values of a case file: what each accepts, and what its complaint tells the user."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.casefile import checks


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("0", Fraction(0)),
        ("1", Fraction(1)),
        ("1/5", Fraction(1, 5)),
        ("2/10", Fraction(1, 5)),
        ("0.2", Fraction(1, 5)),
        (".5", Fraction(1, 2)),
        ("0.1" + "0" * 300, Fraction(1, 10)),
    ],
)
def test_fractions_and_decimals_are_read_exactly(text, value):
    assert checks.rational(text) == value


@given(st.floats(0, 1))
def test_every_probability_that_a_float64_holds_can_be_written(number):
    assert checks.rational(str(Fraction(number))) == number


@pytest.mark.parametrize(
    ("value", "complaint"),
    [
        (0.5, "is 0.5, which is not a string"),
        (1, "is 1, which is not a string"),
        (True, "is true, which is not a string"),
        (None, "not a string"),
        (["1/5"], "is an array, which is not a string"),
        (float("nan"), "is nan, which is not a string"),
        ("nan", "not a rational"),
        ("inf", "not a rational"),
        ("1e400", "not a rational"),
        ("1e-3", "not a rational"),
        ("", "not a rational"),
        (" 1/5", "not a rational"),
        ("1_0/50", "not a rational"),
        ("1/2/3", "not a rational"),
        ("1.5/2", "not a rational"),
        ("٣/٤", "not a rational"),
        ("+1/2", "not a rational"),
        ("1/" + "3" * 10_000, r"\(10004 characters\), which is not a rational of at most 400"),
        ("-1/5", 'is "-1/5", which is negative'),
        ("-0", 'is "-0", which is negative'),
        ("-0.0", "negative"),
        ("1/0", "divides by 0"),
        ("0/000", "divides by 0"),
    ],
)
def test_anything_else_is_refused_with_its_value_and_the_next_step(value, complaint):
    with pytest.raises(ValueError, match=complaint) as error:
        checks.rational(value)
    assert str(error.value).endswith((".", "?"))
    assert len(str(error.value)) < 250


@pytest.mark.parametrize("name", ["a", "article-three-tokens", "0", "a" * 64])
def test_good_ids(name):
    assert checks.case_id(name) == name


@pytest.mark.parametrize(
    "name", ["", "-a", "A", "a/b", "../a", "a\n", "a b", "ä", "a" * 65, "a" * 10_000, "\x1b[2J"]
)
def test_bad_ids_are_refused_without_repeating_them_raw(name):
    with pytest.raises(ValueError, match="must be 1 to 64 of a-z") as error:
        checks.case_id(name)
    assert str(error.value).isprintable()
    assert len(str(error.value)) < 250


@pytest.mark.parametrize("text", ["", "  ", "a\nb", "a\x00", "\u202e", "a" * 301])
def test_a_reason_is_one_printable_sentence(text):
    with pytest.raises(ValueError, match="must be one sentence"):
        checks.sentence(text)


@pytest.mark.parametrize(("key", "tokens"), [("", ()), ("0", (0,)), ("2 0 1", (2, 0, 1))])
def test_prefixes(key, tokens):
    assert checks.prefix(key, vocab_size=3, longest=3) == tokens


@pytest.mark.parametrize(
    ("key", "complaint"),
    [
        ("0,1", "is no prefix"),
        ("0  1", "is no prefix"),
        (" 0", "is no prefix"),
        ("01", "is no prefix"),
        ("-1", "is no prefix"),
        ("9" * 5000, "is no prefix"),
        ("0 3", r"holds token 3, but ids lie in 0\.\.2"),
        ("0 1 2", "has 3 tokens, but the longest prefix of this table has 2"),
    ],
)
def test_wrong_prefixes(key, complaint):
    with pytest.raises(ValueError, match=complaint):
        checks.prefix(key, vocab_size=3, longest=2)


def test_unknown_sizes_are_not_checked():
    assert checks.prefix("7 8 9", vocab_size=None, longest=None) == (7, 8, 9)
    assert len(checks.row([Fraction(1)], vocab_size=None)) == 1


def test_a_row_must_sum_to_exactly_one_and_the_sum_is_printed():
    row = checks.row([Fraction(1, 3)] * 3, vocab_size=3)
    assert list(row) == [Fraction(1, 3)] * 3
    with pytest.raises(
        ValueError, match=r"sums to 11/10, but must sum to exactly 1; take away 1/10"
    ):
        checks.row([Fraction(3, 5), Fraction(1, 2)], vocab_size=2)
    almost = [Fraction(1, 10)] * 9 + [Fraction(10**20 - 1, 10**21)]
    with pytest.raises(ValueError, match=f"add 1/1{'0' * 21}"):
        checks.row(almost, vocab_size=10)


def test_a_row_with_two_faults_names_both():
    with pytest.raises(
        ValueError, match=r"has 1 probabilities, but vocab_size is 2.* It sums to 1/2"
    ):
        checks.row([Fraction(1, 2)], vocab_size=2)


def test_a_common_denominator_that_would_fill_the_memory_is_refused_at_once():
    values = [Fraction(1, 10**100 + n) for n in range(10_000)]
    with pytest.raises(ValueError, match="common denominator of more than 400 digits"):
        checks.row(values, vocab_size=10_000)


@pytest.mark.parametrize("value", ["0", "1", "1/2", "1/64"])
def test_temperatures_with_an_integer_inverse(value):
    assert checks.temperature(Fraction(value)) == Fraction(value)


@pytest.mark.parametrize("value", ["2", "2/3", "0.7", "1/65"])
def test_other_temperatures_are_irrational_or_too_cold(value):
    with pytest.raises(ValueError, match='must be "0" or 1/k with k from 1 to 64'):
        checks.temperature(Fraction(value))


def test_top_k_lies_within_the_vocabulary():
    assert checks.top_k(3, vocab_size=3) == 3
    for value in (0, -1, 4):
        with pytest.raises(ValueError, match=f"is {value}, but must be from 1 to vocab_size = 3"):
            checks.top_k(value, vocab_size=3)


@pytest.mark.parametrize("value", ["0", "3/2"])
def test_top_p_is_above_zero_and_at_most_one(value):
    with pytest.raises(ValueError, match="above 0 and at most 1"):
        checks.top_p(Fraction(value))


@pytest.mark.parametrize("value", ["0", "1/3", "9/2"])
def test_exponents_are_halves(value):
    with pytest.raises(ValueError, match="multiple of 1/2"):
        checks.exponent(Fraction(value))


def test_values_are_shown_on_one_short_line():
    assert checks.shown({}) == "a table"
    assert checks.shown(2**100) == "an integer of 101 bits"
    assert checks.shown(16**60_000) == "an integer of 240001 bits"
    assert checks.shown("\x1b]0;title\x07") == '"\\u001b]0;title\\u0007"'
    assert len(checks.shown("x" * 10**6)) < 100
