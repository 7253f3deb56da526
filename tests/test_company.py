"""Rows of one call that are mixed up, found by cases that share no token and told as what they are.

Each broken sampler stands here with the sentence it gets; the correct ones stay clean. A case is
accused of anything at all with probability 1e-6 a campaign; `_LEVEL` of a mix-up (1e-4) explains
what has failed already.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from audit.campaign import Campaign
from audit.counts import Counts
from audit.judgement.company import log_e_of_company, mixed_up
from audit.samplers.chain import verified
from audit.samplers.interface import Facts, LoadedSampler
from audit.samplers.rules import SAMPLERS
from audit.selection import select_cases
from audit.verdict import Outcome
from tests.simulation import campaign_of
from tests.worlds import article

ROWS = select_cases(["row-*"])
MIXED = "rows of a call are mixed up"
ratio = SAMPLERS["ratio"]


def audited(call: Any, *, ragged: bool = False, **more: Any) -> Campaign:
    """Returns a campaign on the cases that share no token, at most 2,000 trials each."""
    sampler = LoadedSampler("mine", call, Facts(in_process=True, ragged=ragged))
    return campaign_of(sampler, ROWS, **{"cap": 2000, **more})


def said(campaign: Campaign) -> str:
    """Returns all that was proven, in one string."""
    found = [f"{m.setup.case.id}: {'; '.join(m.failures)}{m.dependent}" for m in campaign.monitors]
    return "\n".join([*found, *map(str, campaign.errors.values())])


def outcomes(campaign: Campaign) -> set[Outcome]:
    return {monitor.verdict().outcome for monitor in campaign.monitors}


def test_no_two_of_the_cases_share_a_token_at_any_position():
    for position in range(3):
        supports = []
        for case in ROWS:
            if position <= case.num_speculative_tokens:
                rows = [case.target[p] for p in reachable(case, position)]
                supports.append({t for row in rows for t in range(8) if row[t]})
        assert sum(map(len, supports)) == len(set().union(*supports)) == 2 * len(supports)


def reachable(case, length):
    """Returns the prefixes of positive target probability."""
    prefixes = [()]
    for _ in range(length):
        prefixes = [(*p, t) for p in prefixes for t in range(8) if case.target[p][t]]
    return prefixes


@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize("rule", ["ratio", "sampler-match", "block"])
def test_right_samplers_are_not_accused(rule, seed):
    made = audited(SAMPLERS[rule], ragged=True, seed=seed)
    assert not (outcomes(made) & {Outcome.FAIL, Outcome.DEPENDENT, Outcome.WITHIN})
    assert made.errors == {}


@pytest.mark.parametrize("rule", ["ratio", "sampler-match"])
def test_right_samplers_are_not_accused_in_small_calls_alone(rule):
    made = audited(SAMPLERS[rule], ragged=True, small_batches=True, cap=500)
    assert not (outcomes(made) & {Outcome.FAIL, Outcome.DEPENDENT, Outcome.WITHIN})


def rolled(batch, generator):
    return ratio(batch._replace(target_probs=batch.target_probs.roll(1, 0)), generator)


def rolled_far(batch, generator):
    # By as many rows as there are cases: unseen if the cases took turns.
    return ratio(batch._replace(target_probs=batch.target_probs.roll(len(ROWS), 0)), generator)


def first_for_all(batch, generator):
    same = batch.target_probs[:1].expand_as(batch.target_probs)
    return ratio(batch._replace(target_probs=same), generator)


def last_not_copied(batch, generator):
    target = batch.target_probs.clone()
    target[-1] = target[-2:][0]
    return ratio(batch._replace(target_probs=target), generator)


def permuted(batch, generator):
    order = torch.randperm(len(batch.draft_token_ids), generator=generator)
    return ratio(batch._replace(target_probs=batch.target_probs[order]), generator)


def drafts_permuted(batch, generator):
    moved = batch.draft_token_ids.roll(1, 0)
    return SAMPLERS["always-accept"](batch._replace(draft_token_ids=moved), generator)


class Stale:
    """Keeps the last row of a call for the first row of the next one."""

    def __init__(self) -> None:
        self.last: torch.Tensor | None = None

    def __call__(self, batch, generator):
        target = batch.target_probs.clone()
        if self.last is not None and self.last.shape == target[0].shape:
            target[0] = self.last
        self.last = batch.target_probs[-1].clone()
        return ratio(batch._replace(target_probs=target), generator)


@pytest.mark.parametrize(
    ("call", "ragged"),
    [
        (rolled, False),
        (rolled, True),
        (rolled_far, True),
        (first_for_all, False),
        (last_not_copied, False),
        (permuted, True),
        (drafts_permuted, False),
        (Stale(), False),
    ],
)
def test_mixed_up_rows_fail_at_the_first_look_and_are_called_that(call, ragged):
    made = audited(call, ragged=ragged)
    called = [m for m in made.monitors if m.failures and MIXED in m.verdict().sentence]
    assert len(called) >= 3  # without `ragged`, row-d shares no call
    assert {m.verdict().outcome for m in called} == {Outcome.FAIL}
    assert all(m.trials <= 200 for m in called)
    assert "impossible events" in said(made)


def test_one_token_proves_a_mix_up():
    calls = 0

    def once(batch, generator):
        nonlocal calls
        calls += 1
        mixed = batch.target_probs[0, 0].ne(batch.target_probs[:, 0]).any()
        return rolled(batch, generator) if mixed and calls < 60 else ratio(batch, generator)

    made = audited(once)
    assert "impossible events in" in said(made)
    alone = campaign_of(LoadedSampler("mine", rolled, Facts(in_process=True)), ROWS[:1], cap=2000)
    assert "impossible" not in said(alone)  # with rows that are all alike nothing shows


def lengths_of_the_neighbour(batch, generator):
    moved = batch._replace(num_draft_tokens=batch.num_draft_tokens.roll(1))
    return ratio(moved, generator)


def test_the_draft_length_of_a_neighbour_is_an_error_that_names_the_length():
    made = audited(lengths_of_the_neighbour, ragged=True)
    assert "which drafts 1 of up to 2 tokens, is [" in str(made.errors[""])


def one_coin_for_all(batch, generator):
    width = batch.draft_token_ids.shape[1] + 1
    coins = torch.rand(1, width, generator=generator, dtype=torch.float64)
    return verified(batch, coins.expand(len(batch.draft_token_ids), -1).clone())


def one_coin_for_two(batch, generator):
    rows, width = batch.draft_token_ids.shape
    coins = torch.rand(rows, width + 1, generator=generator, dtype=torch.float64)
    coins[1::2] = coins[::2][: rows // 2]
    return verified(batch, coins)


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (one_coin_for_all, "the rows of a call are too alike"),
        (one_coin_for_two, "rows of a call depend on each other"),
    ],
)
def test_rows_that_share_a_seed_are_dependent(call, sentence):
    made = audited(call, cap=20_000)
    assert outcomes(made) == {Outcome.DEPENDENT}
    assert sentence in said(made)
    assert MIXED not in said(made)


def accepting_alone(batch, generator):
    rule = "never-accept-full-target" if len(batch.draft_token_ids) == 1 else "ratio"
    return SAMPLERS[rule](batch, generator)


def biased_alone(batch, generator):
    rule = "always-accept" if len(batch.draft_token_ids) == 1 else "ratio"
    return SAMPLERS[rule](batch, generator)


def test_a_law_that_depends_on_the_number_of_rows_is_told():
    made = audited(biased_alone, cap=1000, small_batches=True)
    assert outcomes(made) & {Outcome.FAIL, Outcome.DEPENDENT}
    assert "what a row emits depends on how many rows its call has" in said(made)
    assert MIXED not in said(made)
    lawful = audited(accepting_alone, cap=500, small_batches=True)
    assert not (outcomes(lawful) & {Outcome.FAIL, Outcome.DEPENDENT})  # slower alone, and lossless


def test_a_bias_of_one_case_is_no_mix_up():
    made = audited(SAMPLERS["always-accept"], ragged=True)
    assert outcomes(made) == {Outcome.FAIL}
    assert MIXED not in said(made)


def counts(*blocks: int) -> Counts:
    table = np.array(blocks).reshape(1, 1, -1)
    return Counts((table,), (len(blocks),))


def test_impossible_blocks_are_compared_as_one_event_and_others_by_their_law():
    law = np.array([0.5, 0.5, 0.0, 0.0])
    clean, mixed = counts(400, 400, 0, 0), counts(30, 30, 9, 11)
    assert log_e_of_company(mixed, clean + mixed, law) > 20
    assert log_e_of_company(counts(30, 30, 1, 0), clean + counts(30, 30, 1, 0), law) < 5
    skewed = counts(60, 0, 0, 0)
    assert log_e_of_company(skewed, clean + skewed, law) > 20
    assert log_e_of_company(counts(30, 30, 0, 0), clean + counts(30, 30, 0, 0), law) < 0
    assert log_e_of_company(mixed, mixed, law) == 0.0


def test_several_cases_are_weighed_together():
    assert mixed_up([4.0, 3.0]) == ""
    assert mixed_up([4.0, 3.0, 3.0]).endswith(MIXED)
    assert mixed_up([]) == ""


def test_a_case_alone_is_never_called_mixed_up():
    sampler = LoadedSampler("mine", SAMPLERS["always-accept"], Facts(in_process=True))
    made = campaign_of(sampler, [article(2)], cap=2000)
    assert MIXED not in "; ".join(made.monitors[0].failures)
