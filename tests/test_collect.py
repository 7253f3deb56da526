"""One chunk: what the sampler sees, and what is counted."""

import numpy as np
import torch

from audit.harness.collect import Bench, is_frozen
from audit.harness.deck import deck_of
from audit.harness.null import handed_over
from audit.harness.schedule import Chunk
from audit.harness.views import View
from audit.samplers.interface import Facts, LoadedSampler
from audit.samplers.rules import SAMPLERS
from tests.worlds import article, prefix_dependent

CPU = torch.device("cpu")


def bench(call, *cases, batch_size=1000):
    nulls = [handed_over(case, torch.float32) for case in cases]
    deck = deck_of(nulls, dtype=torch.float32, device=CPU)
    views = tuple((View("tokens", null.case),) for null in nulls)
    facts = Facts(in_process=True, ragged=True)
    return Bench(LoadedSampler("test", call, facts), deck, views, seed=3, batch_size=batch_size)


def test_every_trial_is_counted_once_for_each_case():
    chunk = Chunk(look=1, part=0, first=0, trials=250)
    made = bench(SAMPLERS["ratio"], article(1), prefix_dependent(2)).collect(chunk)
    assert [entry.counts.trials for entry in made] == [250, 250]
    assert [int(entry.calls.sum()) for entry in made] == [250, 250]
    assert all(entry.first_rows.trials == len(entry.calls) for entry in made)


def test_always_accept_emits_the_drafts_themselves():
    chunk = Chunk(look=1, part=1, first=0, trials=400)
    (entry,) = bench(SAMPLERS["always-accept"], prefix_dependent(2)).collect(chunk)
    table = entry.counts.tables[0]
    assert table[:, :2].sum() == 0  # only blocks of gamma + 1 tokens
    for draft in range(9):
        cells = np.flatnonzero(table[draft, 2]) // 3
        assert set(cells.tolist()) <= {draft}


def test_chunks_of_a_case_have_different_randomness():
    made = [
        bench(SAMPLERS["ratio"], article(2)).collect(Chunk(1, part, first, 200))[0]
        for part, first in ((1, 0), (2, 200), (1, 0))
    ]
    first, second, again = (entry.counts.tables[0] for entry in made)
    assert np.array_equal(first, again)
    assert not np.array_equal(first, second)


def test_only_a_sampler_that_restarts_its_generator_is_frozen():
    assert not is_frozen(bench(SAMPLERS["ratio"], article(2)))
    assert not is_frozen(bench(SAMPLERS["greedy"], article(2)))  # deterministic is not frozen

    def frozen(batch, generator):
        return SAMPLERS["ratio"](batch, torch.Generator().manual_seed(4))

    assert is_frozen(bench(frozen, article(2)))
