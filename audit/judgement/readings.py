"""From a monitor to the evidence that is shown: numbers only, no judgement."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from audit.case import Case
from audit.counts import Outcome, tokens_of
from audit.evidence import BonusToken, Conformity, Evidence, GateReading, ViewReading
from audit.exact.catalogue import RULES, rules_for
from audit.exact.tables import joint_table
from audit.judgement.acceptance import acceptance_of
from audit.judgement.coverage import not_excluded
from audit.judgement.first_tokens import MOST_TOKENS, NO_FAULTS, Shares, deviation, head
from audit.judgement.joint import JointNull
from audit.judgement.lenses import Lens
from audit.judgement.monitor import Monitor
from audit.judgement.prepare import trials_to_certify
from audit.plural import counted
from audit.statistics.certificate import detectable
from audit.statistics.chi_square import cressie_read, likelihood_ratio, pearson
from audit.verdict import Budget

_MOST_TRACES = 3
_MOST_POINTS = 12
_FIT_LEVEL = 1e-6


def evidence_of(monitor: Monitor, *, predict: Shares = NO_FAULTS) -> Evidence:
    """Returns everything the monitor has seen of its case.

    predict: faults whose first-token law is shown beside what was observed.
    """
    setup, budget, observed = monitor.setup, monitor.budget, rules_observed(monitor)
    return Evidence(
        trials=monitor.trials,
        looks=monitor.looks,
        gate=GateReading(
            log_e=monitor.preservation.log_e,
            log_e_max=monitor.preservation.log_e_max,
            log_threshold=budget.log_threshold(Budget.PRESERVATION),
            leader=monitor.preservation.gates[0].leader() or "",
        ),
        impossible=monitor.preservation.impossible(),
        traces=_impossible_traces(monitor),
        views=tuple(_view(monitor, lens) for lens in setup.lenses),
        independence=monitor.dependence.test(),
        conformity=_conformity(monitor),
        acceptance=acceptance_of(monitor, observed),
        deviation=deviation(monitor, predict),
        rules_observed=observed,
        certified=monitor.certified,
        detectable=detectable(
            monitor.trials,
            budget.level(Budget.PRESERVATION),
            bins=len(setup.lenses[0].probabilities),
        ),
        trials_needed=trials_to_certify(setup, budget),
        blind=not_excluded([setup], budget.epsilon),
        null_distance=setup.null_distance,
        path=_thinned(monitor.preservation.path),
        bonus=None if setup.claims else _bonus(monitor),
        head=head(monitor, predict),
    )


def _thinned(path: Sequence[tuple[int, float]]) -> tuple[tuple[int, float], ...]:
    """Returns at most 12 points of the path of an e-value, its end among them.

    >>> _thinned([(1, 0.1234567), (2, 0.5)])
    ((1, 0.1235), (2, 0.5))
    """
    chosen = np.linspace(0, len(path) - 1, min(len(path), _MOST_POINTS)).round().astype(int)
    return tuple((path[index][0], round(path[index][1], 4)) for index in chosen)


def _bonus(monitor: Monitor) -> BonusToken | None:
    """Returns what followed fully accepted drafts, None where nothing did.

    A lossless rule's next token follows the target's row wherever a round gets that far.
    """
    case, counts = monitor.setup.views[0].case, monitor.preservation.counts
    seen = counts.emitted(case.num_speculative_tokens + 1).sum(axis=0).reshape(-1, case.vocab_size)
    law = monitor.setup.laws[0].reshape(seen.shape)
    reached = law.sum(axis=1) > 0
    rows = law[reached] / law[reached].sum(axis=1, keepdims=True)
    expected, observed = seen[reached].sum(axis=1) @ rows, seen.sum(axis=0)
    shown = np.sort(np.argsort(-expected, kind="stable")[:MOST_TOKENS])
    if not observed.sum():
        return None
    return BonusToken(
        tuple(shown.tolist()),
        tuple(observed[shown].tolist()),
        tuple(round(float(mean), 4) for mean in expected[shown]),
    )


def _view(monitor: Monitor, lens: Lens) -> ViewReading:
    observed, n, law = lens.counts(monitor.preservation.counts), monitor.trials, lens.probabilities
    return ViewReading(
        name=lens.name,
        cells=int(np.count_nonzero(law)),
        cressie_read=cressie_read(observed, law, n=n, tolerance=monitor.setup.tolerance),
        pearson=pearson(observed, law, n=n),
        total_variation=monitor.total_variation(lens),
    )


def _conformity(monitor: Monitor) -> Conformity | None:
    watch = monitor.conformity
    if watch is None:
        return None
    return Conformity(
        declared=watch.null.rules,
        gate=GateReading(
            log_e=watch.log_e, log_e_max=watch.log_e_max, log_threshold=watch.log_threshold
        ),
        impossible=watch.impossible(),
        traces=_unlawful_traces(monitor, watch.null),
    )


def rules_observed(monitor: Monitor) -> tuple[str, ...]:
    """Returns the rules whose law of (draft, emitted) fits what was seen, or ("unknown",).

    Rules of one and the same law (sampler-match and point-mass; ratio and block at gamma 1)
    appear together: what is observed cannot tell them apart.
    """
    if not monitor.setup.views[0].drafts:
        return ("unknown",)
    flat = JointNull.flat(monitor.preservation.counts)
    known = lossless_rules(monitor.setup.case)
    return tuple(name for name in known if _fits(monitor, name, flat)) or ("unknown",)


def lossless_rules(case: Case) -> tuple[str, ...]:
    """Returns the ids of the right rules for drafts of this case's shape."""
    return tuple(name for name in rules_for(case) if RULES[name].family == "lossless")


def _fits(monitor: Monitor, rule: str, flat: np.ndarray) -> bool:
    law = np.concatenate([t.ravel() for t in joint_table(monitor.setup.null.case, rule)])
    if flat[law <= 0].sum() > monitor.trials * monitor.setup.tolerance + 3:
        return False
    fit = likelihood_ratio(flat, law, n=monitor.trials, tolerance=monitor.setup.tolerance)
    return fit.p_value > _FIT_LEVEL


def _impossible_traces(monitor: Monitor) -> tuple[str, ...]:
    """Returns up to three emitted blocks whose target probability is 0, and how often."""
    setup, counts = monitor.setup, monitor.preservation.counts
    base = setup.views[0].case.vocab_size
    traces = [
        f"emitted {list(block)} {counted(times, 'time')}; its target probability is 0"
        for block, times in counts.outcomes().items()
        if _prefix_mass(setup.laws[0], block, base) <= 0
    ]
    return tuple(traces[:_MOST_TRACES])


def _prefix_mass(law: np.ndarray, block: Outcome, base: int) -> float:
    code = 0
    for token in block:
        code = code * base + token
    return float(law.reshape(base ** len(block), -1)[code].sum())


def _unlawful_traces(monitor: Monitor, null: JointNull) -> tuple[str, ...]:
    """Returns up to three (draft, emitted) pairs that the declared rules exclude."""
    case, start = monitor.setup.null.case, 0
    base, gamma = case.vocab_size, case.num_speculative_tokens
    traces: list[str] = []
    for length in range(1, gamma + 2):
        seen = monitor.preservation.counts.emitted(length)
        law = null.law[start : start + seen.size].reshape(seen.shape)
        start += seen.size
        for draft, block in np.argwhere((law <= 0) & (seen > 0)).tolist():
            drafted = list(tokens_of(draft, base=base, length=case.drafted))
            emitted = list(tokens_of(block, base=base, length=length))
            times, rules = int(seen[draft, block]), " or ".join(null.rules)
            seen_so = f"draft {drafted} emitted {emitted} {counted(times, 'time')}"
            traces.append(f"{seen_so}; {rules} cannot")
    return tuple(traces[:_MOST_TRACES])
