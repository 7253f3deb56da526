"""Every rule and fault in torch against its exact law, and what they promise beside it.

Each law check rejects a true law with probability below 5e-10 (exact binomial tails, Bonferroni
over the outcomes), and there are fewer than 2000 of them: 1e-6 for the file.
"""

from __future__ import annotations

import pytest
import torch
from exact_instances import CHAINS, blk, case, context_free, g2, i1, i2, seed
from steps import batch_along, follows, outcomes, step_batch

from audit.case import Case
from audit.counts import Outcome
from audit.exact.catalogue import RULES as CATALOGUE
from audit.exact.engine import block_law
from audit.samplers.chain import draw, toss
from audit.samplers.faults import FAULTS
from audit.samplers.faults.drafting import COINS, on_own_draft
from audit.samplers.interface import StepBatch
from audit.samplers.rules import RULES, SAMPLERS

FALSE_ALARM = 5e-10
TRIALS = 12_000
IDS = sorted(CHAINS)
# How the samplers draft that draft for themselves.
OWN_DRAFT = {
    rule: SAMPLERS[rule].keywords["drafting"]
    for rule in IDS
    if getattr(SAMPLERS[rule], "func", None) is on_own_draft
}


def generator(number: int) -> torch.Generator:
    return torch.Generator().manual_seed(number)


def law(case: Case, rule: str) -> dict[Outcome, float]:
    """Returns the exact law of the emitted blocks, as floats."""
    return {outcome: float(p) for outcome, p in block_law(case, rule).items()}


def fits(case: Case, tokens: torch.Tensor, rule: str) -> bool:
    """Returns whether the emitted blocks are consistent with the exact law of `rule`."""
    return follows(outcomes(tokens), law(case, rule), FALSE_ALARM)


def emitted(case: Case, rule: str, dtype: torch.dtype = torch.float64) -> torch.Tensor:
    batch = step_batch(case, TRIALS, generator(1), dtype)
    if rule in OWN_DRAFT:
        batch = along_own_draft(case, batch, rule)
    return SAMPLERS[rule](batch, generator(2))


def along_own_draft(case: Case, batch: StepBatch, rule: str) -> StepBatch:
    """Returns the batch whose rows lie along what the sampler will draft with generator(2).

    A drafted token depends on the rows after the tokens before it, so that each pass settles one
    more position.
    """
    gamma = batch.draft_token_ids.shape[1]
    for _ in range(gamma):
        coins = toss(batch, (COINS + 1) * gamma + 1, generator(2))[:, : COINS * gamma]
        own, _ = OWN_DRAFT[rule](batch, coins)
        batch = batch_along(case, own.clamp(min=0), batch.draft_probs.dtype)
    return batch


BASIS = (i1(), i2(), seed(2))
BASIS_LAWS = {rule: [law(instance, rule) for instance in BASIS] for rule in IDS}
ONE_LAW = [{"point-mass", "sampler-match"}, {"greedy", "temperature-ignored"}]


def test_the_ids_are_those_of_the_exact_catalogue():
    assert set(SAMPLERS) == set(CATALOGUE)
    assert not set(RULES) & set(FAULTS)


@pytest.mark.parametrize("rule", IDS)
@pytest.mark.parametrize("instance", [g2(2), i1(), blk()], ids=["g2", "i1", "blk"])
def test_a_rule_follows_its_exact_law(rule, instance):
    assert fits(instance, emitted(instance, rule), rule)


@pytest.mark.parametrize("rule", IDS)
def test_float32_tensors_change_nothing_that_can_be_seen(rule):
    assert fits(i2(), emitted(i2(), rule, torch.float32), rule)


# algorithms.md section 5: every pair of chain laws is at least 9/160 apart on I1 or I2; block
# verification and its product left unclamped are 3/50 apart on SEED.
@pytest.mark.parametrize("rule", IDS)
def test_the_check_tells_every_pair_of_laws_apart(rule):
    seen = [outcomes(emitted(instance, rule)) for instance in BASIS]
    passed = {
        other
        for other, laws in BASIS_LAWS.items()
        if all(follows(*pair, FALSE_ALARM) for pair in zip(seen, laws, strict=True))
    }
    assert passed == next((alike for alike in ONE_LAW if rule in alike), {rule})


def test_full_target_fallback_gives_the_law_of_the_article():
    # The article's numbers: target (.2, .5, .3), the fault's first token (.26, .45, .29).
    first = emitted(seed(1), "full-target-fallback")[:, 0].bincount() / TRIALS
    assert torch.allclose(first, torch.tensor([0.26, 0.45, 0.29]), atol=0.03)  # 6.6 sigma


EMPTY = {
    "target-row-late",
    "proposed-ids-only",
    "redrawn-until-accepted",
    "correction-missing",
    "block-residual-of-longer-prefix",
}


@pytest.mark.parametrize("rule", IDS)
def test_an_undefined_draw_gives_an_empty_row(rule):
    # p = 1_0, q = 1_1, and after the rejected 1 the target is 1_1: no residual one row late.
    one_hot = case(1, {(): "1 0 0", (1,): "0 1 0"}, {(): "0 1 0"}, "repeat")
    empty = (emitted(one_hot, rule)[:, 0] < 0).double().mean()
    assert empty == float(block_law(one_hot, rule).undefined)
    assert empty == (rule in EMPTY)


@pytest.mark.parametrize("rule", IDS)
@pytest.mark.parametrize(
    "rows",
    [("1/5 1/2 3/10", "1/5 1/2 3/10"), ("0 1/3 2/3", "1 0 0"), ("0 1 0", "1/2 3/10 1/5")],
    ids=["identical", "disjoint", "one-hot-target"],
)
def test_degenerate_rows_keep_to_the_law(rule, rows):
    instance = context_free(2, *rows)
    counted = outcomes(emitted(instance, rule))
    exact = law(instance, rule)
    assert set(counted) <= set(exact)  # no impossible outcome, whatever its number
    assert follows(counted, exact, FALSE_ALARM)


@pytest.mark.parametrize("rule", IDS)
def test_results_do_not_depend_on_how_rows_are_cut_into_calls(rule):
    batch = step_batch(g2(3), 60, generator(1))
    whole, parts = generator(5), generator(5)
    cuts = [slice(0, 1), slice(1, 8), slice(8, 60)]
    pieces = [SAMPLERS[rule](rows_of(batch, cut), parts) for cut in cuts]
    assert torch.equal(SAMPLERS[rule](batch, whole), torch.cat(pieces))


def rows_of(batch: StepBatch, rows: slice) -> StepBatch:
    return StepBatch(*(tensor[rows] for tensor in batch[:4]))


def ragged(batch: StepBatch, width: int) -> StepBatch:
    """Returns the batch with `width` draft positions, those added filled as the contract says."""
    more = width - batch.draft_token_ids.shape[1]
    pad = torch.nn.functional.pad
    return StepBatch(
        pad(batch.draft_token_ids, (0, more), value=-1),
        pad(batch.draft_probs, (0, 0, 0, more)),
        pad(batch.target_probs, (0, 0, 0, more)),
        batch.num_draft_tokens,
    )


@pytest.mark.parametrize("rule", IDS)
def test_rows_of_unequal_length_follow_the_law_of_their_own_length(rule):
    longer = seed(2) if rule in OWN_DRAFT else i1()  # rows along the handed draft, or free of it
    long, short = (
        step_batch(case, TRIALS, generator(i)) for i, case in enumerate((longer, seed(1)))
    )
    pairs = zip(ragged(long, 3)[:4], ragged(short, 3)[:4], strict=True)
    mixed = StepBatch(*(torch.stack(pair, 1).flatten(0, 1) for pair in pairs))
    tokens = SAMPLERS[rule](mixed, generator(3))
    assert fits(longer, tokens[::2], rule)
    assert fits(seed(1), tokens[1::2], rule)


@pytest.mark.parametrize("rule", IDS)
def test_a_row_without_drafts_emits_one_target_token(rule):
    batch = ragged(step_batch(seed(1), 9, generator(1)), 2)
    batch = batch._replace(num_draft_tokens=torch.zeros(9, dtype=torch.int64))
    tokens = SAMPLERS[rule](batch._replace(draft_token_ids=torch.full((9, 2), -1)), generator(2))
    assert ((tokens >= 0).sum(1) == 1).all()


@pytest.mark.parametrize("rule", IDS)
def test_views_are_as_good_as_tensors(rule):
    batch = step_batch(seed(2), 50, generator(1))
    views = batch._replace(
        draft_probs=batch.draft_probs[:1, :1].expand(50, 2, 3),
        target_probs=batch.target_probs[:1, :1].expand(50, 3, 3),
    )
    a, b = (SAMPLERS[rule](given, generator(4)) for given in (batch, views))
    assert torch.equal(a, b)


def test_draw_reaches_both_ends_and_skips_zero_weights():
    largest = 1 - 2.0**-53
    weights = torch.tensor([[0.0, 0.1, 0.2, 0.0], [0.0, 3.0, 1e-9, 0.0], [0.0] * 4]).double()
    for coin, expected in ((0.0, [1, 1, -1]), (largest, [2, 2, -1])):
        assert draw(weights, torch.full((3,), coin, dtype=torch.float64)).tolist() == expected


def test_draw_never_takes_a_zero_weight_in_a_large_vocabulary():
    weights = torch.rand(1, 50_000, generator=generator(1), dtype=torch.float64)
    weights[:, ::3] = 0
    coins = torch.rand(200, generator=generator(2), dtype=torch.float64)
    assert (weights[0, draw(weights.expand(200, -1), coins)] > 0).all()


def test_greedy_takes_the_lowest_of_equal_tokens():
    tied = context_free(1, "1/10 9/20 9/20", "0 1/2 1/2")
    assert set(emitted(tied, "greedy")[:, 0].tolist()) == {1}
