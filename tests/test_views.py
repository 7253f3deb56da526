"""Partitions of a large vocabulary: exact masses, bounded cells, secret hash bins."""

from fractions import Fraction

from audit.harness.views import HEAD, PARTITION_CELLS, head_of, likeliest, views_of
from audit.selection import select_cases
from tests.worlds import article


def test_a_small_case_is_seen_token_by_token_with_its_drafts():
    (view,) = views_of(article(2), key=b"k")
    assert view.drafts
    assert view.shape == (9, 3, 27)


def test_a_large_case_is_seen_through_four_partitions():
    (case,) = select_cases(["zipf-1000"])
    views = views_of(case, key=b"secret")
    assert [view.name for view in views] == ["ratio", "rank", "tail", "hash"]
    for view in views:
        assert not view.drafts
        assert view.shape[2] <= 2 * PARTITION_CELLS
        row = view.case.target[()]
        assert sum(row) == 1
        token = 17
        assert len(view.labels) == case.vocab_size
        same = [i for i, label in enumerate(view.labels) if label == view.labels[token]]
        assert row[int(view.labels[token])] == sum((case.target[()][i] for i in same), Fraction(0))


def test_hash_bins_depend_on_the_key():
    (case,) = select_cases(["zipf-1000"])
    one, other = (views_of(case, key=key)[3].labels.tolist() for key in (b"a", b"b"))
    assert one != other


def test_the_head_of_a_large_case_is_its_likeliest_ids_and_the_rest():
    (case,) = select_cases(["zipf-1000"])
    view, ids = head_of(case), likeliest(case).tolist()
    target = case.target[()]
    assert view.shape == (1, case.num_speculative_tokens + 1, HEAD + 1)
    assert [view.case.target[()][n] for n in range(HEAD)] == [target[token] for token in ids]
    others = (target[token] for token in range(1000) if token not in ids)
    assert view.case.target[()][HEAD] == sum(others, Fraction(0))
    assert [int(view.labels[token]) for token in ids] == list(range(HEAD))


def test_the_head_of_few_ids_is_all_of_them():
    view = head_of(article(2))
    assert view.shape == (1, 3, 3)
    assert view.labels.tolist() == [2, 0, 1]  # p = .2 .5 .3
