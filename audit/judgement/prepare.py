"""What one case is compared with: everything fixed before its first trial.

The null, the views, the gates with their start capital, the lenses that certify, the faults that
this case cannot see. A setup depends on the case, the dtype and the budget, never on a sampler's
output, and may be shared by runs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
import numpy.typing as npt
import torch

from audit.case import Case
from audit.counts import Counts, Table
from audit.errors import UsageError
from audit.exact.catalogue import RULES
from audit.exact.engine import block_law
from audit.exact.tables import completed_table, joint_table, target_table
from audit.harness.null import Null, handed_over, rounding_distance
from audit.harness.randomness import key_of
from audit.harness.views import View, views_of
from audit.statistics.certificate import expected_upper, look_delta, looks, trials_needed
from audit.statistics.e_process import Gate
from audit.statistics.pooling import binned, hash_bins, rank_bins, ratio_bins
from audit.verdict import Budget

Array = npt.NDArray[np.float64]
Labels = npt.NDArray[np.int64]
CertifyMode = Literal["full", "partition", "bias-only"]

HEADLINE_FAULT = "full-target-fallback"
_HEADLINE_WEIGHT = 0.5  # of the faults' start capital: the commonest public bug
_FLOAT_TOLERANCE = 1e-6
_LARGE_FLOAT_TOLERANCE = 1e-5
_BFLOAT_TOLERANCE = 1e-3
_SMALL_VOCABULARY = 1000


@dataclass(frozen=True, eq=False)
class Lens:
    """A partition of the completed blocks of one view, on which total variation is measured.

    labels int64 [cells] maps blocks to its cells; None: every block is a cell.
    """

    name: str
    view: int
    probabilities: Array
    labels: Labels | None = None

    def counts(self, counts: Counts) -> Table:
        """Returns int64 [cells]: what was counted, seen through this lens."""
        completed = counts.completed(self.view)
        if self.labels is None:
            return completed
        return binned(completed, self.labels, len(self.probabilities))


@dataclass(frozen=True, eq=False)
class JointNull:
    """The law of (draft block, emitted block) under the declared rules, as one flat vector.

    With several rules it is their mean, which excludes what all of them exclude; since the
    sampler may switch between them as it likes, nothing is bet (gate None).
    """

    rules: tuple[str, ...]
    law: Array
    support: Labels
    gate: Gate | None

    @classmethod
    def of(cls, case: Case, rules: Sequence[str], *, tolerance: float) -> JointNull:
        """Returns the null of the rules on a case, with the gate's start capital."""
        laws = [_joint(case, rule) for rule in rules]
        law = np.mean(laws, axis=0)
        support = np.flatnonzero(law > 0)
        if len(laws) > 1:
            return cls(tuple(rules), law, support, None)
        alternatives = {name: _joint(case, name)[support] for name in gate_faults()}
        inside = law[support] / law[support].sum()
        weights = {HEADLINE_FAULT: _HEADLINE_WEIGHT}
        gate = Gate.create(inside, alternatives, tolerance=tolerance, weights=weights)
        return cls(tuple(rules), law, support, gate)

    def inside(self, flat: Table) -> Table:
        """Returns the counts of the pairs that the rule allows."""
        return flat[self.support]

    @staticmethod
    def flat(counts: Counts) -> Table:
        """Returns the observed counts in the order of `law`."""
        lengths = range(1, counts.tables[0].shape[1] + 1)
        return np.concatenate([counts.emitted(length).ravel() for length in lengths])


@dataclass(frozen=True, eq=False)
class CaseSetup:
    """Everything one case is compared with. tolerance is that of a whole block of gamma + 1."""

    null: Null
    views: tuple[View, ...]
    laws: tuple[Array, ...]
    gates: tuple[Gate, ...]
    lenses: tuple[Lens, ...]
    certify: CertifyMode
    tolerance: float
    claims: str

    @property
    def case(self) -> Case:
        """The case as its file has it."""
        return self.null.original

    def defines(self, rule: str) -> bool:
        """Whether every outcome of a rule is defined here; taken for granted on a large case."""
        return self.case.large or block_law(self.case, rule).undefined == 0

    @cached_property
    def null_distance(self) -> float:
        """The largest TV between a row of the case and the row handed over."""
        return rounding_distance(self.null)

    @cached_property
    def fault_distances(self) -> Mapping[str, float]:
        """TV between the completed laws of each catalogued fault and of the target, as seen.

        They are those of the case before rounding, whose ties and thresholds rounding would
        move. A large case is seen through bins, and a fault that ranks or cuts single tokens
        means something else there: only those of the gate are compared.
        """
        if not self.case.large:
            return {name: _seen(self.case, name) for name in biased_faults()}
        return {name: max(_seen(v.case, name) for v in self.views) for name in gate_faults()}

    def joint(self, rules: Sequence[str]) -> JointNull | None:
        """Returns the conformity null of the declared rules; None where nothing can be asked."""
        if not rules or not self.views[0].drafts:
            return None
        return JointNull.of(self.null.case, rules, tolerance=self.tolerance)


def biased_faults() -> tuple[str, ...]:
    """Returns the ids of the catalogued faults that change the law."""
    return tuple(name for name, rule in RULES.items() if not rule.lossless)


def gate_faults() -> tuple[str, ...]:
    """Returns the ids of the faults that an audit bets on."""
    return tuple(name for name, rule in RULES.items() if rule.gate)


def set_up(
    case: Case, *, dtype: torch.dtype, budget: Budget, cap: int, seed: int, fixed: bool, claims: str
) -> CaseSetup:
    """Returns the setup of `case`; `fixed` says that there is one look, at `cap` trials."""
    _check(case)
    null = handed_over(case, dtype)
    tolerance = numerical_tolerance(null, dtype) * (case.num_speculative_tokens + 1)
    key = key_of(seed, "hash bins", case.hash).to_bytes(8, "big", signed=True)
    views = views_of(null.case, key=key)
    laws = tuple(_law(view.case, claims) for view in views)
    lenses, certify = _lenses(case, views, laws, budget=budget, cap=cap, fixed=fixed, key=key)
    gates = tuple(_gate(v, law, tolerance) for v, law in zip(views, laws, strict=True))
    return CaseSetup(null, views, laws, gates, lenses, certify, tolerance, claims)


def _check(case: Case) -> None:
    """Raises UsageError for a case built in Python that no file could hold."""
    sizes = {len(rows[()]) for rows in (case.target, case.draft)} | {case.vocab_size}
    if case.num_speculative_tokens < 1 or len(sizes) > 1:
        raise UsageError(
            f"case {case.id} has num_speculative_tokens = {case.num_speculative_tokens} and rows "
            f"of {sorted(sizes)} ids; at least 1 token and rows of vocab_size ids are needed."
        )
    if case.large and not case.context_free:
        raise UsageError(
            f"case {case.id} is marked large, but its rows depend on the prefix; only rows that do "
            "not can be observed through bins."
        )


def numerical_tolerance(null: Null, dtype: torch.dtype) -> float:
    """Returns epsilon_0 of one position: what the arithmetic of the dtype may do to a law."""
    if dtype is torch.bfloat16:
        return _BFLOAT_TOLERANCE + null.excess
    small = null.case.vocab_size <= _SMALL_VOCABULARY
    return (_FLOAT_TOLERANCE if small else _LARGE_FLOAT_TOLERANCE) + null.excess


def _law(case: Case, claims: str) -> Array:
    """Returns the law to judge by. Raises UsageError where the claimed one is not defined."""
    if not claims:
        return target_table(case)
    law = completed_table(case, claims)
    if law.sum() < 1 - 1e-9:
        raise UsageError(
            f"the sampler claims the law of {claims}, which is undefined with probability "
            f"{1 - law.sum():.3g} on case {case.id}; leave this case out."
        )
    return law


def _joint(case: Case, rule: str) -> Array:
    return np.concatenate([table.ravel() for table in joint_table(case, rule)])


def _seen(case: Case, fault: str) -> float:
    distance = np.abs(completed_table(case, fault) - target_table(case)).sum() / 2
    return float(distance)


def _gate(view: View, law: Array, tolerance: float) -> Gate:
    draft_law = completed_table(view.case, "always-accept")
    return Gate.create(
        law,
        {name: completed_table(view.case, name) for name in gate_faults()},
        groups=(ratio_bins(law, draft_law), rank_bins(law)),
        tolerance=tolerance,
        weights={HEADLINE_FAULT: _HEADLINE_WEIGHT},
    )


def _lenses(
    case: Case,
    views: Sequence[View],
    laws: Sequence[Array],
    *,
    budget: Budget,
    cap: int,
    fixed: bool,
    key: bytes,
) -> tuple[tuple[Lens, ...], CertifyMode]:
    """Returns the lenses and what they can certify: the finest that can reach epsilon at `cap`."""
    whole = tuple(Lens(v.name, i, law) for i, (v, law) in enumerate(zip(views, laws, strict=True)))
    coarse = whole if case.large else _coarse(views[0], laws[0], key)
    choices: list[tuple[tuple[Lens, ...], CertifyMode]] = [(coarse, "partition")]
    if case.certify == "full":
        choices.insert(0, (whole, "full"))
    for lenses, certify in choices:
        if all(
            reachable(lens, len(lenses), budget=budget, cap=cap, fixed=fixed) for lens in lenses
        ):
            return lenses, certify
    return choices[0][0], "bias-only"


def _coarse(view: View, law: Array, key: bytes) -> tuple[Lens, ...]:
    labels = {
        "ratio": ratio_bins(law, completed_table(view.case, "always-accept")),
        "rank": rank_bins(law),
        "hash": hash_bins(len(law), key),
    }
    return tuple(
        Lens(name, 0, binned(law, bins, int(bins.max()) + 1), bins) for name, bins in labels.items()
    )


def reachable(lens: Lens, lenses: int, *, budget: Budget, cap: int, fixed: bool) -> bool:
    """Returns whether a correct sampler is expected to be certified on this lens at `cap`."""
    delta = bound_delta(budget, look=1 if fixed else len(looks(cap)), lenses=lenses, fixed=fixed)
    return expected_upper(lens.probabilities, cap, delta) <= budget.epsilon


def bound_delta(budget: Budget, *, look: int, lenses: int, fixed: bool) -> float:
    """Returns the chance of a wrong bound that one look through one lens may spend."""
    if fixed:
        return budget.delta / (budget.cases * lenses)
    return look_delta(budget.delta, cases=budget.cases, look=look) / lenses


def trials_to_certify(setup: CaseSetup, budget: Budget) -> int | None:
    """Returns the first look at which a correct sampler is expected to be certified."""
    needed = [
        trials_needed(
            lens.probabilities,
            budget.epsilon,
            delta_at=lambda look: bound_delta(
                budget, look=look, lenses=len(setup.lenses), fixed=False
            ),
        )
        for lens in setup.lenses
    ]
    known = [n for n in needed if n is not None]
    return max(known) if len(known) == len(needed) else None
