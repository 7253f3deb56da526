"""Counts: what a table's axes mean, checked against rounds counted one by one."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.counts import Counts, tokens_of

# Rounds with V = 3 and gamma = 2: (draft block, emitted block, completion of the emitted block).
ROUNDS = [
    ((0, 1), (2,), (2, 0, 1)),
    ((0, 1), (0, 2), (0, 2, 2)),
    ((0, 1), (0, 1, 1), (0, 1, 1)),
    ((2, 2), (2,), (2, 2, 0)),
    ((2, 2), (2,), (2, 0, 1)),
]


def code(tokens):
    return int("".join(map(str, tokens)), base=3)


def counted(rounds):
    table = np.zeros((9, 3, 27), dtype=np.int64)
    for draft, emitted, completed in rounds:
        table[code(draft), len(emitted) - 1, code(completed)] += 1
    return Counts((table,), (3,))


def test_trials_lengths_and_completed_blocks():
    counts = counted(ROUNDS)
    assert counts.trials == 5
    assert counts.lengths().tolist() == [3, 1, 1]
    assert counts.completed()[code((2, 0, 1))] == 2
    assert counts.completed().sum() == 5


def test_emitted_blocks_forget_their_completion_and_keep_their_draft():
    ones = counted(ROUNDS).emitted(1)
    assert ones.shape == (9, 3)
    assert ones[code((0, 1)), 2] == 1
    assert ones[code((2, 2)), 2] == 2
    assert counted(ROUNDS).emitted(2)[code((0, 1)), code((0, 2))] == 1


def test_outcomes_are_the_emitted_blocks():
    assert counted(ROUNDS).outcomes() == {(2,): 3, (0, 2): 1, (0, 1, 1): 1}


def test_counts_add_up():
    both = counted(ROUNDS[:2]) + counted(ROUNDS[2:])
    assert np.array_equal(both.tables[0], counted(ROUNDS).tables[0])


def test_counts_over_other_bins_are_refused():
    other = Counts((np.zeros((1, 3, 8), dtype=np.int64),), (2,))
    with pytest.raises(ValueError, match="cannot be added"):
        counted(ROUNDS) + other


def test_a_view_without_drafts_has_one_draft_cell():
    table = np.zeros((1, 2, 16), dtype=np.int64)
    table[0, 0, 7] = 2  # bins 1 and 3 of 4, of which the first was emitted
    counts = Counts((counted(ROUNDS).tables[0], table), (3, 4))
    assert counts.outcomes(view=1) == {(1,): 2}
    assert counts.completed(view=1).shape == (16,)


@given(st.integers(2, 7), st.lists(st.integers(0, 1), min_size=1, max_size=6))
def test_a_code_reads_the_first_token_as_the_leading_digit(base, tokens):
    number = 0
    for token in tokens:
        number = number * base + token
    assert tokens_of(number, base=base, length=len(tokens)) == tuple(tokens)
