"""What a case's proposals show, call by call: drafts beside the rows they are claimed to come from.

A place is where a draft is drawn: position and drafted prefix, in the order of prefixes by length
and code (the position alone where no row depends on the prefix). Sums stay on the device until
they are taken at the end of a chunk.

Bets are placed on single draws, since claimed rows may differ from call to call. A tilt t turns the
claimed row q into the law q t / sum(q t), whose factor t(x) / sum(q t) has expectation 1 if x comes
from q, whatever q is. Tilts are fixed before a chunk: a value for each place and token, and one for
each rank of a token within its claimed row.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import astuple, dataclass, fields

import numpy as np
import torch
from torch import Tensor

from audit.case import Case, Prefix, Rows
from audit.counts import Table
from audit.harness.null import row_or_none
from audit.statistics.results import Array

FURTHEST_SUM = 0.01  # from 1: further than the rounding of any type


@dataclass(frozen=True)
class Places:
    """The places of a case: the prefix of each; `free` where the position alone counts."""

    prefixes: tuple[Prefix, ...]
    vocab_size: int
    free: bool

    @classmethod
    def of(cls, case: Case) -> Places:
        """Returns the places at which a case drafts."""
        lengths, free = range(case.num_speculative_tokens), case.context_free
        each = ([(0,) * length] if free else case.prefixes(length) for length in lengths)
        return cls(tuple(prefix for some in each for prefix in some), case.vocab_size, free)

    @property
    def positions(self) -> Table:
        """The position of each place, from 0, int64 [places]."""
        return np.array([len(prefix) for prefix in self.prefixes])

    def rows(self, model: Rows, shorten: Callable[[Prefix], Prefix] = tuple) -> Array:
        """Returns a model's rows after all prefixes, shortened ones if told, [places, vocab].

        A row that nothing can reach, so that the case has none, is uniform.
        """
        found = (row_or_none(model, shorten(prefix)) for prefix in self.prefixes)
        even = np.full(self.vocab_size, 1 / self.vocab_size)
        return np.array([even if row is None else row.floats() for row in found])

    def index(self, drafted: Tensor) -> Tensor:
        """Returns the places of these drafts, int64 [batch, gamma]."""
        start, code, columns = 0, torch.zeros_like(drafted[:, 0]), list[Tensor]()
        for position, token in enumerate(drafted.unbind(1)):
            columns.append(start + (torch.zeros_like(code) if self.free else code))
            start += 1 if self.free else self.vocab_size**position
            code = code * self.vocab_size + token
        return torch.stack(columns, 1)


@dataclass(frozen=True)
class Accepting:
    """Whether first drafts are kept, beside two rules; addable.

    kept: how many were; by_ratio and by_match: how many min(1, p / q) and p let expect; the spreads
    are the sums of the squared differences, round by round.
    """

    kept: float = 0.0
    by_ratio: float = 0.0
    by_match: float = 0.0
    ratio_spread: float = 0.0
    match_spread: float = 0.0

    @classmethod
    def of(cls, kept: Tensor, by_ratio: Tensor, by_match: Tensor) -> Accepting:
        """Returns the sums over one call: bool [batch], and both chances [batch]."""
        spreads = ((kept.double() - chance).square().sum() for chance in (by_ratio, by_match))
        sums = kept.sum(), by_ratio.sum(), by_match.sum(), *spreads
        return cls(*(float(value) for value in sums))

    def __add__(self, other: Accepting) -> Accepting:
        return Accepting(*map(sum, zip(astuple(self), astuple(other), strict=True)))


@dataclass(eq=False)
class Proposed:
    """The sums of a chunk; addable.

    drawn int64 [places, vocab] and claimed float64 [places, vocab]: the draws, and the sum of the
    rows claimed for them; ranks float64 [2, vocab]: the same two by rank. unclaimed int64 [places,
    vocab]: draws for which nothing was claimed. log_factors [bets]: the logarithms of what the bets
    have won. impossible: draws of claimed probability 0. unnormalised: claimed rows whose sum is
    not 1, `furthest` the largest difference.
    """

    drawn: Table
    unclaimed: Table
    claimed: Array
    ranks: Array
    log_factors: Array
    impossible: int = 0
    rounds: int = 0
    unnormalised: int = 0
    furthest: float = 0.0
    accepting: Accepting = Accepting()

    @classmethod
    def none(cls, places: int, vocab_size: int, bets: int) -> Proposed:
        """Returns the sums of no round."""
        size = (places, vocab_size)
        drawn = np.zeros(size, dtype=np.int64)
        ranks = np.zeros((2, vocab_size))
        return cls(drawn, drawn.copy(), np.zeros(size), ranks, np.zeros(bets))

    @property
    def everything_drawn(self) -> Table:
        """The draws, claimed or not, int64 [places, vocab]."""
        return self.drawn + self.unclaimed

    def __add__(self, other: Proposed) -> Proposed:
        sums = {
            item.name: getattr(self, item.name) + getattr(other, item.name) for item in fields(self)
        }
        return Proposed(**{**sums, "furthest": max(self.furthest, other.furthest)})


class ProposalTally:
    """What the proposals of one case show since they were last taken.

    tilts float64 [bets, places, vocab] and rank_tilt [vocab], the last bet, hold for a whole chunk.
    first float64 [places, vocab] and varies [places]: the first row claimed at each place, -1 where
    there is none, and the largest difference of another one to it; along: the largest difference of
    a claimed row to that of the round's first position. They are never reset.
    """

    def __init__(self, case: Case, *, tolerance: float, device: torch.device) -> None:
        self.places, self._tolerance = Places.of(case), tolerance
        size = (len(self.places.prefixes), case.vocab_size)
        ones = torch.ones(1, *size, dtype=torch.float64, device=device)
        self.first, self.varies = -ones[0], torch.zeros_like(ones[0, :, 0])
        self.along = torch.zeros_like(self.varies[0])
        self.bet(ones, ones[0, 0])

    def bet(self, tilts: Tensor, rank_tilt: Tensor) -> None:
        """Places other bets, and forgets what has been noted since the last time."""
        self.tilts, self.rank_tilt = tilts, rank_tilt
        self._seen = self._nothing()

    def taken(self) -> Proposed:
        """Returns the sums since the last time, and begins anew."""
        seen, self._seen = self._seen, self._nothing()
        return seen

    def _nothing(self) -> Proposed:
        places, vocab_size = self.first.shape
        return Proposed.none(places, vocab_size, bets=len(self.tilts) + 1)

    def add(
        self, drafted: Tensor, claimed: Tensor | None, *, target: Tensor, accepted: Tensor
    ) -> None:
        """Takes in the proposals of one call.

        drafted int64 [batch, gamma]; claimed [batch, gamma, vocab] or None; target [batch, vocab],
        the target's row for the first draft; accepted bool [batch], whether that was kept.
        """
        index = self.places.index(drafted)
        draws = torch.nn.functional.one_hot(drafted.flatten(), target.shape[1])
        by_place = self._by_place(index, draws).cpu().numpy()
        self._seen.rounds += len(drafted)
        p = target.gather(1, drafted[:, :1])[:, 0].double()
        if claimed is None:
            self._seen.unclaimed += by_place
            self._seen.accepting += Accepting.of(accepted, p, p)
            return
        self._seen.drawn += by_place
        rows = self._normalised(claimed.double())
        self.along = torch.maximum(self.along, (rows - rows[:, :1]).abs().max())
        q = rows[:, 0].gather(1, drafted[:, :1])[:, 0]
        self._seen.accepting += Accepting.of(accepted, (p / q).clamp(max=1).nan_to_num(0), p)
        self._compare(index.flatten(), drafted.flatten(), rows.flatten(0, 1))

    def _normalised(self, claimed: Tensor) -> Tensor:
        """Returns the claimed rows over their sums, and notes how far these are from 1."""
        sums = claimed.sum(2, keepdim=True)
        apart = (sums - 1).abs()
        self._seen.unnormalised += int((apart > FURTHEST_SUM).sum())
        self._seen.furthest = max(self._seen.furthest, float(apart.max()))
        return claimed / sums

    def _by_place(self, index: Tensor, values: Tensor) -> Tensor:
        """Returns the sums of values [draws, vocab] by place."""
        sums = torch.zeros(self.first.shape, dtype=values.dtype, device=values.device)
        return sums.index_add_(0, index.flatten(), values)

    def _compare(self, index: Tensor, drawn: Tensor, rows: Tensor) -> None:
        """Takes in single draws, int64 [draws], and their claimed rows [draws, vocab]."""
        self._seen.claimed += self._by_place(index, rows).cpu().numpy()
        self._note_first(index, rows)
        order = rows.argsort(dim=1, descending=True, stable=True)
        rank = (order == drawn.unsqueeze(1)).long().argmax(1)
        ranks = [torch.bincount(rank, minlength=rows.shape[1]), rows.gather(1, order).sum(0)]
        self._seen.ranks += torch.stack([one.double() for one in ranks]).cpu().numpy()
        chance = rows.gather(1, drawn.unsqueeze(1))[:, 0]
        self._seen.impossible += int((chance <= 0).sum())
        by_rank = torch.zeros_like(rows).scatter_(1, order, self.rank_tilt.expand_as(rows))
        bets = [*(tilt[index] for tilt in self.tilts), by_rank]
        won = [self._won(rows, tilt, drawn)[chance > 0].sum() for tilt in bets]
        self._seen.log_factors += torch.stack(won).cpu().numpy()

    def _won(self, rows: Tensor, tilt: Tensor, drawn: Tensor) -> Tensor:
        """Returns the logarithm of each draw's factor, the tolerance of the rows allowed for."""
        mean = (rows * tilt).sum(1)
        reach = (tilt.amax(1) - tilt.amin(1)) / mean
        factor = tilt.gather(1, drawn.unsqueeze(1))[:, 0] / mean
        return (factor / (1 + self._tolerance * reach)).log()

    def _note_first(self, index: Tensor, rows: Tensor) -> None:
        new = self.first[index, 0] < 0
        self.first[index[new]] = rows[new]
        apart = (rows - self.first[index]).abs().amax(1)
        self.varies.scatter_reduce_(0, index, apart, "amax")
