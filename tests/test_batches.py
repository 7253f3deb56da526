"""Drafts follow the draft law, and the rows handed over belong to the drafted prefix."""

import numpy as np
import torch
from scipy import special

from audit.harness.batches import Keys, draft, interleaved, step_batch
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


def test_rows_belong_to_the_drafted_prefix():
    case = prefix_dependent(2)
    tables = deck(case)
    rows, tokens = drafts_of(tables, 30)
    batch = step_batch(tables, rows, tokens, copies=None)
    for i, block in enumerate(tokens.tolist()):
        for position in range(3):
            expected = case.target[tuple(block[:position])].floats()
            assert batch.target_probs[i, position].tolist() == expected.tolist()
        assert batch.draft_probs[i, 1].tolist() == case.draft[(block[0],)].floats().tolist()


def test_context_free_rows_are_views_unless_there_are_copies():
    tables = deck(article(2))
    rows, tokens = drafts_of(tables, 1000)
    views = step_batch(tables, rows, tokens, copies=None)
    assert views.target_probs.stride()[0] == 0
    copies = (views.target_probs.contiguous(), views.draft_probs.contiguous())
    copied = step_batch(tables, rows, tokens, copies=copies)
    assert copied.target_probs.is_contiguous()
    assert torch.equal(views.target_probs, copied.target_probs)


def test_shorter_rows_of_a_mixed_call_are_padded():
    tables = deck(article(1), prefix_dependent(2))
    rows, tokens = drafts_of(tables, 4)
    batch = step_batch(tables, rows, tokens, copies=None)
    assert batch.num_draft_tokens.tolist() == [1, 2] * 4
    assert bool((tokens[0::2, 1] == -1).all())
    assert bool((batch.target_probs[0::2, 2] == 0).all())
    assert batch.target_probs[0, 1].tolist() == [0.2, 0.5, 0.3]
