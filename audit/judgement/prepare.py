"""What one case is compared with: everything fixed before its first trial.

The null, the views, the gates with their start capital, the lenses that certify, the faults that
this case cannot see. A setup depends on the case, the dtype and the budget, never on a sampler's
output, and may be shared by runs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import torch

from audit.case import Case
from audit.errors import UsageError
from audit.exact.catalogue import headline, rule, verifies
from audit.exact.engine import block_law
from audit.exact.onestep import is_causal
from audit.exact.tables import binned_table, completed_table, target_table
from audit.harness.null import Null, handed_over, rounding_distance
from audit.harness.randomness import key_of
from audit.harness.views import View, head_of, views_of
from audit.judgement.bets import biased_faults, gate_faults, gate_of
from audit.judgement.joint import JointNull
from audit.judgement.lenses import CertifyMode, Lens, bound_delta, lenses_for
from audit.statistics.certificate import trials_needed
from audit.statistics.e_process import Gate
from audit.statistics.results import Array
from audit.verdict import Budget

_FLOAT_TOLERANCE = 1e-6
_LARGE_FLOAT_TOLERANCE = 1e-5
_BFLOAT_TOLERANCE = 1e-3
_SMALL_VOCABULARY = 1000


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

    def defines(self, name: str) -> bool:
        """Whether every outcome of a rule is defined here; taken for granted on a large case."""
        return self.case.large or block_law(self.case, name).undefined == 0

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
        compared = gate_faults if self.case.large else biased_faults
        return {name: self._distance(name) for name in compared(self.case)}

    def distance(self, wanted: str) -> float:
        """Returns the TV to the target of any entry's completed law; of `id@value` too."""
        known = self.fault_distances.get(wanted)
        return self._distance(wanted) if known is None else known

    def _distance(self, wanted: str) -> float:
        cases = [view.case for view in self.views] if self.case.large else [self.case]
        return max(_seen(case, wanted) for case in cases)

    @cached_property
    def shown(self) -> tuple[View, ...]:
        """What is counted behind the views, shown, and no part of any test: a large case's head."""
        return (head_of(self.null.case),) if self.case.large else ()

    @property
    def headline_distance(self) -> float:
        """The TV to the target of the commonest public defect, as seen here."""
        return self.fault_distances[headline(self.case)]

    def joint(self, rules: Sequence[str]) -> JointNull | None:
        """Returns the conformity null of those declared rules that verify drafts of this shape.

        None where nothing can be asked.
        """
        fitting = [name for name in rules if verifies(rule(name), self.case)]
        if not fitting or not self.views[0].drafts:
            return None
        return JointNull.of(self.null.case, fitting, tolerance=self.tolerance)


def set_up(
    case: Case, *, dtype: torch.dtype, budget: Budget, cap: int, seed: int, fixed: bool, claims: str
) -> CaseSetup:
    """Returns the setup of `case`; `fixed` says that there is one look, at `cap` trials."""
    _check(case)
    null = handed_over(case, dtype)
    tolerance = numerical_tolerance(null, dtype) * (case.num_speculative_tokens + 1)
    key = _hash_key(case, seed)
    views = views_of(null.case, key=key)
    laws = tuple(
        _claimed(view, null, claims, tolerance) if claims else target_table(view.case)
        for view in views
    )
    lenses, certify = lenses_for(case, views, laws, budget=budget, cap=cap, fixed=fixed, key=key)
    gates = tuple(gate_of(v, law, tolerance) for v, law in zip(views, laws, strict=True))
    return CaseSetup(null, views, laws, gates, lenses, certify, tolerance, claims)


def extended(setup: CaseSetup, *, budget: Budget, cap: int, seed: int, fixed: bool) -> CaseSetup:
    """Returns the setup with what can be certified where `cap` trials are allowed."""
    case, views, laws = setup.case, setup.views, setup.laws
    key = _hash_key(case, seed)
    lenses, certify = lenses_for(case, views, laws, budget=budget, cap=cap, fixed=fixed, key=key)
    return replace(setup, lenses=lenses, certify=certify)


def _hash_key(case: Case, seed: int) -> bytes:
    """Returns the key of the hash bins, which no sampler can know."""
    return key_of(seed, "hash bins", case.hash).to_bytes(8, "big", signed=True)


def _check(case: Case) -> None:
    """Raises UsageError for a case built in Python that no file could hold."""
    sizes = {len(rows[()]) for rows in (case.target, case.draft)} | {case.vocab_size}
    if case.num_speculative_tokens < 1 or len(sizes) > 1:
        raise UsageError(
            f"case {case.id} has num_speculative_tokens = {case.num_speculative_tokens} and rows "
            f"of {sorted(sizes)} ids; at least 1 token and rows of vocab_size ids are needed."
        )
    if case.tree and (case.large or case.tree.depth != case.num_speculative_tokens):
        raise UsageError(
            f"case {case.id} has a draft tree of depth {case.tree.depth}; it must be "
            f"num_speculative_tokens = {case.num_speculative_tokens}, and the case not large."
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


def _claimed(view: View, null: Null, claims: str, tolerance: float) -> Array:
    """Returns the law that a sampler claims, seen through a view.

    Raises: UsageError where it is not defined, or not known for a large vocabulary.
    """
    case = _with_ties(null, tolerance)
    if view.labels is None:
        law = completed_table(case, claims)
    elif is_causal(claims):
        law = binned_table(case, claims, view.labels)
    else:
        raise UsageError(
            f"the sampler claims the law of {claims}, which is not known for a vocabulary as large "
            f"as that of case {null.case.id}; leave this case out."
        )
    if law.sum() < 1 - 1e-9:
        raise UsageError(
            f"the sampler claims the law of {claims}, which is undefined with probability "
            f"{1 - law.sum():.3g} on case {null.case.id}; leave this case out."
        )
    return law


def _with_ties(null: Null, tolerance: float) -> Case:
    """Returns the case, before rounding where the rounding is within the tolerance.

    A claimed law may compare a probability with a bound that it equals, and rounding breaks ties.
    """
    return null.original if rounding_distance(null) <= tolerance else null.case


def _seen(case: Case, fault: str) -> float:
    distance = np.abs(completed_table(case, fault) - target_table(case)).sum() / 2
    return float(distance)


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
