"""What a PASS excludes: as the certificate of each case measures it, over all cases together."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from audit.case import Case
from audit.judgement.coverage import certified_distances, not_excluded, visibility
from audit.judgement.prepare import CaseSetup, set_up
from audit.selection import select_cases
from tests.simulation import budget_for, campaign_of
from tests.worlds import article, identical, one_hot_target

HEADLINE = "full-target-fallback"


def setup_of(case: Case, *, cap: int = 20_000, claims: str = "") -> CaseSetup:
    return set_up(
        case, dtype=torch.float32, budget=budget_for(), cap=cap, seed=0, fixed=False, claims=claims
    )


def shipped(case_id: str) -> CaseSetup:
    (case,) = select_cases([case_id])
    return setup_of(case, cap=2_000_000)


def partial(setup: CaseSetup) -> bool:
    return setup.certify == "partition"


def test_a_fault_is_excluded_if_any_case_sees_it() -> None:
    blind, seeing = setup_of(identical()), setup_of(article(2))
    assert HEADLINE in not_excluded([blind], 0.02)
    assert HEADLINE in not_excluded([setup_of(one_hot_target())], 0.02)
    assert HEADLINE not in not_excluded([blind, seeing], 0.02)
    # algorithms.md, 3.1: its TV over three tokens is 39/500 = .078.
    assert HEADLINE not in not_excluded([seeing], 0.0779)
    assert HEADLINE in not_excluded([seeing], 0.0781)


def test_a_large_case_excludes_only_what_it_was_compared_with() -> None:
    # The large case is compared with the faults that an audit bets on, and with no others.
    large, small = shipped("zipf-1000"), setup_of(identical())
    unseen = "coin-reused-in-fallback"
    assert unseen not in certified_distances(large)
    assert unseen in not_excluded([large, small], 0.02)
    assert HEADLINE not in not_excluded([large, small], 0.02)


def test_chains_exclude_no_fault_of_trees() -> None:
    tree = shipped("tree-two-levels")
    blind = set(not_excluded([tree], 0.02))
    assert blind
    assert blind <= set(not_excluded([tree, setup_of(article(2))], 0.02))


def test_bins_show_at_most_what_whole_blocks_show() -> None:
    (case,) = select_cases(["peaked-32"])
    setup = next(s for cap in range(4_000, 20_000, 500) if partial(s := setup_of(case, cap=cap)))
    seen = certified_distances(setup)
    whole = setup.fault_distances
    assert all(seen[fault] <= whole[fault] + 1e-9 for fault in seen)
    assert min(seen[fault] - whole[fault] for fault in seen) < -0.05  # some are hidden by bins
    assert seen[HEADLINE] > 0.9 * whole[HEADLINE]  # the ratio bins keep what depends on q / p


def test_against_a_declared_law_the_target_itself_is_far_away() -> None:
    setup = setup_of(article(2), claims="lenience")
    seen = certified_distances(setup)
    assert seen["lenience"] == pytest.approx(0, abs=1e-6)
    assert seen[HEADLINE] > 0.1
    assert np.isfinite(list(seen.values())).all()


def test_the_record_holds_what_no_passed_case_excludes() -> None:
    from audit.concluding import audit_of

    audit = audit_of(campaign_of("reference", [identical(), article(2)]))
    assert audit.not_excluded is not None
    assert HEADLINE not in audit.not_excluded
    found = {case.id: case.evidence for case in audit.cases}
    assert HEADLINE in found["identical"].blind
    assert HEADLINE not in found["article"].blind
    failed = audit_of(campaign_of("fault:full-target-fallback", [article(2)]))
    assert failed.not_excluded is None


def test_the_matrix_holds_every_compared_fault_case_by_case() -> None:
    rows = visibility([setup_of(identical()), setup_of(article(2))])
    # algorithms.md, 3.1: 39/500 over three tokens; with equal rows nothing is ever rejected.
    assert rows[HEADLINE] == (0.0, pytest.approx(0.078, abs=1e-6))
    assert all(len(row) == 2 for row in rows.values())
