"""The law of the first token beside what was counted of it, to be shown; nothing is judged here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

import numpy as np

from audit.case import Case
from audit.evidence import REST, Deviation
from audit.exact.catalogue import rule, verifies
from audit.exact.onestep import is_causal
from audit.exact.tables import completed_table, step_table, target_table
from audit.harness.views import likeliest
from audit.judgement.monitor import Monitor
from audit.statistics.binomial import lower_limit, upper_limit
from audit.statistics.results import Array, Labels

MOST_TOKENS = 20
_INTERVAL = 1e-3  # chance that an interval misses; shared by the tokens of one figure

Shares = Mapping[str, float]  # faults by id, or id@value, and the share of rounds they act in
NO_FAULTS: Shares = MappingProxyType({})


def deviation(monitor: Monitor, predict: Shares) -> Deviation:
    """Returns the first tokens of a case, of a large vocabulary in its ratio bins."""
    view = monitor.setup.views[0]
    base = view.case.vocab_size
    observed = monitor.preservation.counts.completed().reshape(base, -1).sum(axis=1)
    expected = monitor.setup.laws[0].reshape(base, -1).sum(axis=1)
    shown = np.sort(np.argsort(-expected, kind="stable")[:MOST_TOKENS])
    low, high = _limits(observed[shown].tolist(), monitor.trials)
    return Deviation(
        tokens=tuple(shown.tolist()),
        expected=tuple(expected[shown].tolist()),
        observed=tuple(observed[shown].tolist()),
        low=low,
        high=high,
        predictions={
            fault: _first_tokens(view.case, fault, share, shown)
            for fault, share in predict.items()
            if verifies(rule(fault), view.case)
        },
        draft=tuple(view.case.draft[()].floats()[shown].tolist()),
        bins=view.labels is not None,
    )


def head(monitor: Monitor, predict: Shares) -> Deviation | None:
    """Returns the likeliest first tokens of a large vocabulary and all others, else None."""
    if not monitor.setup.shown:
        return None
    view, place = monitor.setup.shown[0], len(monitor.setup.views)
    observed = tuple(monitor.preservation.counts.completed(place).tolist())
    low, high = _limits(observed, monitor.trials)
    case, ids, size = monitor.setup.case, likeliest(monitor.setup.null.case), len(observed)
    return Deviation(
        tokens=(*ids.tolist(), REST)[:size],
        expected=tuple(view.case.target[()].floats().tolist()),
        observed=observed,
        low=low,
        high=high,
        predictions={
            fault: _and_rest(_one_step(case, fault, share), ids)[:size]
            for fault, share in predict.items()
            if verifies(rule(fault), case) and is_causal(fault)
        },
        draft=tuple(view.case.draft[()].floats().tolist()),
    )


def _limits(counts: Sequence[int], n: int) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Returns lower and upper limits of the shares of n, which hold together."""
    level = _INTERVAL / (2 * len(counts))
    low, high = (tuple(of(k, n, level) for k in counts) for of in (lower_limit, upper_limit))
    return low, high


def _first_tokens(case: Case, fault: str, share: float, shown: Labels) -> tuple[float, ...]:
    """Returns the law of the first tokens shown where a fault acts in a share of the rounds."""
    law = share * completed_table(case, fault) + (1 - share) * target_table(case)
    return tuple(law.reshape(case.vocab_size, -1).sum(axis=1)[shown].tolist())


def _one_step(case: Case, fault: str, share: float) -> Array:
    """Returns the law of the first token, [vocab], where a fault acts in a share of the rounds."""
    accepted, recovered, _ = step_table(case, fault)
    law: Array = share * (accepted + recovered) + (1 - share) * case.target[()].floats()
    return law


def _and_rest(law: Array, ids: Labels) -> tuple[float, ...]:
    """Returns the law of the tokens with these ids, and of all others as one."""
    return (*law[ids].tolist(), float(np.delete(law, ids).sum()))
