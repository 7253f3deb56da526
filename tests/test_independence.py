"""Independence: nominal for biased independent rows, and found where rows share randomness.

Rows are simulated by the ratio rule on the article's case, gamma = 1: nine completed blocks.
"""

from collections.abc import Callable
from itertools import product

import numpy as np
import pytest
from frequencies import at_most

from audit.statistics.independence import (
    Association,
    Evenness,
    Independence,
    IndependenceGate,
    independence,
)

P, Q = np.array([0.2, 0.5, 0.3]), np.array([0.5, 0.3, 0.2])
RESIDUAL = np.array([0, 2 / 3, 1 / 3])
LEVEL = 1.5e-7  # the share of independence in the default alpha
Calls = list[np.ndarray]


def picked(law: np.ndarray, uniform: np.ndarray) -> np.ndarray:
    return np.minimum(np.searchsorted(np.cumsum(law), uniform, side="right"), 2)


def call_of(
    rng: np.random.Generator, noise: np.ndarray, *, recovered: np.ndarray = RESIDUAL
) -> np.ndarray:
    """Returns completed blocks; noise [3, rows]: uniforms for coin, recovered token and bonus."""
    rows = noise.shape[1]
    drafts = picked(Q, rng.random(rows))
    kept = noise[0] < (P / Q)[drafts]
    first = np.where(kept, drafts, picked(recovered, noise[1]))
    second = np.where(kept, picked(P, noise[2]), picked(P, rng.random(rows)))
    return 3 * first + second


def tables(calls: Calls) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    counts = np.array([np.bincount(call, minlength=9) for call in calls])
    even = len(calls[0]) // 2 * 2
    rows = [(call[0:even:2], call[1:even:2]) for call in calls]
    pairs = [np.zeros((9, 9), dtype=np.int64) for _ in range(2)]
    for table, seen in zip(pairs, (rows, zip(calls[::2], calls[1::2], strict=True)), strict=True):
        for one, other in seen:
            np.add.at(table, (one, other), 1)
    return counts, pairs[0], pairs[1]


def independent(rng: np.random.Generator, calls: int, rows: int) -> Calls:
    """A biased sampler (full-target fallback) with independent rows."""
    return [call_of(rng, rng.random((3, rows)), recovered=P) for _ in range(calls)]


def shared(rng: np.random.Generator, calls: int, rows: int) -> Calls:
    """All rows of a call share their coins."""
    return [call_of(rng, np.repeat(rng.random((3, 1)), rows, axis=1)) for _ in range(calls)]


def in_pairs(rng: np.random.Generator, calls: int, rows: int) -> Calls:
    """Neighbouring rows share their coins."""
    noise = (np.repeat(rng.random((3, rows // 2)), 2, axis=1) for _ in range(calls))
    return [call_of(rng, uniforms) for uniforms in noise]


def repeated(rng: np.random.Generator, calls: int, rows: int) -> Calls:
    """Two consecutive calls use the same noise."""
    noise = [rng.random((3, rows)) for _ in range(calls // 2)]
    return [call_of(rng, uniforms) for uniforms in noise for _ in range(2)]


def copied(rng: np.random.Generator, calls: int, rows: int) -> Calls:
    """A row is the copy of one donor row of its call with probability .05."""
    done = independent(rng, calls, rows)
    for call in done:
        call[rng.random(rows) < 0.05] = call[rng.integers(rows)]
    return done


def stratified(rng: np.random.Generator, calls: int, rows: int) -> Calls:
    """The blocks of a call are drawn in exact proportion."""
    edges = np.cumsum(np.kron(P, P))
    strata = [(np.arange(rows) + rng.random(rows)) / rows for _ in range(calls)]
    return [np.minimum(np.searchsorted(edges, rng.permutation(u)), 8) for u in strata]


def results(world: Callable[..., Calls], calls: int, rows: int, runs: int) -> list[Independence]:
    rng = np.random.default_rng([calls, rows, runs])
    return [independence(*tables(world(rng, calls, rows))) for _ in range(runs)]


@pytest.mark.parametrize(
    ("calls", "rows", "runs"),
    [(8, 8, 800), (8, 25, 800), (200, 8, 60), (8, 400, 400), (8, 4096, 60)],
)
def test_biased_but_independent_rows_are_not_accused(calls: int, rows: int, runs: int) -> None:
    found = [result.p_value for result in results(independent, calls, rows, runs)]
    for alpha in (0.1, 0.01, 0.001):
        assert at_most(sum(p <= alpha for p in found), runs, rate=alpha)


@pytest.mark.parametrize(
    ("world", "calls", "rows", "kind"),
    [
        (shared, 8, 25, "batch"),
        (in_pairs, 8, 200, "row"),
        (repeated, 8, 200, "call"),
        (repeated, 40, 25, "call"),
        (copied, 20, 4096, "batch"),
        (stratified, 40, 25, "batch"),
        (stratified, 8, 4096, "batch"),
    ],
)
def test_shared_randomness_is_found(
    world: Callable[..., Calls], calls: int, rows: int, kind: str
) -> None:
    found = results(world, calls, rows, 60)
    hits = [r for r in found if r.p_value < LEVEL and r.kind == kind]
    assert at_most(60 - len(hits), 60, rate=0.01)
    assert all(r.too_regular is (world is stratified) for r in hits)
    assert {(r.calls, r.rows) for r in found} == {(calls, calls * rows)}


def test_dispersion_tells_how_much_the_calls_differ() -> None:
    assert np.mean([r.dispersion for r in results(copied, 20, 4096, 20)]) > 5
    assert np.mean([r.dispersion for r in results(stratified, 8, 4096, 20)]) < 0.05


@pytest.mark.parametrize("share", [0.5, 0.2])
def test_uneven_level_is_exact_by_enumeration(share: float) -> None:
    """Three calls of three rows, two outcomes: every one of the 512 sequences."""
    chances, p_values = [], []
    for rows in product((0, 1), repeat=9):
        ones = np.array(rows).reshape(3, 3).sum(axis=1)
        chances.append(share ** ones.sum() * (1 - share) ** (9 - ones.sum()))
        p_values.append(Association().updated(np.stack([ones, 3 - ones], axis=1)[None]).p_value)
    for alpha in set(p_values):
        assert sum(c for c, p in zip(chances, p_values, strict=True) if p <= alpha) <= alpha


def test_dispersion_is_one_on_average_by_enumeration() -> None:
    """Rows given their margins: 4 outcomes 0, 2 outcomes 1, 1 outcome 2 over calls of 3 and 4."""
    found = []
    for order in product(range(3), repeat=7):
        if sorted(order) == [0, 0, 0, 0, 1, 1, 2]:
            parts = order[:3], order[3:]
            counts = np.array([np.bincount(part, minlength=3) for part in parts])
            found.append(Association().updated(counts[None]).dispersion)
    assert len(found) == 105
    assert np.mean(found) == pytest.approx(1)


@pytest.mark.parametrize("share", [0.25, 0.5])
@pytest.mark.parametrize("rows", [8, 25, 400])
def test_even_level_holds_and_fails_for_balanced_rows(share: float, rows: int) -> None:
    rng = np.random.default_rng(20)
    ones = rng.binomial(rows, share, size=(2000, 8))
    found = [Evenness().updated(np.stack([row, rows - row], axis=1)).p_value for row in ones]
    assert at_most(sum(p <= 0.01 for p in found), 2000, rate=0.01)
    balanced = np.full((40, 2), rows)
    assert Evenness().updated(balanced).p_value < 1e-4


EMPTY = np.zeros((3, 3), dtype=np.int64)


@pytest.mark.parametrize(
    "table",
    [
        EMPTY,
        np.zeros((0, 3), dtype=np.int64),
        np.array([[0, 25, 0]] * 8),
        np.array([[10, 5, 1]]),
        np.array([[1, 0, 0], [0, 1, 0], [0, 0, 1]]),
        np.diag([1, 0, 0]),
    ],
)
def test_tables_that_cannot_vary_give_no_nan(table: np.ndarray) -> None:
    found = independence(table, EMPTY, EMPTY)
    assert found.p_value == 1
    assert np.isfinite(found.dispersion)


def test_one_outcome_only_is_no_evidence() -> None:
    pairs = np.diag([0, 10**6, 0])
    assert independence(np.array([[0, 4096, 0]] * 20), pairs, pairs).p_value == 1


def test_calls_made_unlike_are_not_held_against_their_rows() -> None:
    """A biased law in one stratum, the right one in another; false-alarm rate 1.5e-7 a run."""
    rng = np.random.default_rng(21)
    first = np.array([1.0, 0.0, 0.0])
    right = [call_of(rng, rng.random((3, 2000))) for _ in range(8)]
    biased = [call_of(rng, rng.random((3, 2000)), recovered=first) for _ in range(8)]
    apart = IndependenceGate.create().updated(*tables(right)).updated(*tables(biased)).reading()
    assert apart.p_value > LEVEL
    assert independence(*tables([*right, *biased])).p_value < LEVEL  # the control: one stratum


def test_strata_that_differ_in_size_are_compared() -> None:
    """Sizes of one law, 400 times at three levels; as control another law in one size."""
    rng = np.random.default_rng(22)
    one, other = np.full(8, 1 / 8), np.array([2, 1, 1, 1, 1, 1, 1, 0]) / 8
    sizes = (40, 300, 5000)

    def compared(*laws: np.ndarray) -> Independence:
        counts = [rng.multinomial(n, law) for n, law in zip(sizes, laws, strict=True)]
        return IndependenceGate.create().compared(np.stack(counts)).reading()

    found = [compared(one, one, one).p_value for _ in range(400)]
    for alpha in (0.1, 0.01, 0.001):
        assert at_most(sum(p <= alpha for p in found), 400, rate=alpha)
    unlike = compared(one, other, one)
    assert unlike.p_value < LEVEL
    assert unlike.kind == "size"
