"""Rounds of a sampler that has exactly a given law, drawn as counts and fed to a real monitor.

No sampler runs here: the completed blocks of a chunk are one multinomial draw from the law, with
rows and calls that are independent. All that follows (bets, levels, looks, verdict) is the code
of a run.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from audit.counts import Counts
from audit.harness.collect import Collected
from audit.harness.schedule import Chunk, automatic_batch_size, call_rows, chunks
from audit.harness.togetherness import Together
from audit.harness.views import View
from audit.judgement.monitor import Monitor
from audit.judgement.prepare import CaseSetup
from audit.statistics.results import Array
from audit.verdict import Budget

_CATEGORIES = 8  # of outcomes that are noted of each call; independent here, whatever they are


def drawn(
    setup: CaseSetup, laws: Sequence[Array], chunk: Chunk, rng: np.random.Generator
) -> Collected:
    """Returns what a chunk shows of independent rounds whose completed blocks have these laws.

    laws float64 [cells], one a view, each drawn by itself; every round emits a whole block.
    """
    blocks = [rng.multinomial(chunk.trials, law / law.sum()) for law in laws]
    pairs = zip(setup.views, blocks, strict=True)
    counts = Counts(
        tuple(_whole(view, block) for view, block in pairs),
        tuple(view.case.vocab_size for view in setup.views),
    )
    nothing = Counts(tuple(table * 0 for table in counts.tables), counts.bases)
    case = setup.case
    size = automatic_batch_size(case.vocab_size, case.drafted)
    rows = [len(call) for call in call_rows(chunk.trials, batch_size=size)]
    even = np.full(_CATEGORIES, 1 / _CATEGORIES)
    calls = np.stack([rng.multinomial(row, even) for row in rows])
    together = Together(calls, _pairs(4, chunk, rng), _pairs(2, chunk, rng))
    return Collected(counts, nothing, (together,))


def _whole(view: View, block: np.ndarray) -> np.ndarray:
    """Returns the count table of whole blocks after one draft."""
    _, lengths, cells = view.shape
    table = np.zeros((1, lengths, cells), dtype=np.int64)
    table[0, -1] = block
    return table


def _pairs(tables: int, chunk: Chunk, rng: np.random.Generator) -> np.ndarray:
    square = np.full(_CATEGORIES**2, _CATEGORIES**-2.0)
    counts = rng.multinomial(chunk.trials // 2, square, size=tables)
    return counts.reshape(tables, _CATEGORIES, _CATEGORIES)


def followed(
    setup: CaseSetup,
    laws: Sequence[Array],
    budget: Budget,
    *,
    looks: Sequence[int],
    rng: np.random.Generator,
) -> Monitor:
    """Returns a monitor that took in drawn rounds until it was done, or the last look came."""
    monitor = Monitor(setup, budget)
    parts = chunks(looks)
    for chunk, following in zip(parts, [*parts[1:], None], strict=True):
        ends = following is None or following.look != chunk.look
        collected = drawn(setup, laws, chunk, rng)
        monitor.update(chunk, collected, ends_look=ends, last=following is None)
        if monitor.done():
            break
    return monitor
