"""The tables of one or several cases of one vocabulary size, on the device.

A prefix stands at index start(length) + code, so that a table is [cases, prefixes, vocab];
where no row of any case depends on the prefix there is a single prefix. Masses and cumulative
tables are float64 made from exact integers; rows are in the dtype that the sampler sees. A chain
of drafts is the tree with a single path.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate

import numpy as np
import numpy.typing as npt
import torch

from audit.case import Case, Rows
from audit.harness.null import Null, row_or_none
from audit.row import Row
from audit.tree import Tree


@dataclass(frozen=True, eq=False)
class Deck:
    """Device tables of `cases`, all of one vocabulary size and, where they draft trees, one tree.

    gammas int64 [cases]; parents int64 [drafted], those of the tree; *_rows [cases, prefixes,
    vocab] in the working dtype; draft_masses and *_cumulative the same shape in float64; starts
    int64 [largest gamma + 2], the index of the first prefix of each length (all zero where
    `context_free`).
    """

    cases: tuple[Case, ...]
    gammas: torch.Tensor
    parents: torch.Tensor
    starts: torch.Tensor
    target_rows: torch.Tensor
    draft_rows: torch.Tensor
    draft_masses: torch.Tensor
    target_cumulative: torch.Tensor
    draft_cumulative: torch.Tensor
    context_free: bool

    @property
    def vocab_size(self) -> int:
        """The vocabulary size of every case here."""
        return self.cases[0].vocab_size

    @property
    def gamma(self) -> int:
        """The largest number of speculative tokens of a case here."""
        return max(case.num_speculative_tokens for case in self.cases)

    @cached_property
    def tree(self) -> Tree:
        """The shape of the drafts of a round, a single path where they are a chain."""
        return self.cases[0].tree or Tree.chain(self.gamma)

    @property
    def has_tree(self) -> bool:
        """Whether the cases here draft trees, and samplers are handed a TreeBatch."""
        return self.cases[0].tree is not None

    @property
    def uniform(self) -> bool:
        """Whether every row of a call has the same laws: one case, whatever the prefix."""
        return self.context_free and len(self.cases) == 1

    @property
    def ragged(self) -> bool:
        """Whether the cases here draft unequal numbers of tokens."""
        return len({case.num_speculative_tokens for case in self.cases}) > 1

    @property
    def device(self) -> torch.device:
        """Where the tables stand."""
        return self.target_rows.device

    def prefix_index(self, length: int, codes: torch.Tensor) -> torch.Tensor:
        """Returns the table index of the prefixes of `length` tokens with these codes."""
        return torch.zeros_like(codes) if self.context_free else self.starts[length] + codes


def deck_of(nulls: Sequence[Null], *, dtype: torch.dtype, device: torch.device) -> Deck:
    """Returns the tables of these cases, which must share one vocabulary size and one tree."""
    cases = tuple(null.case for null in nulls)
    free = all(case.context_free for case in cases)
    gamma = max(case.num_speculative_tokens for case in cases)

    def rows_of(of: Callable[[Null], Rows]) -> list[list[Row | None]]:
        return [_rows(null.case, of(null), gamma=gamma, free=free) for null in nulls]

    return Deck(
        cases=cases,
        gammas=torch.tensor([c.num_speculative_tokens for c in cases], device=device),
        parents=torch.tensor((cases[0].tree or Tree.chain(gamma)).parents, device=device),
        starts=torch.tensor(_starts(cases[0].vocab_size, gamma, free=free), device=device),
        target_rows=_probabilities(rows_of(lambda n: n.original.target)).to(device, dtype),
        draft_rows=_probabilities(rows_of(lambda n: n.original.draft)).to(device, dtype),
        draft_masses=_probabilities(rows_of(lambda n: n.case.draft)).to(device),
        target_cumulative=_cumulative(rows_of(lambda n: n.case.target)).to(device),
        draft_cumulative=_cumulative(rows_of(lambda n: n.case.draft)).to(device),
        context_free=free,
    )


def _starts(vocab_size: int, gamma: int, *, free: bool) -> list[int]:
    sizes = [0, *(vocab_size**length for length in range(gamma + 1))]
    return [0] * len(sizes) if free else list(accumulate(sizes))


def _rows(case: Case, rows: Rows, *, gamma: int, free: bool) -> list[Row | None]:
    """Returns the rows of all prefixes of 0..gamma tokens; None where there is none."""
    if free:
        return [rows[()]]
    longest = case.num_speculative_tokens
    return [
        row_or_none(rows, prefix) if length <= longest else None
        for length in range(gamma + 1)
        for prefix in case.prefixes(length)
    ]


def _probabilities(rows_by_case: list[list[Row | None]]) -> torch.Tensor:
    """A row that nothing can reach is handed over all the same, and must be one: uniform."""
    width = max(len(row) for rows in rows_by_case for row in rows if row is not None)
    return _table(rows_by_case, Row.floats, blank=1 / width)


def _cumulative(rows_by_case: list[list[Row | None]]) -> torch.Tensor:
    return _table(rows_by_case, _cumulative_floats, blank=1.0)


def _cumulative_floats(row: Row) -> npt.NDArray[np.float64]:
    sums = accumulate(row.numerators.tolist())
    return np.array([total / row.denominator for total in sums])


def _table(
    rows_by_case: list[list[Row | None]],
    floats: Callable[[Row], npt.NDArray[np.float64]],
    *,
    blank: float,
) -> torch.Tensor:
    """Returns float64 [cases, prefixes, vocab]; a prefix without a row is all `blank`."""
    width = max(len(row) for rows in rows_by_case for row in rows if row is not None)
    empty = np.full(width, blank)
    known = [[empty if row is None else floats(row) for row in rows] for rows in rows_by_case]
    return torch.from_numpy(np.array(known))
