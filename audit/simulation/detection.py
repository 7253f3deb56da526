"""How many rounds the faults of the catalogue survive: as foreseen, and as observed."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np

from audit.judgement import foresight
from audit.judgement.bias import Bias
from audit.judgement.prepare import CaseSetup
from audit.simulation.drawn import followed
from audit.simulation.runs import setups
from audit.statistics.certificate import MOST_TRIALS, looks
from audit.verdict import Budget

BUDGET = Budget(alpha=1e-6, delta=1e-3, epsilon=1e-4, cases=1)  # no certificate ends a run early
CAP = 200_000
_PATIENCE = 10  # times the rounds that nine runs in ten should need


@dataclass(frozen=True)
class Detection:
    """A fault on the case that shows it best.

    expected and late: the rounds after which half and nine tenths of all runs should have failed
    it; observed and latest: when half and all of `runs` had. missed: runs that never did.
    """

    fault: str
    case: str
    tv: float
    expected: int
    late: int
    runs: int
    observed: int
    latest: int
    missed: int


@cache
def prepared(case: str) -> CaseSetup:
    """Returns the setup of a shipped case, made once a process."""
    (setup,) = setups((case,), BUDGET, CAP)
    return setup


def detection(fault_and_case: tuple[str, str], *, runs: int, seed: int) -> Detection:
    """Returns how long `runs` runs take to fail a fault on a case that sees it.

    Raises: ValueError where a billion rounds do not show it.
    """
    fault, case = fault_and_case
    setup = prepared(case)
    bias = Bias.of(setup, fault)
    expected, late = (_rounds(setup, bias, power=power) for power in (0.5, 0.9))
    rng = np.random.default_rng([seed, *fault.encode()])
    cap = next(n for n in looks(MOST_TRIALS) if n >= min(_PATIENCE * late, MOST_TRIALS))
    made = [followed(setup, bias.laws(1.0), BUDGET, looks=looks(cap), rng=rng) for _ in range(runs)]
    stops = sorted(monitor.trials for monitor in made)
    return Detection(
        fault=fault,
        case=case,
        tv=bias.most,
        expected=expected,
        late=late,
        runs=runs,
        observed=stops[(runs - 1) // 2],
        latest=stops[-1],
        missed=sum(not monitor.failures for monitor in made),
    )


def _rounds(setup: CaseSetup, bias: Bias, *, power: float) -> int:
    trials, laws = foresight.chunk_trials(), bias.laws(1.0)
    found = [
        foresight.first_decision(setup, powers(setup, laws, BUDGET, trials), trials, power=power)
        for powers in (foresight.e_process_powers, foresight.impossible_powers)
    ]
    known = [n for n in found if n is not None]
    if not known:
        raise ValueError(f"{bias.fault} is not seen on {setup.case.id}")
    return min(known)
