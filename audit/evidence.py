"""What the counts of one case show: numbers and what they were compared with, no judgement.

Every class here is a plain frozen value; the record stores them as they are.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from audit.statistics.chi_square import ChiSquare
from audit.statistics.impossible import ImpossibleEvents
from audit.statistics.independence import Independence
from audit.statistics.results import Result
from audit.statistics.total_variation import TotalVariation

Source = Literal["", "declared", "observed"]
REST = -1  # stands for all ids that are not shown


@dataclass(frozen=True)
class GateReading(Result):
    """An anytime-valid test: natural log of the e-value now and at its highest, and the bar."""

    log_e: float
    log_e_max: float
    log_threshold: float
    leader: str = ""


@dataclass(frozen=True)
class ViewReading(Result):
    """The classical statistics of one way to look at the completed blocks.

    name: "tokens" (every block its own cell) or "ratio", "rank", "tail", "hash".
    """

    name: str
    cells: int
    cressie_read: ChiSquare
    pearson: ChiSquare
    total_variation: TotalVariation


@dataclass(frozen=True)
class Conformity(Result):
    """Whether accept, recovered and bonus steps follow a declared rule (one of `declared`)."""

    declared: tuple[str, ...]
    gate: GateReading
    impossible: ImpossibleEvents
    traces: tuple[str, ...] = ()


@dataclass(frozen=True)
class AcceptedTokens(Result):
    """The mean number of accepted tokens a round: observed (with a 99.9 % interval) and exact.

    expected: by the rules that Acceptance names. best: no lossless rule accepts more with these
    drafts, and one accepts at least best_lower; best_known_by: how that was established.
    rounds: how many accepted 0, 1, 2, ... tokens; law: their probabilities by those rules, () where
    no rule is known.
    """

    observed: float
    low: float
    high: float
    best: float
    best_lower: float
    best_known_by: str
    expected: float | None = None
    rounds: tuple[int, ...] = ()
    law: tuple[float, ...] = ()


@dataclass(frozen=True)
class BonusToken(Result):
    """The token after a fully accepted draft: target or declared rows given the tokens before it.

    tokens: the ids shown (all, or the 20 that are expected most often); observed: rounds that
    ended with each, expected: their mean where every such token follows the row after its prefix.
    """

    tokens: tuple[int, ...]
    observed: tuple[int, ...]
    expected: tuple[float, ...]


@dataclass(frozen=True)
class Acceptance(Result):
    """First-position acceptance: observed (with a 99.9 % interval) and exact.

    Of a draft tree, it is that of any token of the first level. expected: by `rules`, of one law
    in this respect, which are the declared ones or those that fit what was seen (source); None
    where no rule is known. best: the most that a lossless rule can accept with these drafts, 1 -
    TV(target, draft) for one draft. tokens: the same for the whole round, None in old records.
    A fixed-prefix figure, and no evidence of correctness; it says nothing about a model, a task or
    speed.
    """

    observed: float
    low: float
    high: float
    best: float
    expected: float | None = None
    mean_emitted: float = 0.0
    expected_emitted: float | None = None
    rules: tuple[str, ...] = ()
    source: Source = ""
    best_known_by: str = ""
    tokens: AcceptedTokens | None = None


@dataclass(frozen=True)
class Deviation(Result):
    """The first token's law: target, observed counts, and what named faults would emit.

    tokens: the ids shown (all, or the 20 most probable; -1: all the others); probabilities run
    along `tokens`, and the limits hold together with 99.9 %. bins: of a large vocabulary they are
    its bins by the ratio of target to draft. draft: the draft's own law, () in old records.
    """

    tokens: tuple[int, ...]
    expected: tuple[float, ...]
    observed: tuple[int, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]
    predictions: dict[str, tuple[float, ...]]
    draft: tuple[float, ...] = ()
    bins: bool = False


@dataclass(frozen=True)
class Evidence(Result):
    """Everything probability evidence says about one case.

    certified: the smallest epsilon that the bound supports (U), None where no look was made.
    detectable: the smallest TV that this many trials could have seen (90 % power).
    trials_needed: trials at which a correct sampler is expected to be certified.
    blind: catalogued faults that a PASS here does not exclude: their law, as the certificate
    measures it, lies within epsilon of the target's.
    rules_observed: rules whose law fits what was seen ("unknown" where none does).
    path: trials and natural log of the e-value along the run, [] in old records. bonus: None where
    it was not seen. head: of a large vocabulary its 20 most probable ids and the rest, shown and no
    part of any test; None otherwise and in old records.
    """

    trials: int
    looks: int
    gate: GateReading
    impossible: ImpossibleEvents
    traces: tuple[str, ...]
    views: tuple[ViewReading, ...]
    independence: Independence
    conformity: Conformity | None
    acceptance: Acceptance
    deviation: Deviation
    rules_observed: tuple[str, ...]
    certified: float | None
    detectable: float | None
    trials_needed: int | None
    blind: tuple[str, ...]
    null_distance: float
    path: tuple[tuple[int, float], ...] = ()
    bonus: BonusToken | None = None
    head: Deviation | None = None
