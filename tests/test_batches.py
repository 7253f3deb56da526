"""Drafts follow the draft law, and the rows handed over belong to the drafted prefix."""

import numpy as np
import torch
from scipy import special

from audit.harness.batches import Keys, batch_of, draft, interleaved, shuffled
from audit.harness.deck import deck_of
from audit.harness.null import handed_over
from tests.worlds import article, prefix_dependent

CPU = torch.device("cpu")


def deck(*cases):
    nulls = [handed_over(case, torch.float64) for case in cases]
    return deck_of(nulls, dtype=torch.float64, device=CPU)


def drafts_of(tables, n, seed=1):
    rows = interleaved(tables, 0, n * len(tables.cases), first_trial=0)
    return rows, draft(tables, rows, Keys.of(tables, seed=seed, purpose="draft"))


def pearson_p(counts, law):
    keep = law > 0
    assert counts[~keep].sum() == 0
    expected = counts.sum() * law[keep]
    statistic = ((counts[keep] - expected) ** 2 / expected).sum()
    return float(special.chdtrc(keep.sum() - 1, statistic))


def block_law(case):
    return np.array(
        [float(case.draft[()][a] * case.draft[(a,)][b]) for a in range(3) for b in range(3)]
    )


def test_draft_blocks_follow_the_draft_law():
    # False-alarm rate 1e-6; the control compares with another case's law and must be refused.
    case = prefix_dependent(2)
    _, tokens = drafts_of(deck(case), 50_000)
    counts = np.bincount((tokens[:, 0] * 3 + tokens[:, 1]).numpy(), minlength=9)
    assert pearson_p(counts, block_law(case)) > 1e-6
    assert pearson_p(counts, block_law(article(2))) < 1e-6


def test_drafts_of_a_trial_do_not_depend_on_its_call():
    tables = deck(prefix_dependent(2))
    keys = Keys.of(tables, seed=3, purpose="draft")
    whole = draft(tables, interleaved(tables, 0, 100, first_trial=40), keys)
    parts = [
        draft(tables, interleaved(tables, first, first + 20, first_trial=40), keys)
        for first in range(0, 100, 20)
    ]
    assert torch.equal(whole, torch.cat(parts))


def test_a_case_drafts_the_same_alone_and_among_others():
    alone, mixed = deck(prefix_dependent(2)), deck(article(2), prefix_dependent(2))
    _, one = drafts_of(alone, 50)
    _, both = drafts_of(mixed, 50)
    assert torch.equal(one, both[1::2])


def test_shuffled_rows_are_every_trial_of_every_case_once_whatever_the_calls():
    tables = deck(article(2), prefix_dependent(2), article(2))
    keys = Keys.of(tables, seed=3, purpose="order")
    whole = shuffled(tables, 0, 300, first_trial=40, keys=keys)
    assert whole.case.view(100, 3).sort(dim=1).values.tolist() == [[0, 1, 2]] * 100
    assert whole.trial.tolist() == [40 + row // 3 for row in range(300)]
    for size in (1, 7, 150):
        parts = [
            shuffled(tables, first, min(first + size, 300), first_trial=40, keys=keys)
            for first in range(0, 300, size)
        ]
        assert torch.equal(torch.cat([part.case for part in parts]), whole.case)
        assert torch.equal(torch.cat([part.trial for part in parts]), whole.trial)
        for part in parts:
            assert all((part.case[own] == case).all() for case, own in enumerate(part.own))
            assert sum(len(part.case[own]) for own in part.own) == len(part.case)


def test_the_order_of_shuffled_cases_has_no_pattern():
    # 6 orders of 3 cases, 12,000 trials; false-alarm rate 1e-6, turns in a row as the control.
    tables = deck(article(2), prefix_dependent(2), article(1))
    keys = Keys.of(tables, seed=3, purpose="order")
    for rows, good in (
        (shuffled(tables, 0, 36_000, first_trial=0, keys=keys), True),
        (interleaved(tables, 0, 36_000, first_trial=0), False),
    ):
        order = (rows.case.view(-1, 3) * torch.tensor([9, 3, 1])).sum(dim=1)
        counts = np.bincount(order.numpy(), minlength=27)
        possible = np.isin(np.arange(27), [5, 7, 11, 15, 19, 21])
        assert (pearson_p(counts, possible / 6) > 1e-6) == good


def test_rows_belong_to_the_drafted_prefix():
    case = prefix_dependent(2)
    tables = deck(case)
    rows, tokens = drafts_of(tables, 30)
    batch = batch_of(tables, rows, tokens, copies=None)
    for i, block in enumerate(tokens.tolist()):
        for position in range(3):
            expected = case.target[tuple(block[:position])].floats()
            assert batch.target_probs[i, position].tolist() == expected.tolist()
        assert batch.draft_probs[i, 1].tolist() == case.draft[(block[0],)].floats().tolist()


def test_context_free_rows_are_views_unless_there_are_copies():
    tables = deck(article(2))
    rows, tokens = drafts_of(tables, 1000)
    views = batch_of(tables, rows, tokens, copies=None)
    assert views.target_probs.stride()[0] == 0
    copies = (views.target_probs.contiguous(), views.draft_probs.contiguous())
    copied = batch_of(tables, rows, tokens, copies=copies)
    assert copied.target_probs.is_contiguous()
    assert torch.equal(views.target_probs, copied.target_probs)


def test_shorter_rows_of_a_mixed_call_are_padded():
    tables = deck(article(1), prefix_dependent(2))
    rows, tokens = drafts_of(tables, 4)
    batch = batch_of(tables, rows, tokens, copies=None)
    assert batch.num_draft_tokens.tolist() == [1, 2] * 4
    assert bool((tokens[0::2, 1] == -1).all())
    assert bool((batch.target_probs[0::2, 2] == 0).all())
    assert batch.target_probs[0, 1].tolist() == [0.2, 0.5, 0.3]
