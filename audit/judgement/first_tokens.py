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
from audit.judgement.prepare import CaseSetup
from audit.statistics.binomial import lower_limit, upper_limit
from audit.statistics.pooling import binned
from audit.statistics.results import Array, Labels

MOST_TOKENS = 20
_INTERVAL = 1e-3  # chance that an interval misses; shared by the tokens of one figure

Shares = Mapping[str, float]  # faults by id, or id@value, and the share of rounds they act in
NO_FAULTS: Shares = MappingProxyType({})


def deviation(monitor: Monitor, predict: Shares) -> Deviation:
    """Returns the first tokens of a case, of a large vocabulary in its ratio bins."""
    setup, view = monitor.setup, monitor.setup.views[0]
    base = view.case.vocab_size
    observed = monitor.preservation.counts.completed().reshape(base, -1).sum(axis=1)
    expected = setup.laws[0].reshape(base, -1).sum(axis=1)
    shown = np.sort(np.argsort(-expected, kind="stable")[:MOST_TOKENS])
    low, high = _limits(observed[shown].tolist(), monitor.trials)
    return Deviation(
        tokens=tuple(shown.tolist()),
        expected=tuple(expected[shown].tolist()),
        observed=tuple(observed[shown].tolist()),
        low=low,
        high=high,
        predictions={
            fault: tuple(_first_tokens(setup, fault, share)[shown].tolist())
            for fault, share in predict.items()
            if _predictable(setup, fault)
        },
        draft=tuple(view.case.draft[()].floats()[shown].tolist()),
        bins=view.labels is not None,
    )


def head(monitor: Monitor, predict: Shares) -> Deviation | None:
    """Returns the likeliest first tokens of a large vocabulary and all others, else None."""
    setup = monitor.setup
    if not setup.shown:
        return None
    view, ids = setup.shown[0], likeliest(setup.null.case)
    observed = tuple(monitor.preservation.counts.completed(len(setup.views)).tolist())
    low, high = _limits(observed, monitor.trials)
    size, target = len(observed), setup.null.case.target[()].floats()
    row = _one_step(setup.case, setup.claims) if setup.claims else target
    return Deviation(
        tokens=(*ids.tolist(), REST)[:size],
        expected=_and_rest(row, ids)[:size],
        observed=observed,
        low=low,
        high=high,
        predictions={
            fault: _and_rest(_one_step(setup.case, fault, share), ids)[:size]
            for fault, share in predict.items()
            if _predictable(setup, fault)
        },
        draft=tuple(view.case.draft[()].floats().tolist()),
    )


def _limits(counts: Sequence[int], n: int) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Returns lower and upper limits of the shares of n, which hold together."""
    level = _INTERVAL / (2 * len(counts))
    low, high = (tuple(of(k, n, level) for k in counts) for of in (lower_limit, upper_limit))
    return low, high


def _predictable(setup: CaseSetup, fault: str) -> bool:
    """Whether a fault verifies such drafts; of a large vocabulary its law is known step by step."""
    return verifies(rule(fault), setup.case) and (not setup.case.large or is_causal(fault))


def _first_tokens(setup: CaseSetup, fault: str, share: float) -> Array:
    """Returns the law of the first token, or bin, where a fault acts in a share of the rounds."""
    view = setup.views[0]
    if view.labels is not None:
        return binned(_one_step(setup.case, fault, share), view.labels, view.case.vocab_size)
    law = share * completed_table(view.case, fault) + (1 - share) * target_table(view.case)
    first: Array = law.reshape(view.case.vocab_size, -1).sum(axis=1)
    return first


def _one_step(case: Case, fault: str, share: float = 1.0) -> Array:
    """Returns the law of the first token, [vocab], where a fault acts in a share of the rounds."""
    accepted, recovered, _ = step_table(case, fault)
    law: Array = share * (accepted + recovered) + (1 - share) * case.target[()].floats()
    return law


def _and_rest(law: Array, ids: Labels) -> tuple[float, ...]:
    """Returns the law of the tokens with these ids, and of all others as one."""
    return (*law[ids].tolist(), float(np.delete(law, ids).sum()))
