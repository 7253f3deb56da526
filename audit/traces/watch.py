"""Takes in a trace chunk by chunk: what its tokens have shown so far, and what is proven."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from audit.counts import Table
from audit.plural import counted
from audit.statistics.impossible import ImpossibleEvents, impossible_events
from audit.statistics.independence import Association
from audit.tracefile.rounds import Round
from audit.traces.bets import Gate
from audit.traces.conformity import RuleWatch
from audit.traces.faults import NAMES, acts
from audit.traces.scores import BINS, ORDERS, UNKNOWN, Scores, joined, scores_of
from audit.traces.tokens import tokens_of, tolerance_of
from audit.verdict import Budget

PLACES = 8  # places within a round that are told apart; the last stands for all later ones
BONUS = PLACES
_PAIR_BINS = 8
_MOST_TRACES = 3
RULE_SHARE = Budget.CONFORMITY / 2  # half for the e-process, half for what the rule excludes


@dataclass
class Tally:
    """What was counted: rounds and tokens, and tokens by place, order and bin.

    The last bin holds tokens of recorded probability 0. opportunities: tokens that rounds could
    have emitted, gamma + 1 each, since how many they emit is not fixed beforehand. tolerance and
    rest are sums over judged tokens. unjudged: emitted tokens behind one that was not drafted.
    greedy: tokens of greedy rounds; not_greedy: those of them that are not the most probable.
    """

    rounds: int = 0
    drafted: int = 0
    emitted: int = 0
    judged: int = 0
    unjudged: int = 0
    greedy: int = 0
    not_greedy: int = 0
    opportunities: int = 0
    impossible: int = 0
    tolerance: float = 0.0
    rest: float = 0.0
    bins: Table = field(
        default_factory=lambda: np.zeros((PLACES + 1, len(ORDERS), BINS + 1), dtype=np.int64)
    )
    fits: Table = field(default_factory=lambda: np.zeros((len(NAMES), 2, BINS), dtype=np.int64))
    pairs: Table = field(default_factory=lambda: np.zeros((_PAIR_BINS,) * 2, dtype=np.int64))


class TraceWatch:
    """The state of one audit of a trace. A failure latches: more rounds cannot soften it."""

    def __init__(
        self, budget: Budget, *, declared: Sequence[str], tolerance: float | None, seed: int
    ) -> None:
        self.budget, self._tolerance = budget, tolerance
        self._coins = np.random.default_rng(seed)
        self.gate, self.tally = Gate.create(), Tally()
        self.rule = RuleWatch(declared, tolerance=tolerance) if declared else None
        self.traces: list[str] = []
        self.biased = self.dependent = self.unruly = ""

    def update(self, rounds: Sequence[Round]) -> None:
        """Takes in one chunk; what is bet on it was fixed before."""
        sampled = [one for one in rounds if not one.greedy]
        self._count(rounds)
        batches = tokens_of(sampled, tolerance=self._tolerance)
        if batches:
            parts = [scores_of(b, self._coins.random(len(b.cell))) for b in batches]
            self._count_scores(joined(parts))
            self.gate = self.gate.updated(joined(parts))
        if self.rule is not None:
            self.rule.update(sampled, self._coins)
        self._decide()

    def _count(self, rounds: Sequence[Round]) -> None:
        for one in rounds:
            self.tally.rounds += 1
            self.tally.drafted += one.gamma
            self.tally.emitted += len(one.emitted)
            self.tally.unjudged += len(one.emitted) - one.judged
            if one.greedy:
                self._count_greedy(one)
            else:
                self.tally.opportunities += one.gamma + 1
                self._note_impossible(one)

    def _count_greedy(self, one: Round) -> None:
        for row, token in zip(one.target, one.emitted[: one.judged].tolist(), strict=False):
            listed = row.probs if row.ids is None else row.probs[:-1]
            allowed = 2 * tolerance_of(row, one, self._tolerance)
            wrong = row.between(token)[1] < float(listed.max()) - allowed
            self.tally.greedy += 1
            self.tally.not_greedy += wrong
            if wrong:
                self._note(f"{one.where}: greedy, emitted {token}, not the most probable token")

    def _note_impossible(self, one: Round) -> None:
        for row, token in zip(one.target, one.emitted[: one.judged].tolist(), strict=False):
            if row.between(token)[1] <= 0:
                self._note(f"{one.where}: emitted {token}, whose target probability is 0")

    def _note(self, trace: str) -> None:
        if len(self.traces) < _MOST_TRACES:
            self.traces.append(trace)

    def _count_scores(self, scores: Scores) -> None:
        tally = self.tally
        tally.judged += len(scores)
        tally.tolerance += float(scores.tolerance.sum())
        tally.rest += float(scores.rest.sum())
        tally.impossible += int((~scores.possible).sum())
        place = np.where(scores.bonus, BONUS, np.minimum(scores.places, PLACES - 1))
        for order in range(len(ORDERS)):
            bins = np.where(scores.possible, scores.bins[:, order], BINS)
            known = bins != UNKNOWN
            np.add.at(tally.bins[:, order], (place[known], bins[known]), 1)
        for fault, name in enumerate(NAMES):
            known = scores.fit[:, fault] != UNKNOWN
            where = acts(name, scores.bonus[known]).astype(np.int64)
            np.add.at(tally.fits[fault], (where, scores.fit[known, fault]), 1)
        self._count_pairs(scores)

    def _count_pairs(self, scores: Scores) -> None:
        """Counts the first tokens of neighbouring rounds, in disjoint pairs, by id."""
        first = np.flatnonzero((scores.places == 0) & scores.possible)
        first = first[np.argsort(scores.rounds[first])]
        bins = scores.bins[first, ORDERS.index("id")] * _PAIR_BINS // BINS
        even = len(bins) // 2 * 2
        np.add.at(self.tally.pairs, (bins[:even:2], bins[1:even:2]), 1)

    def _decide(self) -> None:
        """Latches what this chunk proves; a bias is believed where rounds look independent."""
        tokens = self.tally.judged
        bar = self.budget.log_threshold(Budget.PRESERVATION)
        if not (self.biased or self.dependent) and self.gate.log_e >= bar:
            self.dependent = self.dependence()
            if not self.dependent:
                proof = crossed(self.gate.log_e, bar, counted(tokens, "token"))
                self.biased = f"the emitted tokens do not follow the recorded target rows: {proof}"
        rule, bar = self.rule, self.budget.log_threshold(RULE_SHARE)
        if rule is not None and not self.unruly and rule.log_e >= bar:
            self.unruly = crossed(rule.log_e, bar, counted(rule.sums.rounds, "round"))

    def dependence(self) -> str:
        """Returns the sentence that neighbouring rounds are dependent, "" where that is open.

        It is asked twice at most, when a bias is proven and at the end.
        """
        p_value = self.independence()
        if p_value > self.budget.level(Budget.INDEPENDENCE) / 2:
            return ""
        return f"not independent: neighbouring rounds depend on each other, p = {p_value:.2g}"

    def independence(self) -> float:
        """Returns the p-value that neighbouring rounds are independent, on empirical margins."""
        return Association().updated(self.tally.pairs[np.newaxis]).p_value

    def impossible(self) -> ImpossibleEvents:
        """Returns the test of tokens whose recorded target probability is 0."""
        tally = self.tally
        mean = tally.tolerance / tally.judged if tally.judged else 0.0
        return impossible_events(tally.impossible, tally.opportunities, tolerance=mean)


def crossed(log_e: float, bar: float, after: str) -> str:
    """Returns the proof by an e-value.

    >>> crossed(23.1, 14.6, "9 tokens")
    'e-value 10^10.0 after 9 tokens, 10^6.3 was enough'
    """
    ten = math.log(10)
    return f"e-value 10^{log_e / ten:.1f} after {after}, 10^{bar / ten:.1f} was enough"
