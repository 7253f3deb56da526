"""Whether drafts come from the rows that are claimed for them, case by case, chunk by chunk.

The null: given a claimed row and what was drafted before, the draft is a draw from that row. It is
what a ratio rule needs, whatever the draft model's law is. It is refuted by an e-process (bets of
`audit.harness.proposals`, placed from earlier chunks only), by drafts of claimed probability 0, and
by claimed rows that are no laws. The size of a wrong claim is a total variation between what was
drawn and what was claimed, through the lens that shows most of it: each position (drafted prefix
and token together), or the ranks of all drafts within their claimed rows.

References: as `audit.statistics.e_process` and `audit.statistics.total_variation`; Hoeffding
(1963).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch

from audit.case import Case
from audit.counts import Table
from audit.harness.proposals import ProposalTally, Proposed
from audit.harness.schedule import Chunk
from audit.judgement.prepare import CaseSetup, numerical_tolerance
from audit.judgement.preservation import power_of_ten
from audit.plural import are, counted
from audit.statistics.certificate import look_delta
from audit.statistics.e_process import LARGEST_FACTOR
from audit.statistics.impossible import ImpossibleEvents, impossible_events, look_alpha
from audit.statistics.results import Array, Result
from audit.statistics.total_variation import null_mean, slack
from audit.verdict import Budget

SHARE = Budget.CONFORMITY / 2  # that of a declared rule's test, which the step level does not ask
_ROUNDS_TO_MEASURE = 10_000  # how wrong a claim is that is known to be wrong
Pair = tuple[Array, Array]


@dataclass(frozen=True)
class ClaimedDistance(Result):
    """The total variation between drafts and claimed rows, through one lens.

    lens: "position 1", "position 2", ... or "ranks". null_mean: what a right claim shows on
    average. Each of upper and lower is wrong with a chance of at most delta.
    """

    lens: str
    estimate: float
    null_mean: float
    upper: float
    lower: float


class ProposalWatch:
    """What the proposals of one case have shown; `tally` notes them between updates."""

    def __init__(
        self, setup: CaseSetup, budget: Budget, *, dtype: torch.dtype, device: torch.device
    ) -> None:
        self.case, self.budget = setup.null.case, budget  # the rows as they are handed over
        self.tolerance = numerical_tolerance(setup.null, dtype)
        self.tally = ProposalTally(self.case, tolerance=self.tolerance, device=device)
        self._tilt(np.ones(self.tally.first.shape), np.ones(self.case.vocab_size))
        self._halves = [self.tally.taken()] * 2
        self._chunks = self.looks = 0
        self.log_e_max = 0.0
        self.upper: float | None = None

    def update(self, chunk: Chunk, *, ends_look: bool) -> None:
        """Takes in what the tally noted in one chunk."""
        half = int(chunk.part == 2)
        self._halves[half] = self._halves[half] + self.tally.taken()
        self._chunks += 1
        self.log_e_max = max(self.log_e_max, self.log_e)
        self._learn()
        if ends_look:
            self.looks = chunk.look
            bound = max((one.upper for one in self.distances()), default=1.0)
            self.upper = min(bound, self.upper if self.upper is not None else 1.0)

    @property
    def seen(self) -> Proposed:
        """Everything noted so far."""
        return self._halves[0] + self._halves[1]

    @property
    def log_e(self) -> float:
        """The natural log of the e-value against the claim."""
        won = self.seen.log_factors
        return float(np.logaddexp.reduce(won) - np.log(len(won)))

    @property
    def log_threshold(self) -> float:
        """The natural log of the e-value that refutes the claim."""
        return self.budget.log_threshold(SHARE)

    def impossible(self) -> ImpossibleEvents:
        """Returns the test of drafts whose claimed probability is 0."""
        seen = self.seen
        draws = round(float(seen.claimed.sum()))
        return impossible_events(seen.impossible, draws, tolerance=self.tolerance)

    def wrong(self, *, independent: bool = True) -> str:
        """Returns what proves that drafts do not come from the claimed rows, "" if nothing does.

        independent: whether rows are; where they are not, bets prove nothing.
        """
        test, seen = self.impossible(), self.seen
        if seen.unnormalised:
            draws = test.n
            return (
                f"{seen.unnormalised} of {draws} claimed rows do not sum to 1, by up to "
                f"{seen.furthest:.3g}"
            )
        if self._chunks and test.p_value <= look_alpha(self.budget.level(SHARE), self._chunks):
            of = counted(test.n, "draft")
            return f"{test.events:,} of {of} {are(test.events)} claimed to have probability 0"
        if independent and self.log_e_max >= self.log_threshold:
            return f"e-value {power_of_ten(self.log_e_max)} after {counted(test.n, 'draft')}"
        return ""

    def settled(self) -> bool:
        """Whether more rounds would tell nothing new of the claim."""
        silent = self.seen.rounds > 0 and not self.seen.drawn.any()
        within = self.upper is not None and self.upper <= self.budget.epsilon
        measured = self.seen.rounds >= _ROUNDS_TO_MEASURE
        return silent or within or (measured and bool(self.wrong()))

    def distances(self) -> list[ClaimedDistance]:
        """Returns the size through every lens that saw a claim, at the bounds of the last look."""
        budget = self.budget
        pairs = [list(_lenses(self.tally.places.positions, half)) for half in self._halves]
        delta = look_delta(budget.delta, cases=budget.cases, look=max(self.looks, 1))
        delta /= len(pairs[0])
        if not self.seen.drawn.any():
            return []
        return [
            _distance(name, first, second, delta=delta)
            for (name, first), (_, second) in zip(*pairs, strict=True)
        ]

    def worst(self) -> ClaimedDistance | None:
        """Returns the size through the lens that shows most beyond chance; None without a claim."""
        return max(self.distances(), key=lambda d: d.estimate - d.null_mean, default=None)

    def _learn(self) -> None:
        """Places the bets of the next chunk by what has been seen so far."""
        seen = self.seen
        tokens = np.array([_tilt(d, c) for d, c in zip(seen.drawn, seen.claimed, strict=True)])
        self._tilt(tokens, _tilt(*seen.ranks))

    def _tilt(self, tokens: Array, ranks: Array) -> None:
        device = self.tally.rank_tilt.device
        tilts = np.stack([tokens, bfloat16_tilt(self.case, self.tally)])
        self.tally.bet(torch.from_numpy(tilts).to(device), torch.from_numpy(ranks).to(device))


def bfloat16_tilt(case: Case, tally: ProposalTally) -> Array:
    """Returns the draft's rows as logits in bfloat16 give them over these rows, [places, vocab]."""
    rows = torch.from_numpy(tally.places.rows(case.draft))
    coarse = rows.log().bfloat16().double().softmax(1)
    return np.asarray(torch.where(rows > 0, coarse / rows, 1.0).numpy(), dtype=np.float64)


def _tilt(drawn: Array, claimed: Array) -> Array:
    """Returns how much likelier each cell is than claimed, [cells], as far as it is to be believed.

    The shares seen are shrunk towards the claim by its chi-square (James and Stein).
    """
    n, possible = float(claimed.sum()), claimed > 0
    chi_square = ((drawn - claimed)[possible] ** 2 / claimed[possible]).sum()
    freedom = int(possible.sum()) - 1
    if chi_square <= freedom or n <= 0:
        return np.ones(len(claimed))
    trust = min(1 - freedom / chi_square, n / (n + freedom + 1))
    ratio = np.divide(drawn, claimed, out=np.ones(len(claimed)), where=possible)
    tilt = np.clip(1 + trust * (ratio - 1), 1 / LARGEST_FACTOR, LARGEST_FACTOR)
    return np.asarray(tilt, dtype=np.float64)


def _lenses(positions: Table, seen: Proposed) -> Iterator[tuple[str, Pair]]:
    """Yields the name of each lens, and what was drawn and claimed through it.

    Both are [groups, cells], by round: of the ranks, which all positions share, a mean.
    """
    gamma = int(positions.max()) + 1
    for position in range(gamma):
        own = positions == position
        yield f"position {position + 1}", (seen.drawn[own], seen.claimed[own])
    yield "ranks", (seen.ranks[:1] / gamma, seen.ranks[1:] / gamma)


def _distance(name: str, first: Pair, second: Pair, *, delta: float) -> ClaimedDistance:
    """Returns the size through one lens from two halves of (drawn, claimed).

    One round may move the estimate by 2 / n, since it has a claimed row of its own.
    """
    drawn, claimed = first[0] + second[0], first[1] + second[1]
    n, other = round(float(drawn.sum())), round(float(second[0].sum()))
    estimate = float(np.abs(drawn - claimed).sum()) / (2 * n)
    excess = float((second[0] - second[1])[first[0] > first[1]].sum()) / max(other, 1)
    return ClaimedDistance(
        lens=name,
        estimate=estimate,
        null_mean=_null_mean(drawn, claimed),
        upper=min(estimate + 2 * slack(n, delta), 1.0),
        lower=max(excess - 2 * slack(max(other, 1), delta), 0.0),
    )


def _null_mean(drawn: Array, claimed: Array) -> float:
    """Returns the mean of the estimate where the draws of every group come from its mean row."""
    sizes = drawn.sum(axis=1)
    return sum(
        float(size / sizes.sum()) * null_mean(row / row.sum(), round(size))
        for size, row in zip(sizes, claimed, strict=True)
        if size > 0
    )
