"""One chunk: what the sampler sees, and what is counted."""

import dataclasses
from fractions import Fraction

import numpy as np
import pytest
import torch

from audit.case import Rows
from audit.errors import SamplerError
from audit.harness.collect import Bench, _ChunkRun
from audit.harness.deck import deck_of
from audit.harness.frozen import is_frozen
from audit.harness.null import handed_over
from audit.harness.schedule import Chunk
from audit.harness.views import View
from audit.row import Row
from audit.samplers.interface import Facts, LoadedSampler
from audit.samplers.rules import SAMPLERS
from tests.worlds import article, case_of, prefix_dependent

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
    calls = [entry.together[0].calls for entry in made]
    assert [int(table.sum()) for table in calls] == [250, 250]
    assert [entry.first_rows.trials for entry in made] == [len(table) for table in calls]


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


LEVEL = 1e-7  # the false-alarm rate of every probe below


def test_only_a_sampler_that_restarts_its_generator_is_frozen():
    assert not is_frozen(bench(SAMPLERS["ratio"], article(2)), level=LEVEL)
    assert not is_frozen(bench(SAMPLERS["greedy"], article(2)), level=LEVEL)  # deterministic

    def frozen(batch, generator):
        return SAMPLERS["ratio"](batch, torch.Generator().manual_seed(4))

    assert is_frozen(bench(frozen, article(2)), level=LEVEL)


@pytest.mark.parametrize("period", [2, 3, 8, 16])
def test_a_generator_restarted_now_and_then_is_frozen(period):
    calls = 0
    own = torch.Generator()

    def restarting(batch, generator):
        nonlocal calls
        if calls % period == 0:
            own.manual_seed(4)
        calls += 1
        return SAMPLERS["ratio"](batch, own)

    assert is_frozen(bench(restarting, article(2)), level=LEVEL)


def test_nearly_constant_rows_do_not_count_as_repetition():
    # p = q = (63/64, 1/64): calls often agree in every row by chance.
    nearly = Rows({(): Row.of([Fraction(63, 64), Fraction(1, 64)])})
    case = case_of(nearly, nearly, gamma=1)
    for seed in range(50):
        made = dataclasses.replace(bench(SAMPLERS["ratio"], case), seed=seed)
        assert not is_frozen(made, level=LEVEL)


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
    made = bench(looking, article(2))
    made.collect(chunk)
    assert not is_frozen(made, level=LEVEL)
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


def test_a_sampler_that_ends_its_process_is_an_error_here_too():
    def leaving(batch, generator):
        raise SystemExit(0)

    with pytest.raises(SamplerError, match="SystemExit"):
        bench(leaving, article(2)).collect(Chunk(1, 1, 0, 200))


def test_writes_that_repeat_themselves_are_seen_from_the_probe_on():
    def flooring(batch, generator):
        tokens = SAMPLERS["ratio"](batch, generator)
        target = batch.target_probs.numpy()
        np.maximum(target, 0.25, out=target)
        return tokens

    made = bench(flooring, article(2))
    is_frozen(made, level=LEVEL)
    with pytest.raises(SamplerError, match="wrote into its input"):
        made.collect(Chunk(1, 1, 0, 200))
