"""The dependence watch: silent on independent calls, a sentence on shared ones."""

import numpy as np

from audit.harness.collect import Collected
from audit.harness.togetherness import Together
from audit.judgement.dependence import DependenceWatch
from tests.simulation import budget_for

NOTHING = np.zeros((8, 8), dtype=np.int64)


def watched(*calls):
    """Returns a watch that has seen these calls, a table for each size of calls."""
    watch = DependenceWatch(budget_for())
    tables = tuple(Together(np.array(table), NOTHING, NOTHING) for table in calls)
    watch.update(Collected(None, None, tables))
    return watch


def test_calls_that_differ_by_chance_say_nothing():
    # False-alarm rate 1.5e-7 / 2, the level of one case at its first chunk.
    calls = np.random.default_rng(1).multinomial(100, [0.3, 0.2, 0.5, 0, 0, 0, 0, 0], size=20)
    watch = watched(calls)
    assert watch.sentence() == ""
    assert watch.calls == 20


def test_calls_that_each_have_one_outcome_are_told():
    calls = np.zeros((20, 8), dtype=np.int64)
    calls[np.arange(20), np.arange(20) % 3] = 100
    assert "the rows of a call are too alike" in watched(calls).sentence()


def test_calls_that_are_all_the_same_are_told():
    assert "too regular" in watched([[50, 30, 20, 0, 0, 0, 0, 0]] * 200).sentence()


def test_calls_of_unlike_size_are_compared_and_not_held_against_their_rows():
    # False-alarm rate 1.5e-7 / 2 each; the shares of the second size are those of another law.
    rng = np.random.default_rng(1)
    one, other = ([0.5, 0.3, 0.2, 0, 0, 0, 0, 0], [0.2, 0.3, 0.5, 0, 0, 0, 0, 0])
    same = watched(rng.multinomial(1, one, size=400), rng.multinomial(64, one, size=20))
    assert same.sentence() == same.by_size() == ""
    unlike = watched(rng.multinomial(1, other, size=400), rng.multinomial(64, one, size=20))
    assert unlike.sentence() == ""
    assert "depends on how many rows its call has" in unlike.by_size()
    assert unlike.test().kind == "size"
