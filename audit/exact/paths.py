"""Every draft block of a case with the rows that its verifier is handed.

A round is what a rule may look at, and nothing else: the draft block, the gamma + 1 target rows
along it and the gamma draft rows along it. All V^gamma rounds of a case stand side by side as
paths, in the order of their codes (audit/counts.py). p means target, q means draft.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from audit.case import Case, Prefix, Rows
from audit.errors import CaseError, UsageError
from audit.exact.ratios import Ratios, Tokens, stacked, whole
from audit.row import Row

CELL_LIMIT = 2**20  # cells of one exact array; about 50 bytes each while Python integers


@dataclass(frozen=True)
class Step:
    """One position of a round: rows p and q [rows, vocab] and the drafted token [rows].

    first_ and later_ name the rows of the first position and of the one after this; the last
    draft row has no later one and stands for it.
    """

    p: Ratios
    q: Ratios
    token: Tokens
    first_p: Ratios
    first_q: Ratios
    later_p: Ratios
    later_q: Ratios

    @classmethod
    def alone(cls, p: Ratios, q: Ratios, token: Tokens) -> Step:
        """Returns the step whose rows are those of all positions."""
        return cls(p, q, token, first_p=p, first_q=q, later_p=p, later_q=q)

    @property
    def px(self) -> Ratios:
        """p of the drafted token, [rows]."""
        return self.p.at(self.token)

    @property
    def qx(self) -> Ratios:
        """q of the drafted token, [rows]."""
        return self.q.at(self.token)


@dataclass(frozen=True)
class Rounds:
    """The V^gamma rounds of a case, one path each.

    tokens int64 [paths, gamma]; target gamma + 1 and draft gamma arrays [paths, vocab]; weight
    [paths], the probability that the path is drafted.
    """

    tokens: Tokens
    target: Sequence[Ratios]
    draft: Sequence[Ratios]
    weight: Ratios

    @property
    def gamma(self) -> int:
        """The number of drafted tokens."""
        return len(self.draft)

    @property
    def vocab_size(self) -> int:
        """The number of token ids."""
        return int(self.draft[0].numerators.shape[-1])

    @property
    def steps(self) -> list[Step]:
        """The positions of the drafted tokens, first to last."""
        p, q, last = self.target, self.draft, self.gamma - 1
        return [
            Step(p[i], q[i], token, p[0], q[0], later_p=p[i + 1], later_q=q[min(i + 1, last)])
            for i, token in enumerate(self.tokens.T)
        ]


def refuse_beyond_limit(cells: int, *, of: str) -> None:
    """Raises UsageError where an exact array would have more than CELL_LIMIT cells."""
    if cells > CELL_LIMIT:
        raise UsageError(
            f"{of} needs {cells} exact cells, more than the limit of {CELL_LIMIT}: choose a "
            "smaller vocabulary or fewer speculative tokens, or a rule that the one-step check "
            "decides."
        )


def cells_of(case: Case) -> int:
    """Returns the cells of a case's largest array: paths, positions and next tokens."""
    gamma = case.num_speculative_tokens
    return int(case.vocab_size ** (gamma + 1) * (gamma + 1))


def rounds_of(case: Case) -> Rounds:
    """Returns all rounds of a case.

    Raises:
        UsageError: V^gamma * (gamma + 1) * V cells are beyond CELL_LIMIT.
        CaseError: a prefix that can be reached has no row.
    """
    size, gamma = case.vocab_size, case.num_speculative_tokens
    refuse_beyond_limit(cells_of(case), of=f'case "{case.id}"')
    codes = np.arange(size**gamma)
    tokens = codes[:, None] // size ** np.arange(gamma - 1, -1, -1) % size
    target = [_along_paths(rows, size**gamma) for rows in levels(case, case.target, gamma)]
    draft = [_along_paths(rows, size**gamma) for rows in levels(case, case.draft, gamma - 1)]
    return Rounds(tokens, target, draft, weight_of(tokens, draft))


def weight_of(tokens: Tokens, rows: Sequence[Ratios]) -> Ratios:
    """Returns the probability [paths] that each path is drafted from its rows."""
    weight = whole(np.ones(len(tokens)))
    for i, row in enumerate(rows):
        weight = (weight * row.at(tokens[:, i])).reduced()
    return weight


def levels(case: Case, rows: Rows, longest: int) -> list[Ratios]:
    """Returns the rows after prefixes of 0..longest tokens: one array [V^length, vocab] each.

    A prefix that the rows themselves give probability 0 may lack its row; zeros stand for it.
    """
    found: list[Ratios] = []
    reached = np.ones(1, dtype=bool)
    for length in range(longest + 1):
        pairs = zip(case.prefixes(length), reached.tolist(), strict=True)
        found.append(stacked([_row(rows, prefix, needed, case) for prefix, needed in pairs]))
        reached = (reached[:, None] & (found[-1].numerators > 0)).ravel()
    return found


def _row(rows: Rows, prefix: Prefix, needed: bool, case: Case) -> Row:
    try:
        return rows[prefix]
    except CaseError:
        if needed:
            raise
        return Row(np.zeros(case.vocab_size, dtype=np.int64), 1)


def _along_paths(rows: Ratios, paths: int) -> Ratios:
    """Returns each prefix's row once for every path that starts with the prefix."""
    repeats = paths // len(rows.numerators)
    return Ratios(
        np.repeat(rows.numerators, repeats, axis=0), np.repeat(rows.denominators, repeats, axis=0)
    )
