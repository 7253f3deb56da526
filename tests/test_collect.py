"""One chunk: what the sampler sees, and what is counted."""

import numpy as np
import pytest
import torch

from audit.errors import SamplerError
from audit.harness.collect import Bench, _ChunkRun, is_frozen
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
    wanted = getattr(call, "draftproof", {})
    facts = Facts(in_process=True, ragged=True, **wanted)
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


def test_contiguous_rows_are_made_once_and_guarded_against_writes_around_torch():
    addresses = set()

    def looking(batch, generator):
        assert batch.target_probs.is_contiguous()
        addresses.add(batch.target_probs.data_ptr())
        return SAMPLERS["ratio"](batch, generator)

    def writing(batch, generator):
        tokens = SAMPLERS["ratio"](batch, generator)
        batch.target_probs.numpy()[-1, 0, 0] += 0.25
        return tokens

    looking.draftproof = writing.draftproof = {"contiguous": True}
    chunk = Chunk(look=1, part=1, first=0, trials=200)
    bench(looking, article(2)).collect(chunk)
    assert len(addresses) == 1
    with pytest.raises(SamplerError, match="wrote into its input"):
        bench(writing, article(2)).collect(chunk)


def test_drafts_overwritten_around_torch_do_not_reach_the_counts():
    def scribbling(batch, generator):
        tokens = SAMPLERS["always-accept"](batch, generator)
        batch.draft_token_ids.numpy()[:] = 0
        return tokens

    chunk = Chunk(look=1, part=1, first=0, trials=200)
    made, right = (
        bench(call, prefix_dependent(2)).collect(chunk)[0].counts.tables[0]
        for call in (scribbling, SAMPLERS["always-accept"])
    )
    assert np.array_equal(made, right)


def test_a_malformed_row_is_found_where_calls_are_not_read_one_by_one():
    def once(batch, generator):
        tokens = SAMPLERS["ratio"](batch, generator)
        tokens[0, 0] = -1
        return tokens

    run = _ChunkRun(bench(once, article(2)), Chunk(1, 1, 0, 200), read_every_call=False)
    run.made()
    assert bool(run.faulty)
