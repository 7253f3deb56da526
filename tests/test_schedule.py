"""Chunks are fixed beforehand, cover every trial once, and mix an eighth of them."""

import pytest

from audit.harness.schedule import (
    MIN_CALLS,
    SMALL_CALLS,
    automatic_batch_size,
    call_rows,
    chunks,
    only_small_call_rows,
    small_call_rows,
)
from audit.statistics.certificate import looks


@pytest.mark.parametrize("cap", [1, 2, 9, 200, 777, 20_000, 2_000_000])
def test_chunks_cover_every_trial_once(cap):
    made = chunks(looks(cap))
    assert [c.first for c in made] == [sum(c.trials for c in made[:i]) for i in range(len(made))]
    assert sum(chunk.trials for chunk in made) == cap


@pytest.mark.parametrize("cap", [200, 20_000, 20_000_000])
def test_an_eighth_of_the_trials_is_mixed_at_every_look(cap):
    declared = looks(cap)
    made = chunks(declared)
    for look, n in enumerate(declared, start=1):
        mixed = sum(c.trials for c in made if c.mixed and c.look <= look)
        assert 8 * mixed >= n


def test_a_chunk_is_made_in_enough_calls_for_dependence_to_show():
    assert len(call_rows(1000, batch_size=65_536)) == MIN_CALLS
    assert [len(rows) for rows in call_rows(20, batch_size=2)] == [2] * 10
    assert call_rows(3, batch_size=100) == [range(0, 1), range(1, 2), range(2, 3)]


def sizes(calls):
    return [len(call) for call in calls]


@pytest.mark.parametrize("rows", [1, 2, 7, 25, 77, 225, 5000])
@pytest.mark.parametrize("batch_size", [1, 5, 64, 4096])
@pytest.mark.parametrize("calls_of", [small_call_rows, only_small_call_rows])
def test_small_calls_cover_every_row_once_and_in_order(calls_of, rows, batch_size):
    calls = calls_of(rows, batch_size=batch_size)
    assert [row for call in calls for row in call] == list(range(rows))
    assert max(sizes(calls)) <= batch_size


def test_mixed_calls_begin_with_small_ones_that_take_a_quarter_at_most():
    calls = sizes(small_call_rows(5000, batch_size=4096))
    assert calls[:20] == 4 * list(SMALL_CALLS)
    assert set(calls[20:]) == {(5000 - 4 * sum(SMALL_CALLS)) // MIN_CALLS}
    assert sizes(small_call_rows(25, batch_size=4096))[:3] == [1, 2, 3]


def test_small_calls_alone_share_the_rows_evenly():
    calls = sizes(only_small_call_rows(10_000, batch_size=4096))
    shares = [size * calls.count(size) for size in SMALL_CALLS]
    assert max(shares) - min(shares) <= 2 * 64
    assert sum(shares) >= 10_000 - 64


def test_batch_size_falls_with_the_vocabulary():
    assert automatic_batch_size(3, 2) == 2**19 // 9
    assert automatic_batch_size(2, 1) == 65_536
    assert automatic_batch_size(128_256, 1) == 4
