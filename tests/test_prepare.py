"""What a case is compared with: nulls, lenses, tolerance, and what it cannot see."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from audit.errors import UsageError
from audit.exact.catalogue import RULES, headline, verifies
from audit.exact.tables import completed_table, step_table
from audit.harness.null import handed_over
from audit.judgement.bets import biased_faults, gate_faults
from audit.judgement.prepare import numerical_tolerance, set_up, trials_to_certify
from audit.selection import select_cases
from audit.settings import TIERS
from audit.statistics.certificate import looks
from tests.simulation import budget_for
from tests.worlds import article, identical, prefix_dependent


def setup_of(case, **changes):
    options = {"cap": 20_000, "fixed": False, "claims": ""} | changes
    return set_up(case, dtype=torch.float32, budget=budget_for(), seed=0, **options)


def test_the_judged_law_is_that_of_the_rounded_rows():
    setup = setup_of(article(1))
    p = np.array(handed_over(article(1), torch.float32).case.target[()].floats())
    assert setup.laws[0] == pytest.approx(np.outer(p, p).ravel(), rel=1e-14)


def test_fault_distances_are_the_exact_total_variations():
    # algorithms.md: the full-target fallback on this case has TV 3/50 over 2 tokens and 39/500
    # over 3; on G2, 79/1000 over 3 tokens.
    for case, expected in ((article(1), 0.06), (article(2), 0.078), (prefix_dependent(2), 0.079)):
        distance = setup_of(case).fault_distances["full-target-fallback"]
        assert distance == pytest.approx(expected, abs=1e-6)
    assert setup_of(identical()).fault_distances["full-target-fallback"] == 0


def test_every_biased_fault_of_the_drafts_is_compared_and_some_are_bet_on():
    for case in (article(1), *select_cases(["tree-basis", "tree-fixed"])):
        fitting = [entry for entry in RULES.values() if verifies(entry, case)]
        biased = {entry.id for entry in fitting if not entry.lossless}
        assert set(setup_of(case).fault_distances) == set(biased_faults(case)) == biased
        assert headline(case) in gate_faults(case)
        assert set(gate_faults(case)) == {entry.id for entry in fitting if entry.gate} <= biased
    assert "always-accept" in biased_faults(article(1))


def test_a_tree_case_is_compared_with_the_faults_of_trees():
    # algorithms.md, section 4: T05 has TV 119/1000 on TR1, T06 89/800.
    for name, expected in (("tree-basis", 119 / 1000), ("tree-basis-distinct", 89 / 800)):
        (case,) = select_cases([name])
        assert setup_of(case).headline_distance == pytest.approx(expected)


def test_a_tree_that_no_file_could_hold_is_refused():
    (case,) = select_cases(["tree-basis"])
    with pytest.raises(UsageError, match="has a draft tree of depth 1; it must be num_speculative"):
        setup_of(replace(case, num_speculative_tokens=2))


def test_a_threshold_is_that_of_the_case_and_not_of_rounded_rows():
    # p(2) = 3/10 is not above 3/10, its float32 is: table 3.1, A21, TV 3/20 over the first token.
    assert setup_of(article(1)).fault_distances["target-threshold"] == pytest.approx(0.15)


def test_a_claimed_threshold_is_that_of_the_case_too():
    setup = setup_of(article(1), claims="target-threshold")
    assert np.abs(setup.laws[0] - completed_table(article(1), "target-threshold")).max() < 1e-15


def test_a_claim_on_a_large_vocabulary_is_its_law_on_tokens_seen_through_bins():
    (case,) = select_cases(["zipf-1000"])
    setup = setup_of(case, claims="full-target-fallback")
    for view, law in zip(setup.views, setup.laws, strict=True):
        first = law.reshape(view.case.vocab_size, -1).sum(axis=1)
        accepted, recovered, _ = step_table(case, "full-target-fallback")
        wanted = np.bincount(view.labels, accepted + recovered)
        assert np.abs(first - wanted).max() < 1e-12
    with pytest.raises(UsageError, match="not known for a vocabulary as large as"):
        setup_of(case, claims="shared-coin")


def test_an_entry_at_another_constant_has_its_own_distance():
    # algorithms.md 1.3: at a lenience of 1/4 every token is accepted, TV 3/10 in one token.
    setup = setup_of(article(1))
    assert setup.distance("lenience") == setup.fault_distances["lenience"]
    assert setup.distance("lenience@1/4") == pytest.approx(setup.distance("always-accept"))


def test_a_large_case_compares_the_gates_faults_only():
    [case] = select_cases(["zipf-1000"])
    distances = setup_of(case).fault_distances
    assert {name for name, distance in distances.items() if distance} <= set(gate_faults(case))
    assert distances["full-target-fallback"] > 0.05


def test_a_cap_too_small_demotes_a_case():
    case = article(2)
    assert setup_of(case).certify == "full"
    assert setup_of(case, cap=200, fixed=True).certify == "bias-only"
    partition = next(
        setup
        for cap in range(1000, 20_000, 500)
        if (setup := setup_of(prefix_dependent(3), cap=cap, fixed=True)).certify != "bias-only"
    )
    assert partition.certify == "partition"
    assert [lens.name for lens in partition.lenses] == ["ratio", "rank", "hash"]
    for lens in partition.lenses:
        assert lens.probabilities.sum() == pytest.approx(1)


def test_tolerances_grow_with_the_dtype_and_the_excess_of_rounded_sums():
    float32, bfloat16 = (
        numerical_tolerance(handed_over(article(), dtype), dtype)
        for dtype in (torch.float32, torch.bfloat16)
    )
    assert 1e-6 <= float32 < 2e-6
    assert 1e-3 < bfloat16 < 1e-2
    assert setup_of(article(2)).tolerance == pytest.approx(3 * float32, rel=1e-6)


def test_trials_to_certify_is_a_look_at_which_a_right_sampler_is_expected_to_be_certified():
    needed = trials_to_certify(setup_of(article(2)), budget_for())
    assert needed in looks(10**9)
    assert 2000 < needed <= 20_000


@pytest.mark.parametrize("tier", ["ci", "audit", "deep"])
def test_full_cases_reach_epsilon_at_the_cap_of_every_tier_from_ci_on(tier):
    cases = select_cases(["small"])
    budget = budget_for(len(cases), epsilon=TIERS[tier].epsilon)
    for case in cases:
        setup = set_up(
            case,
            dtype=torch.float32,
            budget=budget,
            cap=TIERS[tier].cap,
            seed=0,
            fixed=False,
            claims="",
        )
        assert setup.certify == case.certify, case.id
        if case.certify == "full":
            assert trials_to_certify(setup, budget) <= TIERS[tier].cap


def test_a_claimed_law_that_is_undefined_on_a_case_is_refused():
    # After a rejected token the next target row may have no mass beyond the draft's.
    assert setup_of(article(1), claims="lenience").claims == "lenience"
    with pytest.raises(UsageError, match="undefined with probability"):
        setup_of(next(iter(select_cases(["block-basis"]))), claims="target-row-late")
