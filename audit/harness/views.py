"""The views through which a case is observed.

A small case has one view: every token is its own bin and the draft block is observed. A case too
large for that is observed through several fixed partitions of its vocabulary, each a small case
of its own over bins (its rows do not depend on the prefix), without the draft. Its likeliest ids
are counted one by one beside them, to be shown; nothing is judged by those counts.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from audit.case import Case, Rows
from audit.row import Row
from audit.statistics.pooling import hash_bins, rank_bins, ratio_bins, tail_bins

Labels = npt.NDArray[np.int64]

PARTITION_CELLS = 64  # completed blocks fall into about this many cells in each partition
HEAD = 20  # ids of a large vocabulary that are shown one by one


@dataclass(frozen=True, eq=False)
class View:
    """One way to look at a case.

    labels int64 [vocab] gives the bin of every token (None: its own); `case` is the case as seen
    through the bins; `drafts` says whether the draft block is observed, `tokens` how many completed
    tokens are: None for all gamma + 1.
    """

    name: str
    case: Case
    labels: Labels | None = None
    tokens: int | None = None

    @property
    def drafts(self) -> bool:
        """Whether the draft block is observed."""
        return self.labels is None

    @property
    def shape(self) -> tuple[int, int, int]:
        """The shape of its count table: drafts, lengths, completed blocks."""
        longest, base = self.case.num_speculative_tokens + 1, self.case.vocab_size
        drafts = base**self.case.drafted if self.drafts else 1
        return drafts, longest, base ** (self.tokens or longest)


def views_of(case: Case, *, key: bytes) -> tuple[View, ...]:
    """Returns the views of a case; `key` makes the hash bins secret until the run."""
    if not case.large:
        return (View("tokens", case),)
    target, draft = case.target[()].floats(), case.draft[()].floats()
    bins = max(2, round(PARTITION_CELLS ** (1 / (case.num_speculative_tokens + 1))))
    labels = {
        "ratio": ratio_bins(target, draft, bins=bins),
        "rank": rank_bins(target, bins=bins),
        "tail": tail_bins(target, head=bins // 2, bins=bins),
        "hash": hash_bins(case.vocab_size, key, bins=bins),
    }
    return tuple(View(name, _binned(case, bins), bins) for name, bins in labels.items())


def head_of(case: Case) -> View:
    """Returns the view of the first token alone: the likeliest ids, all others as the last bin."""
    ids = likeliest(case)
    labels = np.full(case.vocab_size, len(ids))
    labels[ids] = np.arange(len(ids))
    return View("head", _binned(case, labels), labels, tokens=1)


def likeliest(case: Case) -> Labels:
    """Returns the ids of largest target probability, at most HEAD, the lowest first of equals."""
    return np.argsort(-case.target[()].floats(), kind="stable")[:HEAD]


def _binned(case: Case, labels: Labels) -> Case:
    target, draft = _binned_row(case.target[()], labels), _binned_row(case.draft[()], labels)
    return replace(case, vocab_size=len(target), target=Rows({(): target}), draft=Rows({(): draft}))


def _binned_row(row: Row, labels: Labels) -> Row:
    masses = [0] * (int(labels.max()) + 1)
    for label, numerator in zip(labels.tolist(), row.numerators.tolist(), strict=True):
        masses[label] += numerator
    return Row.of(Fraction(mass, row.denominator) for mass in masses)
