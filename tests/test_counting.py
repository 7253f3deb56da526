"""Completion and counting: one row traced by hand, then laws."""

import numpy as np
import torch
from scipy import special

from audit.harness.batches import Keys, draft, interleaved
from audit.harness.counting import Observed, Tally, completed, counts_of
from audit.harness.deck import deck_of
from audit.harness.null import handed_over
from audit.harness.togetherness import Togetherness
from audit.harness.views import View, head_of
from tests.worlds import article, prefix_dependent

CPU = torch.device("cpu")


def deck(case):
    return deck_of([handed_over(case, torch.float64)], dtype=torch.float64, device=CPU)


def test_one_row_lands_in_its_cell():
    # Row [2, -1, -1] with draft (0, 1), completed to (2, 1, 0), by hand.
    tally = Tally(View("tokens", article(2)), device=CPU)
    seen = Observed(torch.tensor([[0, 1]]), torch.tensor([1]), torch.tensor([[2, 1, 0]]))
    tally.add(seen)
    counts, first = counts_of([tally])
    assert counts.outcomes() == {(2,): 1}
    assert counts.tables[0][1, 0, 2 * 9 + 1 * 3 + 0] == 1
    assert counts.trials == first.trials == 1
    assert counts.lengths().tolist() == [1, 0, 0]


def test_first_rows_are_counted_apart():
    tally = Tally(View("tokens", article(1)), device=CPU)
    for _ in range(3):
        tally.add(
            Observed(torch.tensor([[0], [1]]), torch.tensor([1, 2]), torch.tensor([[0, 0], [1, 2]]))
        )
    everything, first = counts_of([tally])
    assert everything.outcomes() == {(0,): 3, (1, 2): 3}
    assert first.outcomes() == {(0,): 3}


def test_a_head_counts_first_tokens_alone():
    # ids in the order of p = .2 .5 .3: 1, 2, 0; the second tokens, whatever they are, count nothing
    tally = Tally(head_of(article(2)), device=CPU)
    blocks = torch.tensor([[1, 0, 0], [2, 2, 0], [0, 0, 0], [1, 2, 1]])
    tally.add(Observed(torch.zeros(4, 2, dtype=torch.int64), torch.tensor([1, 3, 2, 2]), blocks))
    counts, _ = counts_of([tally])
    assert counts.completed().tolist() == [2, 1, 1]
    assert counts.lengths().tolist() == [1, 2, 1]


def test_completion_keeps_what_was_emitted_and_follows_the_target():
    # False-alarm rate 1e-6; control: the law of another prefix must be refused.
    case = prefix_dependent(2)
    tables = deck(case)
    rows = interleaved(tables, 0, 40_000, first_trial=0)
    tokens = torch.full((40_000, 3), -1)
    tokens[:, 0] = 1
    whole = completed(tables, rows, tokens, Keys.of(tables, seed=5, purpose="completion"))
    assert bool((whole[:, 0] == 1).all())
    counts = np.bincount((whole[:, 1] * 3 + whole[:, 2]).numpy(), minlength=9)

    def p_value(first: int) -> float:
        law = np.array(
            [
                float(case.target[(first,)][a] * case.target[(first, a)][b])
                for a in range(3)
                for b in range(3)
            ]
        )
        statistic = ((counts - 40_000 * law) ** 2 / (40_000 * law)).sum()
        return float(special.chdtrc(8, statistic))

    assert p_value(1) > 1e-6
    assert p_value(2) < 1e-6


def test_completions_have_no_part_in_drafts():
    tables = deck(article(1))
    rows = interleaved(tables, 0, 1000, first_trial=0)
    nothing = torch.full((1000, 2), -1)
    completions = completed(tables, rows, nothing, Keys.of(tables, seed=1, purpose="completion"))
    drafted = draft(tables, rows, Keys.of(tables, seed=1, purpose="draft"))
    assert not torch.equal(completions[:, :1], drafted)


def test_pairs_of_rows_and_calls_by_hand():
    together = Togetherness(torch.tensor([0.2, 0.5, 0.3]), 1)
    for rows in (5, 4, 3):
        blocks = torch.zeros(rows, 2, dtype=torch.int64)
        together.add(Observed(blocks[:, :1], torch.ones(rows, dtype=torch.int64), blocks))
    calls, row_pairs, call_pairs = together.tables()
    assert calls.sum(axis=1).tolist() == [5, 4, 3]
    assert row_pairs.sum(axis=(1, 2)).tolist() == [
        2 + 2 + 1,  # (0,1) (2,3)
        2 + 1 + 1,  # (1,2) (3,4)
        2 + 2 + 0,  # (0,2) (1,3)
        2 + 2 + 1,  # the other half
    ]
    assert call_pairs.sum(axis=(1, 2)).tolist() == [3, 4]  # calls (1,2); calls (0,1)


def test_the_last_token_of_a_case_is_noted_where_its_rows_end():
    # The middle of the mass of token 0, 1 and 2 is .1, .45 and .85.
    blocks = torch.tensor([[1, 0, 0], [1, 0, 2], [1, 2, 0]])
    seen = Observed(blocks[:, :2], torch.full((3,), 3), blocks)
    for last, categories in ((2, [4, 5, 6]), (1, [4, 4, 7])):
        together = Togetherness(torch.tensor([0.2, 0.5, 0.3]), last)
        together.add(seen)
        (counts,) = together.tables().calls
        assert sorted(categories) == np.repeat(np.arange(16), counts).tolist()


def test_categories_are_of_completed_tokens_not_of_lengths():
    together = Togetherness(torch.tensor([0.2, 0.5, 0.3]), 1)
    block = torch.tensor([[2, 0]] * 6)
    for length in (1, 2):
        together.add(Observed(block[:, :1], torch.full((6,), length), block))
    calls, _, _ = together.tables()
    assert (calls[0] == calls[1]).all()
