"""Every draft block of a case with the rows that its verifier is handed.

A round is what a rule may look at, and nothing else: the drafted tokens, the draft row of each
and the target rows before the first and after every one of them. All V^n rounds of a case with n
drafted tokens stand side by side as paths, in the order of their codes (audit/counts.py). A chain
of drafts is the tree in which every node continues the one before. p means target, q means draft.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from audit.case import Case, Prefix, Rows
from audit.errors import CaseError, UsageError
from audit.exact.drafting import drawn_from
from audit.exact.ratios import Ratios, Tokens, stacked, summed, whole
from audit.row import Row
from audit.tree import ROOT, Tree

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
    """The V^drafted rounds of a case, one path each.

    tokens int64 [paths, drafted]; draft: drafted arrays [paths, vocab], the row that token i was
    drawn from; target: one array more, first the row after the prompt, then that after token i;
    weight [paths], the probability that the path is drafted; tree: which token continues which.
    """

    tokens: Tokens
    target: Sequence[Ratios]
    draft: Sequence[Ratios]
    weight: Ratios
    tree: Tree

    @property
    def drafted(self) -> int:
        """The number of drafted tokens."""
        return len(self.draft)

    @property
    def gamma(self) -> int:
        """The most drafted tokens that a round can keep: all of a chain, the depth of a tree."""
        return self.tree.depth

    @property
    def vocab_size(self) -> int:
        """The number of token ids."""
        return int(self.draft[0].numerators.shape[-1])

    @property
    def steps(self) -> list[Step]:
        """The positions of the drafted tokens of a chain, first to last."""
        p, q, last = self.target, self.draft, self.drafted - 1
        return [
            Step(p[i], q[i], token, p[0], q[0], later_p=p[i + 1], later_q=q[min(i + 1, last)])
            for i, token in enumerate(self.tokens.T)
        ]

    def one_a_prefix(self, count: int) -> Tokens:
        """Returns one path for every `count` first tokens, in the order of their codes."""
        return np.arange(0, len(self.tokens), self.vocab_size ** (self.drafted - count))

    @cached_property
    def weights(self) -> list[Ratios]:
        """The probability [paths] that the first i tokens of a chain are drafted, by i."""
        found = [whole(np.ones(len(self.tokens)))]
        for token, row in zip(self.tokens.T, self.draft, strict=True):
            found.append((found[-1] * row.at(token)).reduced())
        return found

    def codes(self, nodes: Sequence[int]) -> Tokens:
        """Returns the code [paths] of the tokens of these nodes, the first one leading."""
        powers = self.vocab_size ** np.arange(len(nodes) - 1, -1, -1)
        return np.asarray(self.tokens[:, list(nodes)] @ powers)

    def summed_by(self, nodes: Sequence[int], masses: Ratios) -> Ratios:
        """Returns masses [paths, cells] as sums [vocab ** nodes, cells] by those nodes' tokens."""
        order = np.argsort(self.codes(nodes), kind="stable")
        return masses.taken(order).grouped(self.vocab_size, times=self.drafted - len(nodes))


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
    return int(case.vocab_size ** (case.drafted + 1) * (case.drafted + 1))


def rounds_of(case: Case) -> Rounds:
    """Returns all rounds of a case.

    Raises:
        UsageError: V^drafted * (drafted + 1) * V cells are beyond CELL_LIMIT.
        CaseError: a prefix that can be reached has no row, or a draft row has fewer tokens than
            different siblings are drawn from it.
    """
    refuse_beyond_limit(cells_of(case), of=f'case "{case.id}"')
    size, gamma = case.vocab_size, case.num_speculative_tokens
    tree = case.tree or Tree.chain(gamma)
    codes = np.arange(size**tree.nodes)
    tokens = codes[:, None] // size ** np.arange(tree.nodes - 1, -1, -1) % size
    after = _codes_after(tree, tokens, size)
    targets, drafts = levels(case, case.target, gamma), levels(case, case.draft, gamma - 1)
    target = [targets[tree.level(node)].taken(after[node + 1]) for node in range(ROOT, tree.nodes)]
    draft = [drafts[tree.level(parent)].taken(after[parent + 1]) for parent in tree.parents]
    weight = weight_of(tokens, drawn_from(tree, tokens, draft))
    if case.tree and summed(weight, size) != 1:
        raise CaseError(
            f'case "{case.id}" cannot draw the siblings of its tree: a draft row has fewer tokens '
            f"than {tree.drafting} siblings need; draft fewer siblings or spread the row."
        )
    return Rounds(tokens, target, draft, weight, tree)


def _codes_after(tree: Tree, tokens: Tokens, size: int) -> list[Tokens]:
    """Returns the code [paths] of the tokens down to every node, first that of the root."""
    after = [np.zeros(len(tokens), dtype=np.int64)]
    for node, parent in enumerate(tree.parents):
        after.append(after[parent + 1] * size + tokens[:, node])
    return after


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
