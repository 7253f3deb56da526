"""Exact laws as float64 arrays for the statistics, each entry correctly rounded once, at the end.

Codes read tokens as base-V digits, first token leading (audit/counts.py).
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from audit.case import Case
from audit.errors import UsageError
from audit.exact.catalogue import rule_for
from audit.exact.chain import Branch
from audit.exact.engine import branches_of, completed_law, given_path, target_law
from audit.exact.integers import product
from audit.exact.law import Law
from audit.exact.onestep import causal_chain, one_step
from audit.exact.paths import Rounds, refuse_beyond_limit
from audit.exact.ratios import Ratios, of_row, whole
from audit.exact.rule import Rule

Table = npt.NDArray[np.float64]


def target_table(case: Case) -> Table:
    """Returns the target's law of gamma + 1 tokens, float64 [V ** (gamma + 1)]."""
    return _whole_blocks(target_law(case), case)


def completed_table(case: Case, rule: str | Rule) -> Table:
    """Returns the completed law of a rule, float64 [V ** (gamma + 1)].

    Mass without a completed block (undefined outcomes) is left out: the sum is then below 1.
    """
    return _whole_blocks(completed_law(case, rule), case)


def joint_masses(case: Case, rule: str | Rule) -> list[Ratios]:
    """Returns P(draft block, emitted block) by emitted length 1..gamma + 1, exactly.

    Each is [V ** gamma, V ** length]; undefined and empty outcomes are left out. The draft block
    is the rule's own where it does not draft from the recorded rows.

    Raises:
        UsageError: V ** (2 gamma + 1) is beyond CELL_LIMIT.
    """
    rounds, branches = branches_of(case, rule)
    paths, size = len(rounds.tokens), rounds.vocab_size
    refuse_beyond_limit(paths * size ** (rounds.gamma + 1), of="the joint law of draft and output")
    tables = [whole(np.zeros((paths, size ** (i + 1)))) for i in range(rounds.gamma + 1)]
    for branch in (branch for branch in branches if branch.length):
        tables[branch.length - 1] += _placed(rounds, branch)
    return tables


def joint_table(case: Case, rule: str | Rule) -> list[Table]:
    """Returns `joint_masses` as float64, each entry correctly rounded.

    Raises:
        UsageError: V ** (2 gamma + 1) is beyond CELL_LIMIT.
    """
    return [table.floats() for table in joint_masses(case, rule)]


def step_table(case: Case, rule: str | Rule) -> Table:
    """Returns one step of a prefix-causal rule on a context-free case, float64 [3, V].

    Rows: the mass accepted, the mass drawn after a rejection, and the law of the bonus token (0
    where there is none). It serves vocabularies too large for whole blocks.

    Raises:
        UsageError: the rule is not prefix-causal, or rows of the case depend on the prefix.
    """
    if not case.context_free:
        raise UsageError(
            f'case "{case.id}" has rows that depend on the prefix, so no single step stands for '
            "all: use completed_table."
        )
    p, q = case.target[()], case.draft[()]
    step = one_step(rule_for(case, rule), p, q)
    bonus = causal_chain(rule).bonus([of_row(p)] * 2, [of_row(q)])
    scale = np.array([step.denominator], dtype=object)
    return np.stack(
        [
            Ratios(step.kept, scale).floats(),
            Ratios(step.recovered, scale).floats(),
            np.zeros(len(p)) if bonus is None else bonus.floats().ravel(),
        ]
    )


def binned_table(case: Case, rule: str | Rule, labels: npt.NDArray[np.int64]) -> Table:
    """Returns the completed law of a prefix-causal rule through bins, [bins ** (gamma + 1)].

    labels int64 [vocab] gives the bin of every token. The rule acts on single tokens: what it does
    to bins as if they were tokens is another law.

    Raises:
        UsageError: the rule is not prefix-causal, or rows of the case depend on the prefix.
    """
    bins = int(labels.max()) + 1
    rows = (*step_table(case, rule), case.target[()].floats())
    kept, recovered, bonus, target = (
        np.asarray(np.bincount(labels, row, bins), dtype=np.float64) for row in rows
    )
    law, ended = bonus if bonus.any() else target, target
    for _ in range(case.num_speculative_tokens):
        law = np.outer(kept, law).ravel() + np.outer(recovered, ended).ravel()
        ended = np.outer(target, ended).ravel()
    return law


def _whole_blocks(law: Law, case: Case) -> Table:
    length = case.num_speculative_tokens + 1
    if length not in law.tables:
        return np.zeros(case.vocab_size**length)
    return law.tables[length].floats()


def _placed(rounds: Rounds, branch: Branch) -> Ratios:
    """Returns the masses [paths, vocab ** length] of a branch, by path and emitted block."""
    masses = given_path(rounds, branch)
    prefixes = np.arange(rounds.vocab_size**branch.kept)
    at_prefix = rounds.codes(branch.kept_nodes)[:, None] == prefixes
    placed = product(masses.numerators[:, None, :], at_prefix[:, :, None].astype(np.int64))
    return Ratios(placed.reshape(len(at_prefix), -1), masses.denominators)
