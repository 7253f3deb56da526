"""How many rounds a fault or a bias takes to be found, before any sampling.

What is asked about is a direction in which a law departs from the target: that of a catalogued
fault, present in every round or in the share of them that gives a wanted total variation; or the
flattest one, in which a chi-square over all blocks sees a bias worst. An answer is a number of
rounds after which the failure is expected with the wanted power, by the tests of a run with the
same alpha, epsilon and selection of cases.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from audit.case import Case
from audit.errors import UsageError
from audit.exact.catalogue import headline, rule, verifies
from audit.judgement import foresight
from audit.judgement.bias import Bias
from audit.judgement.prepare import CaseSetup, set_up, trials_to_certify
from audit.selection import select_cases
from audit.settings import DEFAULTS, Settings, check
from audit.statistics.results import Array
from audit.verdict import Budget

Status = Literal["seen", "blind", "undefined", "out of reach", "other drafts", "too large"]
_HALVINGS = 24
_SMALLEST_SHARE = 1e-6


@dataclass(frozen=True)
class CasePlan:
    """What one case is expected to take; rounds are None where a billion are not enough.

    fault: None for the flattest bias. tv: total variation of the completed law. e_process and
    impossible: rounds until that test of every run fails. chi_square: a declared n. declared:
    rounds until the rule `declares` is refuted, if the sampler declares it. smallest: the
    smallest TV in this direction that `Plan.samples` rounds find. certified: rounds after which
    a correct sampler is expected to be certified.
    """

    case: str
    fault: str | None
    status: Status = "seen"
    tv: float | None = None
    e_process: int | None = None
    impossible: int | None = None
    chi_square: int | None = None
    declares: str | None = None
    declared: int | None = None
    smallest: float | None = None
    certified: int | None = None

    @property
    def rounds(self) -> int | None:
        """The rounds until a run fails the case, whatever it declares."""
        return min((n for n in (self.e_process, self.impossible) if n is not None), default=None)


@dataclass(frozen=True)
class Plan:
    """What was asked, and the answer of each case; without fault and tv the commonest fault."""

    fault: str | None
    tv: float | None
    power: float
    samples: int
    alpha: float
    epsilon: float
    cases: tuple[CasePlan, ...]


def make_plan(
    cases: Sequence[str | Case] = (),
    *,
    fault: str | None = None,
    tv: float | None = None,
    power: float = 0.9,
    settings: Settings = DEFAULTS,
) -> Plan:
    """Returns what each case takes to show `fault`, a bias of `tv`, or the fault at that TV.

    Without either, the commonest public fault is meant. `settings` gives alpha, epsilon and
    dtype, and its cap is the number of rounds whose smallest visible TV is told.

    Raises:
        UsageError: nothing is selected, no such fault, or a number is out of its bounds.
    """
    check(settings)
    for what, value in (("tv", tv), ("power", power)):
        if value is not None and not 0 < value < 1:
            raise UsageError(f"{what} = {value!r} is not between 0 and 1, both excluded.")
    entry = None if fault is None else rule(fault)
    ready = [case for case in cases if isinstance(case, Case)]
    words = [case for case in cases if isinstance(case, str)]
    drafts = None if entry is None else entry.trees or (None,)
    chosen = [*ready, *(select_cases(words, drafts=drafts) if words or not ready else [])]
    name = None if entry is None else entry.id
    budget = Budget(settings.alpha, settings.delta, settings.certify, len(chosen))
    plans = Planner(budget, settings, fault=name, tv=tv, power=power).all(chosen)
    return Plan(name, tv, power, settings.cap, budget.alpha, budget.epsilon, plans)


@dataclass(frozen=True)
class Planner:
    """What all cases are asked."""

    budget: Budget
    settings: Settings = DEFAULTS
    fault: str | None = None
    tv: float | None = None
    power: float = 0.9

    def all(self, cases: Iterable[Case]) -> tuple[CasePlan, ...]:
        """Returns the plan of each case."""
        return tuple(self.of(self.prepared(case)) for case in cases)

    def prepared(self, case: Case) -> CaseSetup:
        """Returns what a run would compare the case with."""
        s = self.settings
        return set_up(
            case, dtype=s.torch_dtype, budget=self.budget, cap=s.cap, seed=s.seed, fixed=False,
            claims="",
        )  # fmt: skip

    def of(self, setup: CaseSetup) -> CasePlan:
        """Returns the plan of one case."""
        fault = self.fault or (headline(setup.case) if self.tv is None else None)
        base = rule(fault).base if fault and setup.views[0].drafts else None
        needed = trials_to_certify(setup, self.budget)
        plan = CasePlan(setup.case.id, fault, declares=base, certified=needed)
        if fault and not verifies(rule(fault), setup.case):
            return replace(plan, status="other drafts", declares=None)
        if fault and setup.case.large and fault not in setup.fault_distances:
            return replace(plan, status="too large")
        if fault and not setup.defines(fault):
            return replace(plan, status="undefined")
        bias = Bias.of(setup, fault)
        if bias.most <= setup.tolerance:
            return replace(plan, status="blind", tv=0.0)
        plan = replace(plan, smallest=self._smallest(bias))
        if (self.tv or 0) > bias.most:
            return replace(plan, status="out of reach", tv=bias.most)
        return self._seen(plan, bias, share=(self.tv or bias.most) / bias.most)

    def _seen(self, plan: CasePlan, bias: Bias, *, share: float) -> CasePlan:
        setup, laws, budget = bias.setup, bias.laws(share), self.budget
        trials = foresight.chunk_trials()

        def first(powers: Array) -> int | None:
            return foresight.first_decision(setup, powers, trials, power=self.power)

        return replace(
            plan,
            tv=share * bias.most,
            e_process=first(foresight.e_process_powers(setup, laws, budget, trials)),
            impossible=first(foresight.impossible_powers(setup, laws, budget, trials)),
            chi_square=foresight.chi_square_trials(setup, laws, budget, power=self.power),
            declared=first(self._refuted(bias, plan.declares, share)) if plan.declares else None,
        )

    def _refuted(self, bias: Bias, declares: str, share: float) -> Array:
        """Returns the chance that the declared rule is refuted by each chunk."""
        setup, trials = bias.setup, foresight.chunk_trials()
        null = setup.joint([declares])
        if null is None:
            return np.zeros(len(trials))
        return foresight.conformity_powers(
            null, bias.joint(null, share), self.budget, trials, tolerance=setup.tolerance
        )

    def _smallest(self, bias: Bias) -> float | None:
        """Returns the smallest TV in the direction that a run of so many rounds finds."""
        trials = foresight.chunk_trials(self.settings.cap)

        def found(share: float) -> bool:
            ask = (bias.setup, bias.laws(share), self.budget, trials)
            powers = (foresight.e_process_powers(*ask), foresight.impossible_powers(*ask))
            return bool(max(power[-1] for power in powers) >= self.power)

        low, high = math.log(_SMALLEST_SHARE), 0.0
        if not found(1.0):
            return None
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            low, high = (low, middle) if found(math.exp(middle)) else (middle, high)
        return bias.most * math.exp(high)
