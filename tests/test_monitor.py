"""One case, followed: right samplers are certified, wrong ones fail, dependent ones are named.

At alpha = 1e-6 a right sampler is accused here at most once in a million runs of this file's
size; the faults and the dependent samplers are the controls that must not pass.
"""

import pytest
import torch

from audit.samplers.interface import Facts, LoadedSampler
from audit.samplers.rules import SAMPLERS
from audit.verdict import Outcome
from tests.simulation import budget_for, campaign_of
from tests.worlds import article, identical, one_hot_target, prefix_dependent


def judged(sampler, case, **options):
    made = campaign_of(sampler, [case], **options)
    (monitor,) = made.monitors
    return monitor, monitor.verdict()


@pytest.mark.parametrize("rule", ["ratio", "sampler-match", "point-mass", "block"])
def test_lossless_rules_are_certified(rule):
    monitor, verdict = judged(f"rule:{rule}", prefix_dependent(2), declares=[rule])
    assert verdict.outcome is Outcome.PASS
    assert monitor.certified <= 0.05
    assert monitor.trials < 20_000  # sequential: it stops at the look that certifies


@pytest.mark.parametrize("case", [identical(), one_hot_target()])
def test_degenerate_laws_pass_without_a_nan(case):
    monitor, verdict = judged("reference", case, declares=["ratio"])
    assert verdict.outcome is Outcome.PASS
    assert monitor.preservation.log_e < 20


@pytest.mark.parametrize(
    "fault", ["full-target-fallback", "absolute-residual", "shared-coin", "bonus-from-draft"]
)
def test_faults_fail(fault):
    monitor, verdict = judged(f"fault:{fault}", prefix_dependent(2))
    assert verdict.outcome is Outcome.FAIL
    assert "target's law" in verdict.sentence
    assert monitor.done()


def test_another_lossless_rule_than_the_declared_one_fails_conformity_only():
    monitor, verdict = judged("rule:point-mass", article(2), declares=["ratio"])
    assert verdict.outcome is Outcome.FAIL
    assert "does not follow the declared rule ratio" in verdict.sentence
    assert "preservation: undecided" in verdict.sentence
    assert not monitor.preservation.deviates()


def test_any_of_several_declared_rules_may_be_followed():
    _, verdict = judged("rule:point-mass", article(2), declares=["ratio", "point-mass"])
    assert verdict.outcome is Outcome.PASS


def test_a_lossy_sampler_is_judged_by_the_law_that_it_declares():
    _, verdict = judged("fault:lenience", article(2), claims="lenience")
    assert verdict.outcome is Outcome.PASS
    assert "declared law of lenience" in verdict.sentence
    _, control = judged("reference", article(2), claims="lenience")
    assert control.outcome is Outcome.FAIL


def _sampler(call, name):
    return LoadedSampler(name, call, Facts(in_process=True))


def shared_coins(batch, generator):
    """The ratio rule with one set of coins for all rows of a call: each row's law is right."""
    state = generator.get_state()
    rows = []
    for i in range(len(batch.draft_token_ids)):
        generator.set_state(state)
        one = type(batch)(*(field[i : i + 1] for field in batch[:4]))
        rows.append(SAMPLERS["ratio"](one, generator))
    return torch.cat(rows)


def copying(batch, generator):
    """The ratio rule, but a row in ten repeats the first row of its call."""
    tokens = SAMPLERS["ratio"](batch, generator)
    copied = torch.rand(len(tokens), generator=generator) < 0.1
    return torch.where(copied[:, None], tokens[:1], tokens)


def test_rows_that_share_coins_are_dependent_not_biased():
    _, verdict = judged(_sampler(shared_coins, "shared"), article(2), cap=2000)
    assert verdict.outcome is Outcome.DEPENDENT
    assert "not independent" in verdict.sentence


@pytest.mark.parametrize("gamma", [1, 2, 3])
def test_rows_that_share_the_bonus_token_alone_are_dependent_not_biased(gamma):
    # Draft and target agree, so that only the bonus token, behind all drafts, is drawn.
    agreeing = identical(gamma)
    _, verdict = judged(_sampler(shared_coins, "shared"), agreeing, cap=20_000)
    assert verdict.outcome is Outcome.DEPENDENT
    _, right = judged("reference", agreeing, cap=20_000)
    assert right.outcome is Outcome.PASS


def frozen(batch, generator):
    """Restarts its own random numbers at every call."""
    return SAMPLERS["ratio"](batch, torch.Generator().manual_seed(0))


def test_a_frozen_generator_is_dependent():
    _, verdict = judged(_sampler(frozen, "frozen"), article(2), cap=2000)
    assert verdict.outcome is Outcome.DEPENDENT
    assert "repeats itself" in verdict.sentence


def test_a_small_bias_is_within_when_it_is_accepted_beforehand():
    def mixed(batch, generator):
        """One round in eight falls back to the full target."""
        right = SAMPLERS["ratio"](batch, generator)
        wrong = SAMPLERS["full-target-fallback"](batch, generator)
        faulty = torch.rand(len(right), generator=generator) < 1 / 8
        return torch.where(faulty[:, None], wrong, right)

    options = {"cap": 200_000, "fixed": True}
    budget = budget_for(epsilon=0.005, accept_within=0.05)
    _, verdict = judged(_sampler(mixed, "mixed"), article(2), budget=budget, **options)
    assert verdict.outcome is Outcome.WITHIN
    _, strict = judged(
        _sampler(mixed, "mixed"), article(2), budget=budget_for(epsilon=0.005), **options
    )
    assert strict.outcome is Outcome.FAIL


def test_too_few_trials_are_inconclusive_and_say_how_many_are_missing():
    _, verdict = judged("reference", article(2), cap=500)
    assert verdict.outcome is Outcome.INCONCLUSIVE
    assert "trials" in verdict.sentence


def test_fixed_n_looks_once():
    monitor, verdict = judged("reference", article(2), cap=12_345, fixed=True)
    assert monitor.trials == 12_345
    assert monitor.looks == len([200, 500, 1000, 2000, 5000, 10_000, 12_345])
    assert verdict.outcome is Outcome.PASS
    _, control = judged("fault:full-target-fallback", article(2), cap=12_345, fixed=True)
    assert control.outcome is Outcome.FAIL


@pytest.mark.parametrize("period", [2, 3])
def test_a_generator_restarted_at_every_second_or_third_call_is_dependent(period):
    own, calls = torch.Generator(), 0

    def restarting(batch, generator):
        nonlocal calls
        if calls % period == 0:
            own.manual_seed(0)
        calls += 1
        return SAMPLERS["ratio"](batch, own)

    _, verdict = judged(_sampler(restarting, "restarting"), article(2), cap=2000)
    assert verdict.outcome is Outcome.DEPENDENT


def sharing(pairs):
    """The ratio rule in which row b uses the coins of row a for every pair (a, b)."""

    def call(batch, generator):
        coins = torch.rand(len(batch.draft_token_ids), 8, dtype=torch.float64, generator=generator)
        a, b = pairs(len(coins))
        coins[b] = coins[a]
        rows = []
        for i, row in enumerate(coins):
            rows.append(_with_coins(type(batch)(*(f[i : i + 1] for f in batch[:4])), row))
        return torch.cat(rows)

    return call


def _with_coins(batch, coins):
    """One row of the ratio rule from given coins, written out."""
    p, q, drafted = batch.target_probs[0].double(), batch.draft_probs[0].double(), []
    for n, token in enumerate(batch.draft_token_ids[0].tolist()):
        if coins[n] >= p[n, token] / q[n, token]:
            break
        drafted.append(token)
    n = len(drafted)
    weights = p[n] if n == len(q) else (p[n] - q[n]).clamp(min=0)
    last = int((weights.cumsum(0) <= coins[-1] * weights.sum()).sum())
    row = [*drafted, last] + [-1] * (len(q) - n)
    return torch.tensor([row])


@pytest.mark.parametrize(
    "pairs",
    [
        lambda n: (torch.arange(n)[1:-1:2], torch.arange(n)[2::2][: len(range(n)[1:-1:2])]),
        lambda n: (torch.arange(n // 2), torch.arange(n // 2, n // 2 * 2)),
    ],
    ids=["odd neighbours", "the other half"],
)
def test_rows_that_share_coins_in_pairs_are_dependent(pairs):
    made = campaign_of(_sampler(sharing(pairs), "sharing"), [article(2)], cap=5000)
    assert not made.errors
    assert made.monitors[0].verdict().outcome is Outcome.DEPENDENT
    _, right = judged(
        _sampler(sharing(lambda n: (torch.arange(0), torch.arange(0))), "own"), article(2), cap=5000
    )
    assert right.outcome in (Outcome.PASS, Outcome.INCONCLUSIVE)


def test_a_sampler_that_switches_between_lossless_rules_is_independent():
    names, calls = ["ratio", "sampler-match", "block"], 0

    def switching(batch, generator):
        nonlocal calls
        calls += 1
        return SAMPLERS[names[calls % 3]](batch, generator)

    _, verdict = judged(_sampler(switching, "switching"), article(2))
    assert verdict.outcome is Outcome.PASS
