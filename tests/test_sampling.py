"""Sampling rules on exact rows, against hand calculation and transformers' own warpers."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.row import Row
from audit.sampling import SamplingRules, keep_top_k, keep_top_p, most_probable

weights = st.lists(st.integers(0, 1000), min_size=1, max_size=12).filter(any)


def after(numbers, **rules):
    return list(SamplingRules(**rules)(Row.normalised(numbers)))


def test_temperature_raises_to_the_power_of_its_inverse():
    assert after([1, 2, 3], temperature_inverse=3) == [Fraction(n, 36) for n in (1, 8, 27)]


def test_top_k_keeps_every_token_tied_with_the_kth():
    assert after([1, 3, 3, 5], top_k=2) == [0, Fraction(3, 11), Fraction(3, 11), Fraction(5, 11)]
    assert after([1, 3, 3, 5], top_k=1) == [0, 0, 0, 1]


def test_top_p_keeps_the_token_that_crosses_and_no_further_one():
    assert after([5, 3, 2], top_p=Fraction(1, 2)) == [1, 0, 0]
    assert after([5, 3, 2], top_p=Fraction(501, 1000)) == [Fraction(5, 8), Fraction(3, 8), 0]
    assert after([5, 3, 2], top_p=Fraction(8, 10)) == [Fraction(5, 8), Fraction(3, 8), 0]
    assert after([5, 3, 2], top_p=Fraction(1)) == [Fraction(n, 10) for n in (5, 3, 2)]


def test_top_p_keeps_every_token_tied_with_the_last():
    assert after([1, 2, 1, 1], top_p=Fraction(3, 5)) == [Fraction(n, 5) for n in (1, 2, 1, 1)]


def test_top_p_sees_the_row_that_top_k_left():
    # Of 4/10, 3/10, 2/10, 1/10, top-k 2 leaves 4/7 and 3/7; 4/7 reaches 1/2, where 4/10 did not.
    assert after([4, 3, 2, 1], top_k=2, top_p=Fraction(1, 2)) == [1, 0, 0, 0]
    assert after([4, 3, 2, 1], top_p=Fraction(1, 2)) == [Fraction(4, 7), Fraction(3, 7), 0, 0]


def test_temperature_comes_first():
    # Squares 16, 9, 4, 1: 16/30 reaches 1/2 at once.
    assert after([4, 3, 2, 1], temperature_inverse=2, top_p=Fraction(1, 2)) == [1, 0, 0, 0]


def test_greedy_takes_the_most_probable_token_and_the_lowest_id_of_a_tie():
    assert after([1, 4, 2, 4], greedy=True) == [0, 1, 0, 0]
    assert after([1, 4, 2, 4], greedy=True, top_k=3, top_p=Fraction(1, 3)) == [0, 1, 0, 0]
    assert most_probable(Row.normalised([10**40, 10**40 + 1])) == 1


def test_no_rules_change_nothing():
    row = Row.normalised([3, 0, 5])
    assert SamplingRules()(row) == row


@given(weights, st.integers(1, 12), st.fractions(Fraction(1, 50), 1), st.integers(1, 4))
def test_rows_stay_rows_and_keep_their_order(numbers, top_k, top_p, inverse):
    row = Row.normalised(numbers)
    rules = SamplingRules(temperature_inverse=inverse, top_k=min(top_k, len(row)), top_p=top_p)
    kept = rules(row)
    assert sum(kept) == 1
    assert kept[most_probable(row)] > 0
    pairs = sorted(zip(row, kept, strict=True))
    assert [value for _, value in pairs] == sorted(kept)


@given(weights, st.fractions(Fraction(1, 50), 1))
def test_top_p_leaves_the_smallest_set_up_to_ties(numbers, top_p):
    kept = [number for number in keep_top_p(numbers, top_p) if number]
    assert sum(kept) >= top_p * sum(numbers)
    assert sum(n for n in kept if n > min(kept)) < top_p * sum(numbers)


@given(weights, st.data())
def test_top_k_is_the_count_of_strictly_larger_weights(numbers, data):
    k = data.draw(st.integers(1, len(numbers)))
    larger = [sum(other > number for other in numbers) for number in numbers]
    wanted = [n if above < k else 0 for n, above in zip(numbers, larger, strict=True)]
    assert keep_top_k(numbers, k) == wanted


def test_the_description_names_the_rules_that_are_on():
    assert SamplingRules().describe() == ""
    assert SamplingRules(top_k=3).describe() == "top_k 3"
    assert "lowest id" in SamplingRules(greedy=True).describe()


@pytest.mark.parametrize("seed", range(5))
def test_transformers_warpers_in_their_order_give_the_same_rows(seed):
    # Distinct integer weights: no tie at a cut, where its sort would decide.
    import torch
    from transformers.generation import logits_process as warpers

    generator = torch.Generator().manual_seed(seed)
    numbers = (torch.randperm(1000, generator=generator)[:40] + 1).tolist()
    scores = torch.tensor([numbers], dtype=torch.float64).log()
    for warper in (
        warpers.TemperatureLogitsWarper(0.5),
        warpers.TopKLogitsWarper(20),
        warpers.TopPLogitsWarper(0.87),
    ):
        scores = warper(None, scores)
    rules = SamplingRules(temperature_inverse=2, top_k=20, top_p=Fraction(87, 100))
    exact = torch.tensor(rules(Row.normalised(numbers)).floats())
    assert torch.equal(exact > 0, scores.softmax(-1)[0] > 0)
    torch.testing.assert_close(scores.softmax(-1)[0], exact, rtol=1e-12, atol=0)


def test_transformers_keeps_all_tokens_tied_at_the_kth_too():
    import torch
    from transformers.generation import logits_process as warpers

    scores = torch.tensor([[1.0, 3.0, 3.0, 5.0]]).log()
    kept = warpers.TopKLogitsWarper(2)(None, scores) > -float("inf")
    assert kept[0].tolist() == [value > 0 for value in after([1, 3, 3, 5], top_k=2)]
