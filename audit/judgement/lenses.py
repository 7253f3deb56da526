"""The partitions of the completed blocks on which total variation is certified.

Fixed before the first trial: the finest that a correct sampler is expected to be certified on.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from audit.case import Case
from audit.counts import Counts, Table
from audit.harness.views import Labels, View
from audit.judgement.bets import draft_table
from audit.statistics.certificate import expected_upper, look_delta, looks
from audit.statistics.pooling import binned, hash_bins, rank_bins, ratio_bins
from audit.statistics.results import Array
from audit.verdict import Budget

CertifyMode = Literal["full", "partition", "bias-only"]


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


def lenses_for(
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
        "ratio": ratio_bins(law, draft_table(view.case)),
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
