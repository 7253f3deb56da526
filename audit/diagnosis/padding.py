"""Whether rows look padded with a token id where the contract asks for -1.

Every row is then full, and behind a rejected draft there is always the same id.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from audit.diagnosis.observed import Seen
from audit.exact.engine import rounds_of_case
from audit.statistics.results import Labels


def padded_with(seen: Sequence[Seen]) -> int | None:
    """Returns the id that is behind every rejected draft where all rows are full, else None.

    A draft tree has no such id: it is not asked.
    """
    if any(one.case.tree or _ends(one) for one in seen):
        return None
    ids = np.unique(np.concatenate([_behind_rejections(one) for one in seen]))
    return int(ids[0]) if len(ids) == 1 else None


def _ends(seen: Seen) -> bool:
    """Returns whether any row is shorter than it may be."""
    *shorter, _ = seen.pairs.by_length(seen.counts)
    return any(table.any() for table in shorter)


def _behind_rejections(seen: Seen) -> Labels:
    """Returns the ids behind the first one that is not the drafted one, int64 [any number]."""
    size, gamma = seen.case.vocab_size, seen.case.num_speculative_tokens
    draft, code = np.nonzero(seen.pairs.by_length(seen.counts)[-1])
    emitted = code[:, np.newaxis] // size ** np.arange(gamma, -1, -1) % size
    drafted = rounds_of_case(seen.case).tokens[draft]
    followed = np.cumprod(emitted[:, :gamma] == drafted, axis=1) > 0
    behind: Labels = emitted[:, 1:][~followed]
    return behind
