"""Directions in which the laws of a case may depart from the target's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from audit.case import Case
from audit.exact.tables import completed_table
from audit.judgement.joint import JointNull, joint_law
from audit.judgement.prepare import CaseSetup
from audit.statistics.power import flattest
from audit.statistics.results import Array


@dataclass(frozen=True, eq=False)
class Bias:
    """A catalogued fault or, where that is None, the flattest bias: the worst for a chi-square.

    extremes: the laws of completed blocks that always depart, by view; most: their total variation.
    """

    setup: CaseSetup
    fault: str | None
    extremes: Sequence[Array]
    most: float

    @classmethod
    def of(cls, setup: CaseSetup, fault: str | None) -> Bias:
        """Returns the direction of a fault, for None the flattest."""
        ends = [
            flattest(law) if fault is None else completed_table(as_seen(setup, view), fault)
            for view, law in enumerate(setup.laws)
        ]
        apart = [float(np.abs(e - t).sum() / 2) for e, t in zip(ends, setup.laws, strict=True)]
        if fault is None:  # each view has a bias of its own, all of one size
            scaled = zip(ends, setup.laws, apart, strict=True)
            ends = [t + min(apart) / far * (e - t) for e, t, far in scaled]
            return cls(setup, fault, ends, min(apart))
        return cls(setup, fault, ends, max(apart))

    def laws(self, share: float) -> list[Array]:
        """Returns the laws where this share of the rounds departs, by view."""
        pairs = zip(self.extremes, self.setup.laws, strict=True)
        return [(1 - share) * target + share * end for end, target in pairs]

    def joint(self, null: JointNull, share: float) -> Array:
        """Returns the law of (draft, emitted) where the other rounds follow the null's rule."""
        end = joint_law(self.setup.case, str(self.fault))
        return (1 - share) * null.law + share * end


def as_seen(setup: CaseSetup, view: int) -> Case:
    """Returns the case whose laws a view shows; rounding would move ties and thresholds."""
    return setup.views[view].case if setup.case.large else setup.case
