"""How soon a case is expected to show a law that is not the target's, before the first trial.

The run's own gates, levels and schedule are asked: a failure is decided at the end of a chunk
that follows enough calls, a chi-square at a declared n. Laws are those of completed blocks, one
for each view of the case.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from audit.counts import Table
from audit.harness.schedule import automatic_batch_size, call_rows, chunks
from audit.judgement.conformity import SHARE
from audit.judgement.joint import JointNull
from audit.judgement.monitor import FEWEST_CALLS
from audit.judgement.prepare import CaseSetup
from audit.judgement.preservation import chi_square_level, impossible_level
from audit.statistics.certificate import MOST_TRIALS, looks
from audit.statistics.impossible import look_alpha
from audit.statistics.power import (
    chi_square_power,
    crossing_power,
    gate_course,
    impossible_power,
)
from audit.statistics.results import Array
from audit.verdict import Budget

Laws = Sequence[Array]


def chunk_trials(cap: int = MOST_TRIALS) -> Table:
    """Returns the trials of each chunk of a run that ends at `cap`, int64 [chunks]."""
    return np.array([chunk.trials for chunk in chunks(looks(cap))])


def e_process_powers(setup: CaseSetup, laws: Laws, budget: Budget, trials: Table) -> Array:
    """Returns the chance that the preservation gate has failed the case by each chunk."""
    courses = [gate_course(g, law, trials) for g, law in zip(setup.gates, laws, strict=True)]
    means, deviations = (np.stack(part) for part in zip(*courses, strict=True))
    leading = np.take_along_axis(deviations, means.argmax(axis=0)[np.newaxis], axis=0)[0]
    mean = np.logaddexp.reduce(means, axis=0) - np.log(len(means))
    return crossing_power(mean, leading, budget.log_threshold(Budget.PRESERVATION))


def impossible_powers(setup: CaseSetup, laws: Laws, budget: Budget, trials: Table) -> Array:
    """Returns the chance that completed blocks of target probability 0 have failed the case."""
    chance = max(float(law[t <= 0].sum()) for law, t in zip(laws, setup.laws, strict=True))
    return _impossible_powers(
        chance,
        trials,
        tolerance=setup.tolerance,
        level=lambda chunk: impossible_level(setup, budget, chunk=chunk),
    )


def conformity_powers(
    null: JointNull, law: Array, budget: Budget, trials: Table, *, tolerance: float
) -> Array:
    """Returns the chance that the declared rule is refuted by each chunk.

    law float64 [cells] is that of (draft, emitted), in the order of `null.law`.
    """
    level = budget.level(SHARE)
    excluded = _impossible_powers(
        float(law[null.law <= 0].sum()),
        trials,
        tolerance=tolerance,
        level=lambda chunk: look_alpha(level, chunk),
    )
    if null.gate is None:
        return excluded
    course = gate_course(null.gate, law[null.support], trials)
    return np.maximum(excluded, crossing_power(*course, budget.log_threshold(SHARE)))


def _impossible_powers(
    chance: float, trials: Table, *, tolerance: float, level: Callable[[int], float]
) -> Array:
    ends = np.cumsum(trials).tolist()
    powers = [
        impossible_power(chance, n=n, level=level(chunk), tolerance=tolerance)
        for chunk, n in enumerate(ends, start=1)
    ]
    return np.maximum.accumulate(powers)


def first_decision(setup: CaseSetup, powers: Array, trials: Table, *, power: float) -> int | None:
    """Returns the trials after the first chunk that decides with this power, None if none does."""
    size = automatic_batch_size(setup.case.vocab_size, setup.case.drafted)
    calls = np.cumsum([len(call_rows(n, batch_size=size)) for n in trials.tolist()])
    deciding = np.flatnonzero((powers >= power) & (calls >= FEWEST_CALLS))
    return int(np.cumsum(trials)[deciding[0]]) if len(deciding) else None


def chi_square_trials(setup: CaseSetup, laws: Laws, budget: Budget, *, power: float) -> int | None:
    """Returns the declared n at which the chi-square fails the case with this power."""
    low, high = 0, 1
    while chi_square_powers(setup, laws, budget, high) < power:
        low, high = high, 2 * high
        if low >= MOST_TRIALS:
            return None
    while high - low > max(1, low // 1000):
        middle = (low + high) // 2
        enough = chi_square_powers(setup, laws, budget, middle) >= power
        low, high = (low, middle) if enough else (middle, high)
    return high


def chi_square_powers(setup: CaseSetup, laws: Laws, budget: Budget, n: int) -> float:
    """Returns the chance that the chi-square of the view that sees most fails at a declared n."""
    level = chi_square_level(setup, budget)
    return max(
        chi_square_power(law, target, n=n, level=level, tolerance=setup.tolerance)
        for law, target in zip(laws, setup.laws, strict=True)
    )
