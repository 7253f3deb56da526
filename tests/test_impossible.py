"""Impossible events: proof at tolerance 0, an exact tail above it."""

import numpy as np
from frequencies import at_most

from audit.statistics.impossible import impossible_events, look_alpha


def test_one_event_is_proof_without_a_tolerance() -> None:
    assert impossible_events(1, 10**7).p_value == 0
    assert impossible_events(0, 10**7).p_value == 1


def test_events_within_the_tolerance_are_no_evidence() -> None:
    assert impossible_events(20, 10**7, tolerance=2e-6).p_value > 0.5
    assert impossible_events(60, 10**7, tolerance=2e-6).p_value < 1e-10


def test_a_tolerance_of_everything_excludes_nothing() -> None:
    assert impossible_events(5, 5, tolerance=3.0).p_value == 1


def test_level_holds_where_opportunities_differ_and_fails_beyond_it() -> None:
    rng = np.random.default_rng(1)
    tolerances = np.repeat([0.001, 0.019], 500)
    for scale, holds in ((1.0, True), (2.0, False)):
        events = rng.binomial(1, scale * tolerances, size=(4000, 1000)).sum(axis=1)
        hits = sum(impossible_events(k, 1000, tolerance=0.01).p_value <= 0.01 for k in events)
        assert at_most(hits, 4000, rate=0.01) is holds


def test_looks_spend_alpha_and_no_more() -> None:
    spent = sum(look_alpha(1e-6, look) for look in range(1, 10_001))
    assert 0.999e-6 < spent < 1e-6
