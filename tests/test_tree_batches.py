"""Drafts of a tree: their law, the rows handed over with them, and how they are counted."""

from collections import defaultdict
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
import torch
from scipy import special

from audit.harness.batches import Keys, batch_of, draft, interleaved
from audit.harness.counting import Observed, Tally, counts_of
from audit.harness.deck import deck_of
from audit.harness.null import handed_over
from audit.harness.views import View
from audit.samplers.interface import TreeBatch
from audit.tree import Tree
from tests.worlds import article, prefix_dependent

CPU = torch.device("cpu")
DRAFTINGS = ("independent", "distinct", "fixed")
PARENTS = (-1, -1, 0, 0, 1)


def with_tree(case, parents=PARENTS, drafting="distinct"):
    return replace(case, tree=Tree(parents, drafting))


def deck(*cases):
    nulls = [handed_over(case, torch.float64) for case in cases]
    return deck_of(nulls, dtype=torch.float64, device=CPU)


def drafts_of(tables, n, seed=1):
    rows = interleaved(tables, 0, n * len(tables.cases), first_trial=0)
    return rows, draft(tables, rows, Keys.of(tables, seed=seed, purpose="draft"))


def chances(row, elder, drafting):
    """The law of the next sibling, from the definition."""
    if drafting == "independent":
        return list(row)
    if drafting == "fixed":
        ranked = sorted(range(len(row)), key=lambda token: (-row[token], token))
        return [Fraction(token == ranked[len(elder)]) for token in range(len(row))]
    left = [Fraction(0) if token in elder else p for token, p in enumerate(row)]
    return [p / sum(left) for p in left]


def exact_law(case):
    """P(tokens of all nodes), by enumeration."""
    tree, law = case.tree, {(): Fraction(1)}
    for node, parent in enumerate(tree.parents):
        longer = defaultdict(Fraction)
        for tokens, mass in law.items():
            row = case.draft[tuple(tokens[i] for i in tree.path(parent))]
            elder = [tokens[i] for i in tree.children(parent) if i < node]
            for token, chance in enumerate(chances(row, elder, tree.drafting)):
                longer[(*tokens, token)] += mass * chance
        law = longer
    return np.array([float(mass) for mass in law.values()])


def pearson_p(counts, law):
    keep = law > 0
    if counts[~keep].sum():
        return 0.0
    expected = counts.sum() * law[keep]
    statistic = ((counts[keep] - expected) ** 2 / expected).sum()
    return float(special.chdtrc(max(keep.sum() - 1, 1), statistic))


@pytest.mark.parametrize("world", [article, prefix_dependent])
@pytest.mark.parametrize("drafting", DRAFTINGS)
def test_drafts_follow_the_law_of_the_tree(world, drafting):
    # False-alarm rate 1e-6 each; the controls are the two other ways to draft.
    case = with_tree(world(2), drafting=drafting)
    _, tokens = drafts_of(deck(case), 30_000)
    code = sum(tokens[:, node] * 3 ** (4 - node) for node in range(5))
    counts = np.bincount(code.numpy(), minlength=3**5)
    assert pearson_p(counts, exact_law(case)) > 1e-6
    for other in set(DRAFTINGS) - {drafting}:
        assert pearson_p(counts, exact_law(with_tree(world(2), drafting=other))) < 1e-6


def test_fixed_siblings_are_ranked_with_ties_to_the_lower_id():
    # G2: the draft row is (1/2, 3/10, 1/5), after token 0 (1/4, 1/4, 1/2).
    case = with_tree(prefix_dependent(2), drafting="fixed")
    _, tokens = drafts_of(deck(case), 5)
    assert tokens.tolist() == [[0, 1, 2, 0, 2]] * 5


def test_drafts_of_a_trial_do_not_depend_on_its_call():
    tables = deck(with_tree(prefix_dependent(2)))
    keys = Keys.of(tables, seed=3, purpose="draft")
    whole = draft(tables, interleaved(tables, 0, 100, first_trial=40), keys)
    parts = [
        draft(tables, interleaved(tables, first, first + 20, first_trial=40), keys)
        for first in range(0, 100, 20)
    ]
    assert torch.equal(whole, torch.cat(parts))


def test_rows_belong_to_the_path_of_their_node():
    case = with_tree(prefix_dependent(2))
    tables = deck(case)
    rows, tokens = drafts_of(tables, 30)
    batch = batch_of(tables, rows, tokens, copies=None)
    assert isinstance(batch, TreeBatch)
    assert batch.parents.tolist() == list(PARENTS)
    for i, drafted in enumerate(tokens.tolist()):
        for node in range(-1, 5):
            path = tuple(drafted[step] for step in case.tree.path(node))
            expected = case.target[path].floats()
            assert batch.target_probs[i, node + 1].tolist() == expected.tolist()
        for node, parent in enumerate(PARENTS):
            path = tuple(drafted[step] for step in case.tree.path(parent))
            assert batch.draft_probs[i, node].tolist() == case.draft[path].floats().tolist()


def test_context_free_rows_are_views_unless_there_are_copies():
    tables = deck(with_tree(article(2)))
    rows, tokens = drafts_of(tables, 1000)
    views = batch_of(tables, rows, tokens, copies=None)
    assert views.target_probs.shape == (1000, 6, 3)
    assert views.target_probs.stride()[:2] == (0, 0)
    copies = (views.target_probs.contiguous(), views.draft_probs.contiguous())
    copied = batch_of(tables, rows, tokens, copies=copies)
    assert copied.draft_probs.is_contiguous()
    assert torch.equal(views.draft_probs, copied.draft_probs)


def test_rows_of_two_cases_with_one_tree_share_a_call():
    one, other = with_tree(article(2)), with_tree(prefix_dependent(2))
    tables = deck(one, other)
    rows, tokens = drafts_of(tables, 50)
    batch = batch_of(tables, rows, tokens, copies=None)
    alone, mine = drafts_of(deck(other), 50)
    assert torch.equal(tokens[1::2], mine)
    expected = batch_of(deck(other), alone, mine, copies=None)
    assert torch.equal(batch.target_probs[1::2], expected.target_probs)


def test_one_row_lands_in_its_cell():
    # Drafts (0, 1, 2, 0, 1) of five nodes, emitted (2), completed to (2, 1, 0), by hand.
    tally = Tally(View("tokens", with_tree(article(2))), device=CPU)
    drafts = torch.tensor([[0, 1, 2, 0, 1]])
    tally.add(Observed(drafts, torch.tensor([1]), torch.tensor([[2, 1, 0]])))
    counts, _ = counts_of([tally])
    code = 1 * 27 + 2 * 9 + 0 * 3 + 1
    assert counts.tables[0].shape == (243, 3, 27)
    assert counts.tables[0][code, 0, 2 * 9 + 1 * 3 + 0] == 1
    assert counts.emitted(1)[code].tolist() == [0, 0, 1]
