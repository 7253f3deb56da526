"""What an audit bets on: the catalogued faults of drafts of the case's shape, and fixed bins."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from audit.case import Case
from audit.exact.catalogue import RULES, headline, rules_for
from audit.exact.tables import completed_table
from audit.harness.views import View
from audit.statistics.e_process import Gate
from audit.statistics.pooling import rank_bins, ratio_bins
from audit.statistics.results import Array

_HEADLINE_WEIGHT = 0.5  # of the faults' start capital: the commonest public bug


def biased_faults(case: Case) -> tuple[str, ...]:
    """Returns the ids of the catalogued faults that change the law of drafts of this shape."""
    return tuple(name for name in rules_for(case) if not RULES[name].lossless)


def gate_faults(case: Case) -> tuple[str, ...]:
    """Returns the ids of the faults that an audit of this case bets on."""
    return tuple(name for name in rules_for(case) if RULES[name].gate)


def start_weights(case: Case) -> Mapping[str, float]:
    """Returns the shares of the faults' start capital that are not equal shares."""
    return {headline(case): _HEADLINE_WEIGHT}


def gate_of(view: View, law: Array, tolerance: float) -> Gate:
    """Returns the gate of a view whose completed blocks should follow `law`."""
    return Gate.create(
        law,
        {name: completed_table(view.case, name) for name in gate_faults(view.case)},
        groups=(ratio_bins(law, draft_table(view.case)), rank_bins(law)),
        tolerance=tolerance,
        weights=start_weights(view.case),
    )


def draft_table(case: Case) -> Array:
    """Returns the draft's own law of whole blocks, float64 [V ** (gamma + 1)].

    The drafts are followed as one chain, also those of a tree, whatever is drawn beside them.
    """
    return completed_table(replace(case, tree=None), "always-accept")
