"""Whether two kinds of rounds have one law.

An e-value of 1e6 is reached with a chance of 1e-6 where they have; counts are drawn by numpy from
the law of one round, written down by hand.
"""

from __future__ import annotations

import math

import numpy as np
import pytest

from audit.counts import Counts
from audit.judgement.difference import log_e_of_difference

BAR = math.log(1e6)


def counts(law, n, seed):
    """Returns n rounds of a law float64 [drafts, gamma + 1, blocks] of two tokens."""
    drawn = np.random.default_rng(seed).multinomial(n, law.ravel() / law.sum())
    return Counts((drawn.reshape(law.shape),), (2,))


def law(*, recovered=0.5, bonus=0.5, gamma=1):
    """A round that keeps half of the drafts; the last draft then decides nothing but the shares."""
    shape = (2**gamma, gamma + 1, 2 ** (gamma + 1))
    found = np.zeros(shape)
    for draft in range(2**gamma):
        first = draft >> (gamma - 1)
        for block in range(shape[2]):
            token, last = block >> gamma, block & 1
            found[draft, 0, block] = recovered if token == first else 1 - recovered
            if block >> 1 == draft:
                found[draft, gamma, block] = bonus if last == draft & 1 else 1 - bonus
    return found


@pytest.mark.parametrize("gamma", [1, 2])
def test_rounds_of_one_law_do_not_differ(gamma):
    one = law(recovered=0.7, bonus=0.2, gamma=gamma)
    assert log_e_of_difference(counts(one, 4_000, 1), counts(one, 9_000, 2)) < BAR


@pytest.mark.parametrize("gamma", [1, 2])
@pytest.mark.parametrize("changed", ["recovered", "bonus"])
def test_rounds_of_two_laws_differ_though_their_emitted_tokens_do_not(changed, gamma):
    # Both kinds emit 0 and 1 alike; only given the draft are they apart.
    one, other = law(gamma=gamma), law(gamma=gamma, **{changed: 0.7})
    assert log_e_of_difference(counts(one, 4_000, 1), counts(other, 9_000, 2)) > BAR


def test_nothing_seen_does_not_differ():
    nothing = counts(law(), 0, 1)
    assert log_e_of_difference(nothing, counts(law(), 100, 2)) == pytest.approx(0)
