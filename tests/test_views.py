"""Partitions of a large vocabulary: exact masses, bounded cells, secret hash bins."""

from fractions import Fraction

from audit.harness.views import PARTITION_CELLS, views_of
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
