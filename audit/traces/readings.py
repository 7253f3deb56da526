"""From what was counted to numbers; and what contexts seen once can certify.

A context seen once says nothing about its own law: a bias may differ from context to context and
cancel in the pool. What can be bounded is the pooled law itself. Let r be the mean over all tokens
of their laws, as the bins of an order see them (even if nothing is wrong), and h the observed
shares. For every set A of bins, n (h(A) - r(A)) is a martingale with steps of range 1, so that by
Azuma and Hoeffding, over all sets, TV(h, r) <= sqrt((bins ln 2 + ln(1 / delta)) / (2 n)) with
confidence 1 - delta, however contexts follow from earlier tokens. Since n is known at the end only,
delta is shared out over the powers of 2 that n may be near. TV(r, even) then lies within that of
TV(h, even). It is a bound for the bins of the pool, never a bound on the bias of a context.

References: Azuma (1967); Hoeffding (1963); Weissman et al. (2003) for the union over sets; Howard
et al. (2021) for bounds at any time.
"""

from __future__ import annotations

import math

import numpy as np

from audit.counts import Table
from audit.evidence import GateReading
from audit.statistics.certificate import detectable
from audit.statistics.chi_square import cressie_read
from audit.statistics.total_variation import null_mean, plug_in
from audit.traces.conformity import RuleWatch
from audit.traces.evidence import OrderReading, PlaceReading, RuleReading, TraceEvidence
from audit.traces.faults import NAMES
from audit.traces.scores import BINS, ORDERS
from audit.traces.watch import BONUS, PLACES, RULE_SHARE, TraceWatch
from audit.verdict import Budget

EVEN = np.append(np.full(BINS, 1 / BINS), 0.0)
_FIT_LEVEL = 1e-3
_AS_LIKELY = math.log(20)


def evidence_of(watch: TraceWatch) -> TraceEvidence:
    """Returns what a watch has seen so far."""
    tally, budget = watch.tally, watch.budget
    judged = max(tally.judged, 1)
    gate = GateReading(
        watch.gate.log_e,
        watch.gate.log_e_max,
        budget.log_threshold(Budget.PRESERVATION),
        watch.gate.leader() if watch.gate.log_e_max > 0 else "",
    )
    sure = not tally.impossible  # beyond impossible tokens no law is excluded
    return TraceEvidence(
        rounds=tally.rounds,
        drafted=tally.drafted,
        emitted=tally.emitted,
        judged=tally.judged,
        unjudged=tally.unjudged,
        greedy=tally.greedy,
        not_greedy=tally.not_greedy,
        gate=gate,
        impossible=watch.impossible(),
        traces=tuple(watch.traces),
        orders=_orders(tally.bins.sum(axis=0), budget.delta / 2),
        places=_places(tally.bins),
        rule=None if watch.rule is None else _rule(watch.rule, budget),
        independence=watch.independence(),
        excluded=watch.gate.excluded_from(budget.delta / 2) if sure else {},
        fits=_fits(watch) if watch.biased else (),
        detectable=_detectable(tally.judged, budget),
        tolerance=tally.tolerance / judged,
        rest=tally.rest / judged,
    )


def slack(n: int, delta: float, *, cells: int = BINS + 1) -> float:
    """Returns how far the observed shares of n tokens may be from the mean of their laws.

    For every n at once: exp(l S - l^2 n / 8) is a supermartingale, S = n (h(A) - r(A)), and l is
    made for the nearest power of 2.
    """
    k = max(round(math.log2(n)), 1)
    evidence = cells * math.log(2) + math.log(k * (k + 1) / delta)
    rate = math.sqrt(8 * evidence / 2**k)
    return evidence / (rate * n) + rate / 8


def tokens_needed(epsilon: float, delta: float) -> int:
    """Returns the tokens after which a correct engine is expected to be bounded by epsilon.

    delta is for all orders together, as in `evidence_of`.
    """
    low, high = 1, 2
    while _expected_upper(high, delta) > epsilon:
        low, high = high, 2 * high
    while high - low > 1 + low // 100:
        middle = (low + high) // 2
        low, high = (middle, high) if _expected_upper(middle, delta) > epsilon else (low, middle)
    return high


def _expected_upper(n: int, delta: float) -> float:
    return null_mean(EVEN, n) + slack(n, delta / len(ORDERS))


def _orders(bins: Table, delta: float) -> tuple[OrderReading, ...]:
    """Returns the readings of those orders for which rows are there; bins [orders, BINS + 1]."""
    return tuple(
        _order(name, counts, delta / len(ORDERS))
        for name, counts in zip(ORDERS, bins, strict=True)
        if counts.any()
    )


def _order(name: str, counts: Table, delta: float) -> OrderReading:
    n, tv = int(counts.sum()), plug_in(counts, EVEN)
    room = slack(n, delta)
    return OrderReading(
        order=name,
        n=n,
        tv=tv,
        null_mean=null_mean(EVEN, n),
        lower=max(tv - room, 0.0),
        upper=min(tv + room, 1.0),
        p_value=_p_value(counts),
    )


def _places(bins: Table) -> tuple[PlaceReading, ...]:
    return tuple(_place(i, counts) for i, counts in enumerate(bins) if counts.any())


def _place(index: int, bins: Table) -> PlaceReading:
    found = {name: _p_value(counts) for name, counts in zip(ORDERS, bins, strict=True)}
    order = min(found, key=found.__getitem__)
    name = "bonus" if index == BONUS else f"{index + 1}{'+' if index + 1 == PLACES else ''}"
    rank = bins[ORDERS.index("rank")]
    p_value = min(len(ORDERS) * found[order], 1.0)
    return PlaceReading(name, int(rank.sum()), int(rank[BINS]), order, p_value)


def _p_value(counts: Table) -> float:
    """Returns the p-value that bins are even; [BINS] or with the bin of impossible tokens."""
    n = int(counts[:BINS].sum())
    return cressie_read(counts[:BINS], EVEN[:BINS], n=n).p_value if n else 1.0


def _rule(watch: RuleWatch, budget: Budget) -> RuleReading:
    sums = watch.sums
    return RuleReading(
        declared=watch.declared,
        gate=GateReading(watch.log_e, watch.log_e_max, budget.log_threshold(RULE_SHARE)),
        excluded=watch.excluded(),
        rounds=sums.rounds,
        left_out=sums.left_out,
        accepted=sums.accepted,
        low=sums.low,
        high=sums.high,
        deviation=math.sqrt(max(sums.variance, 0.0)),
        recovered=int(sums.recovered.sum()),
        recovered_p=_p_value(sums.recovered),
        drafted=int(sums.drafted.sum()),
        drafted_p=_p_value(sums.drafted),
        never_drafted=sums.never_drafted,
        traces=tuple(watch.traces),
    )


def _fits(watch: TraceWatch) -> tuple[str, ...]:
    """Returns the faults that fit and are about as likely as any.

    They fit the bins of the tokens at which they act, in every round, and the target those of the
    others.
    """
    likelihood = watch.gate.likelihood
    level = max(float(likelihood.max()) - _AS_LIKELY, _AS_LIKELY)
    return tuple(
        name
        for name, fit, gain in zip(NAMES, watch.tally.fits, likelihood, strict=True)
        if gain >= level and min(map(_p_value, fit)) > _FIT_LEVEL
    )


def _detectable(tokens: int, budget: Budget) -> float | None:
    if not tokens:
        return None
    return detectable(tokens, budget.level(Budget.PRESERVATION), bins=BINS)
