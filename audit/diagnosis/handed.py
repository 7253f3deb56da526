"""The law of (draft block, emitted block) where the harness drafts, whatever the rule would draft.

A rule that drafts for itself ignores the tokens that it is handed, but still reads the rows along
them: given the handed block its output is that of the rule on these rows at every position.
"""

from __future__ import annotations

import numpy as np

from audit.case import Case
from audit.exact.engine import branches_of, given_path
from audit.exact.paths import Rounds
from audit.exact.rule import Rule
from audit.exact.tables import joint_table
from audit.statistics.results import Array

MOST_DRAFTS = 128  # every one is laid beside every other


def handed_law(case: Case, rule: Rule) -> Array:
    """Returns the law, float64 [cells]: by emitted length, then draft block, then emitted block.

    It lacks the mass of undefined and of empty outcomes; of a rule that drafts for itself it lacks
    all of it where there are more than MOST_DRAFTS draft blocks.

    Raises:
        UsageError: the case is too large.
    """
    rounds, branches = branches_of(case, rule)
    own = any(branch.weight is not None for branch in branches)
    tables = _on_own_drafts(rounds, rule) if own else joint_table(case, rule)
    return np.concatenate([table.ravel() for table in tables])


def _on_own_drafts(rounds: Rounds, rule: Rule) -> list[Array]:
    """Returns the law by length, each [drafts, V ** length], of a rule that drafts for itself."""
    drafts, size = len(rounds.tokens), rounds.vocab_size
    tables = [np.zeros((drafts, size ** (n + 1))) for n in range(rounds.gamma + 1)]
    if drafts > MOST_DRAFTS:
        return tables
    handed, both = _side_by_side(rounds)
    for branch in rule.law(both):
        if branch.length:
            masses = given_path(both, branch).floats()
            table = tables[branch.length - 1].reshape(drafts, -1, masses.shape[1])
            np.add.at(table, (handed, both.codes(branch.kept_nodes)), masses)
    return [table * rounds.weight.floats()[:, np.newaxis] for table in tables]


def _side_by_side(rounds: Rounds) -> tuple[np.ndarray, Rounds]:
    """Returns a path for every pair of handed and own tokens, with the rows along the former."""
    paths = np.arange(len(rounds.tokens))
    handed, own = np.repeat(paths, len(paths)), np.tile(paths, len(paths))
    target, draft = ([row.taken(handed) for row in rows] for rows in (rounds.target, rounds.draft))
    weight = rounds.weight.taken(own)
    return handed, Rounds(rounds.tokens[own], target, draft, weight, rounds.tree)
