"""The three tests of preservation, each beside a control."""

import numpy as np
import torch

from audit.counts import Counts
from audit.judgement.prepare import set_up
from audit.judgement.preservation import Preservation, first_row_failures
from tests.simulation import budget_for
from tests.worlds import article, one_hot_target


def shown(case, completed_counts, **changes):
    """Preservation after these completed-block counts, all of full length."""
    budget = budget_for()
    setup = set_up(
        case, dtype=torch.float32, budget=budget, cap=20_000, seed=0, fixed=False, claims=""
    )
    base, gamma = case.vocab_size, case.num_speculative_tokens
    table = np.zeros((base**gamma, gamma + 1, base ** (gamma + 1)), dtype=np.int64)
    table[0, gamma] = completed_counts
    preservation = Preservation(setup, budget)
    preservation.update(Counts((table,), (base,)))
    return preservation


def test_counts_in_proportion_to_the_law_are_no_evidence():
    law = np.outer([0.2, 0.5, 0.3], [0.2, 0.5, 0.3]).ravel()
    exact = shown(article(1), np.round(law * 10_000).astype(int))
    assert exact.deviates() == exact.excluded() == exact.chi_square() == []


def test_counts_of_another_law_are_evidence_in_all_three_tests():
    law = np.outer([0.26, 0.45, 0.29], [0.2, 0.5, 0.3]).ravel()
    biased = shown(article(1), np.round(law * 10_000).astype(int))
    assert len(biased.deviates()) == len(biased.chi_square()) == 1
    assert biased.excluded() == []


def test_tokens_of_target_probability_zero_are_counted_against_the_tolerance():
    counts = np.zeros(9, dtype=int)
    counts[4] = 9_990
    few, many = counts.copy(), counts.copy()
    few[0], many[0] = 1, 10
    assert shown(one_hot_target(), few).excluded() == []  # 2e-6 x 9,991 allows one
    assert "10 impossible events" in shown(one_hot_target(), many).excluded()[0]


def test_first_rows_are_judged_by_themselves():
    law = np.outer([0.26, 0.45, 0.29], [0.2, 0.5, 0.3]).ravel()
    biased = shown(article(1), np.round(law * 10_000).astype(int))
    arguments = biased.setup, biased.budget
    assert "first row" in first_row_failures(*arguments, [biased.counts])[0]
    right = shown(article(1), np.round(np.outer([2, 5, 3], [2, 5, 3]).ravel() * 100).astype(int))
    assert first_row_failures(*arguments, [right.counts]) == ()
