"""What a trace has shown, as frozen numbers without a judgement."""

from __future__ import annotations

from dataclasses import dataclass

from audit.evidence import GateReading
from audit.statistics.impossible import ImpossibleEvents
from audit.statistics.results import Result


@dataclass(frozen=True)
class OrderReading(Result):
    """The pooled bins of one order: TV to even bins, with bounds on that of the mean law.

    null_mean is what a correct engine shows on average; p_value that of Cressie and Read, which
    decides nothing. n: tokens with the rows that the order needs.
    """

    order: str
    n: int
    tv: float
    null_mean: float
    lower: float
    upper: float
    p_value: float


@dataclass(frozen=True)
class PlaceReading(Result):
    """The tokens of one place in the round: the order that deviates most, p-value for all orders.

    place: "1", "2", ..., "8+" or "bonus", behind every drafted token.
    """

    place: str
    tokens: int
    impossible: int
    order: str
    p_value: float


@dataclass(frozen=True)
class RuleReading(Result):
    """Whether the steps follow a declared rule.

    left_out: rounds that lack the rows the rule is compared with. accepted: tokens, whose exact
    expectation lies in [low, high] and whose standard deviation is `deviation`. recovered_p,
    drafted_p: whether recovered tokens follow the rule's row, drafted ones the recorded draft row;
    they decide nothing by themselves. never_drafted: drafted tokens of draft probability 0.
    """

    declared: tuple[str, ...]
    gate: GateReading
    excluded: ImpossibleEvents
    rounds: int
    left_out: int
    accepted: int
    low: float
    high: float
    deviation: float
    recovered: int
    recovered_p: float
    drafted: int
    drafted_p: float
    never_drafted: int
    traces: tuple[str, ...] = ()


@dataclass(frozen=True)
class TraceEvidence(Result):
    """Everything a trace says.

    judged: sampled tokens whose target row is known; unjudged: emitted ones behind a token that
    was not drafted. impossible: tokens of recorded target probability 0. independence: p-value of
    neighbouring rounds. excluded: by id of a fault, the smallest share of the places at which it
    would have been noticed. fits: named faults that the bins fit, asked after a FAIL only.
    detectable: the smallest pooled TV that this many tokens could have shown. tolerance, rest: mean
    tolerance of a row, and mean probability of the tokens that a row does not list.
    """

    rounds: int
    drafted: int
    emitted: int
    judged: int
    unjudged: int
    greedy: int
    not_greedy: int
    gate: GateReading
    impossible: ImpossibleEvents
    traces: tuple[str, ...]
    orders: tuple[OrderReading, ...]
    places: tuple[PlaceReading, ...]
    rule: RuleReading | None
    independence: float
    excluded: dict[str, float]
    fits: tuple[str, ...]
    detectable: float | None
    tolerance: float
    rest: float
