"""Whether two kinds of rounds of one case have one law, by what each position emits.

What is said here explains a failure and decides none.
"""

from __future__ import annotations

import numpy as np

from audit.counts import Counts, Table
from audit.statistics.independence import Association


def log_e_of_difference(some: Counts, others: Counts) -> float:
    """Returns the natural log of the e-value that some rounds have another law than the others.

    At every position that was reached the emitted tokens are compared, given the draft there; at
    the bonus, given the draft before it.
    """
    tables = np.stack([_by_position(some), _by_position(others)], axis=2)
    association = Association()
    for drafted in range(tables.shape[1]):
        association = association.updated(tables[:, drafted])
    return association.log_e


def _by_position(counts: Counts) -> Table:
    """Returns int64 [gamma + 1, vocab, vocab]: rounds by the draft and the token of a position."""
    size, lengths = counts.bases[0], counts.tables[0].shape[1]
    gamma, found = lengths - 1, []
    for position in range(lengths):
        reached = counts.tables[0][:, position:].sum(axis=1)
        drafted = reached.reshape(size ** min(position, gamma - 1), size, -1, size**lengths)
        emitted = drafted.sum(axis=(0, 2)).reshape(size, size**position, size, -1)
        found.append(emitted.sum(axis=(1, 3)))
    return np.stack(found)
