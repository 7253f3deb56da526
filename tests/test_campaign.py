"""Scheduling: mixed and shared calls, resumption, time limits, errors in one case."""

import dataclasses
import time

import numpy as np
import pytest
import torch

from audit.errors import SamplerError
from audit.harness.store import RunDirectory
from audit.samplers.interface import Facts, LoadedSampler
from audit.samplers.rules import RULES, SAMPLERS
from audit.tree import Tree
from audit.verdict import Outcome
from tests.simulation import campaign_of
from tests.worlds import article, one_hot_target, prefix_dependent


def totals(campaign):
    return [m.preservation.counts.tables[0] for m in campaign.monitors]


def equal(a, b):
    return all(np.array_equal(x, y) for x, y in zip(totals(a), totals(b), strict=True))


def loaded(call, **facts):
    return LoadedSampler("test", call, Facts(in_process=True, **facts))


def test_totals_do_not_depend_on_the_batch_size():
    cases = [article(2), prefix_dependent(2)]
    one, other = (campaign_of("reference", cases, cap=2000, batch_size=b) for b in (7, 1000))
    assert equal(one, other)
    assert not equal(one, campaign_of("reference", cases, cap=2000, seed=2))


def test_an_interrupted_run_resumes_to_the_same_totals(tmp_path):
    cases = [article(2), prefix_dependent(2)]
    calls = 0

    def stopping(batch, generator):
        nonlocal calls
        calls += 1
        if calls == 60:
            raise KeyboardInterrupt
        return SAMPLERS["ratio"](batch, generator)

    def run(call):
        store = RunDirectory(tmp_path, {}, name="audit")
        return campaign_of(loaded(call), cases, cap=2000, store=store)

    broken = run(stopping)
    assert broken.interrupted
    assert 0 < sum(m.trials for m in broken.monitors) < 4000
    done_before = calls
    resumed = run(stopping)
    assert equal(resumed, campaign_of(loaded(SAMPLERS["ratio"]), cases, cap=2000))
    kept = calls - done_before
    calls = 1000
    assert equal(run(stopping), resumed)
    assert calls == 1000 + 33  # only the probe calls: every chunk was kept
    assert kept > 2


def test_mixed_calls_hold_rows_of_several_cases_and_of_unequal_gamma():
    seen = []

    def watching(batch, generator):
        seen.append(batch.num_draft_tokens.unique().tolist())
        return SAMPLERS["ratio"](batch, generator)

    campaign_of(loaded(watching, ragged=True), [article(1), prefix_dependent(2)], cap=200)
    assert [1, 2] in seen
    seen.clear()
    campaign_of(loaded(watching), [article(1), prefix_dependent(2)], cap=200)
    assert [1, 2] not in seen


def test_rows_swapped_between_cases_fail_although_each_law_alone_is_right():
    def swapped(batch, generator):
        """Uses its neighbour's target row: unseen where all rows of a call are alike."""
        moved = batch._replace(target_probs=batch.target_probs.roll(1, dims=0))
        return SAMPLERS["ratio"](moved, generator)

    made = campaign_of(loaded(swapped), [article(2), one_hot_target(2)], cap=20_000)
    assert Outcome.FAIL in {m.verdict().outcome for m in made.monitors}
    alone = campaign_of(loaded(swapped), [article(2)], cap=20_000)
    assert alone.monitors[0].verdict().outcome is Outcome.PASS


def test_an_error_in_one_case_leaves_the_others_their_verdicts():
    def broken(batch, generator):
        tokens = SAMPLERS["ratio"](batch, generator)
        if batch.target_probs.stride()[0] != 0 and batch.num_draft_tokens[0] == 2:
            tokens[-1, 0] = 99
        return tokens

    made = campaign_of(loaded(broken), [article(1), prefix_dependent(2)])
    assert set(made.errors) == {"g2"}
    assert "99" in str(made.errors["g2"])
    assert made.monitors[0].verdict().outcome is Outcome.PASS


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda batch, generator: None, "return"),
        (lambda batch, generator: batch.target_probs[:, :, 0], "float"),
        (lambda batch, generator: 1 // 0, "ZeroDivisionError"),
        (lambda batch, generator: torch.full((len(batch.draft_token_ids), 3), -1), "no token"),
    ],
)
def test_a_broken_contract_is_an_error_with_a_sentence(call, said):
    made = campaign_of(loaded(call), [article(2)], cap=200)
    (error,) = made.errors.values()
    assert isinstance(error, SamplerError)
    assert said in str(error)
    assert "\n" not in str(error)


def test_a_sampler_that_writes_into_its_inputs_is_an_error():
    def writing(batch, generator):
        batch.draft_token_ids.zero_()
        return SAMPLERS["ratio"](batch, generator)

    made = campaign_of(loaded(writing), [article(2)], cap=200)
    assert "draft_token_ids" in str(next(iter(made.errors.values())))


def test_after_the_deadline_nothing_more_is_sampled():
    made = campaign_of("reference", [article(2)], cap=200)
    made.deadline = time.monotonic() - 1
    before = made.monitors[0].trials
    made.run()
    assert made.monitors[0].trials == before


def test_a_sampler_with_dependent_rows_is_called_one_row_at_a_time():
    sizes = set()

    def watching(batch, generator):
        sizes.add(len(batch.draft_token_ids))
        return SAMPLERS["ratio"](batch, generator)

    campaign_of(loaded(watching, independent_rows=False), [article(1)], cap=200)
    assert sizes == {1}


def test_only_cases_with_the_same_tree_share_a_call():
    one, same, other = (
        dataclasses.replace(case, id=name, tree=Tree(parents, "independent"))
        for name, case, parents in (
            ("one", article(2), (-1, -1, 0)),
            ("same", prefix_dependent(2), (-1, -1, 0)),
            ("other", prefix_dependent(2), (-1, 0)),
        )
    )
    made = campaign_of(loaded(RULES["recursive-rejection"]), [one, same, other], cap=200)
    assert made.errors == {}
    assert {frozenset(key) for key in made._benches if len(key) > 1} == {frozenset({"one", "same"})}
