"""Chunks are fixed beforehand, cover every trial once, and mix an eighth of them."""

import pytest

from audit.harness.schedule import MIN_CALLS, automatic_batch_size, call_rows, chunks
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


def test_batch_size_falls_with_the_vocabulary():
    assert automatic_batch_size(3, 2) == 2**19 // 9
    assert automatic_batch_size(2, 1) == 65_536
    assert automatic_batch_size(128_256, 1) == 4
