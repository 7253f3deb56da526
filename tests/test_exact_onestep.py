"""The one-step check at every vocabulary size, and what `draftproof exact` prints."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from exact_instances import CHAINS, g2, i1, row, seed

from audit.case import Case, Rows
from audit.errors import UsageError
from audit.exact import tables
from audit.exact.catalogue import RULES
from audit.exact.engine import completed_law
from audit.exact.onestep import is_causal, is_lossless_on, one_step, one_step_law
from audit.exact.summary import exact_summary
from audit.row import Row

CAUSAL = [rule_id for rule_id in RULES if is_causal(rule_id)]
PRESERVING = {"ratio", "point-mass", "sampler-match", "bonus-missing", "bonus-one-row-early"}
PRESERVING |= {"never-accept-full-target"}
# The large rows below have no zeros, and no token as probable as 3/10.
UNSEEN = {"proposed-ids-only", "target-threshold", "target-only-threshold-single"}


def zipf(vocab_size: int, seed: int) -> Row:
    """Returns a Zipf-like row with seeded integer weights of up to 30 bits."""
    rng = np.random.default_rng(seed)
    noise = rng.integers(2**9, 2**11, size=vocab_size)
    return Row.normalised((2**20 * noise // np.arange(1, vocab_size + 1) + 1).tolist())


def large(vocab_size: int, gamma: int = 2) -> Case:
    rows = (Rows({(): zipf(vocab_size, seed)}) for seed in (1, 2))
    return Case("large", "", vocab_size, gamma, *rows, certify="partition", large=True)


@pytest.mark.parametrize("rule_id", CAUSAL)
def test_one_step_is_the_law_of_the_first_token(rule_id: str) -> None:
    for case in (seed(1), g2(1), i1()):
        law = completed_law(case, rule_id).first_token()
        step = one_step_law(rule_id, case.target[()], case.draft[()])
        assert list(step) == [law[(token,)] for token in range(3)]


# Table 3.1, F01.
def test_the_articles_fault() -> None:
    assert one_step_law("full-target-fallback", row("1/5 1/2 3/10"), row("1/2 3/10 1/5")) == row(
        "13/50 9/20 29/100"
    )


@pytest.mark.parametrize("rule_id", sorted(set(RULES) - set(CAUSAL)))
def test_other_rules_have_no_one_step_law(rule_id: str) -> None:
    with pytest.raises(UsageError, match=f'rule "{rule_id}" has no one-step law'):
        one_step_law(rule_id, row("1/2 1/2"), row("1/2 1/2"))


@pytest.mark.parametrize("rule_id", CAUSAL)
def test_a_large_vocabulary_is_decided(rule_id: str) -> None:
    assert is_lossless_on(large(8191), rule_id) == (rule_id in PRESERVING | UNSEEN)


def test_the_full_vocabulary_is_decided() -> None:
    case = large(128256)
    assert is_lossless_on(case, "ratio")
    assert not is_lossless_on(case, "full-target-fallback")
    assert not is_lossless_on(case, "target-without-rejected")


# A single unit of the last place, 1 in about 2^50, is bias.
def test_no_difference_is_too_small() -> None:
    p = zipf(32000, 1)
    moved = p.numerators.copy()
    moved[0], moved[-1] = moved[0] + 1, moved[-1] - 1
    nearly = Row(moved, p.denominator)
    assert one_step("always-accept", p, p).emits(p)
    assert not one_step("always-accept", p, nearly).emits(p)
    assert one_step("always-accept", p, nearly).total_variation(p) == Fraction(1, p.denominator)


# Where every token is divided by another number, fixed-point numbers bound the law.
def test_laws_without_a_common_denominator_are_bounded() -> None:
    p, q = zipf(8191, 1), zipf(8191, 2)
    step = one_step("target-without-rejected", p, q)
    assert 0 < step.slack < Fraction(1, 2**240)
    assert step.total_variation(p) > step.slack
    missing = step.denominator - int((step.kept + step.recovered).sum())
    assert 0 <= Fraction(missing, step.denominator) <= step.slack
    with pytest.raises(UsageError, match="common denominator of more than"):
        one_step_law("target-without-rejected", p, q)


def test_a_fixed_point_law_is_close_to_the_exact_one(monkeypatch: pytest.MonkeyPatch) -> None:
    p, q = zipf(50, 1), zipf(50, 2)
    exact = one_step("swapped-ratio", p, q)
    monkeypatch.setattr("audit.exact.onestep._longest_denominator", lambda size: 8)
    rounded = one_step("swapped-ratio", p, q)
    assert exact.slack == 0 < rounded.slack
    assert abs(exact.total_variation(p) - rounded.total_variation(p)) <= rounded.slack
    assert abs(exact.acceptance - rounded.acceptance) <= rounded.slack


def test_a_prefix_dependent_bonus_row_is_checked() -> None:
    assert not is_lossless_on(g2(2), "bonus-one-row-early")
    assert is_lossless_on(seed(2), "bonus-one-row-early")


@pytest.mark.parametrize("rule_id", CAUSAL)
def test_step_tables_are_the_exact_masses(rule_id: str) -> None:
    kept, recovered, bonus = tables.step_table(seed(2), rule_id)
    law = completed_law(seed(2), rule_id).first_token()
    np.testing.assert_allclose(kept + recovered, [float(law[(x,)]) for x in range(3)], rtol=1e-15)
    expected = {"bonus-from-draft": [0.5, 0.3, 0.2], "bonus-missing": [0, 0, 0]}
    cold, squared = [0, 1, 0], [4 / 38, 25 / 38, 9 / 38]
    expected |= {"greedy": cold, "temperature-ignored": cold, "typical-acceptance-argmax": cold}
    expected |= {"target-temperature-wrong": squared, "bonus-temperature-wrong": squared}
    assert bonus.tolist() == expected.get(rule_id, [0.2, 0.5, 0.3])


@pytest.mark.parametrize("rule_id", CAUSAL)
def test_bins_hold_the_blocks_of_their_tokens(rule_id: str) -> None:
    case, labels = seed(2), np.array([1, 0, 1])
    law = tables.completed_table(case, rule_id).reshape(3, 3, 3)
    merged = np.zeros((2, 2, 2))
    np.add.at(merged, np.ix_(labels, labels, labels), law)
    found = tables.binned_table(case, rule_id, labels)
    np.testing.assert_allclose(found, merged.ravel(), atol=1e-15)


def test_bins_are_no_tokens_to_a_rule() -> None:
    # p = .2 .5 .3, q = .5 .3 .2 with tokens 0 and 1 as one: .7 and .8 hide that they differ
    case = seed(1)
    binned = tables.binned_table(case, "full-target-fallback", np.array([0, 0, 1]))
    rows = (Rows({(): Row.of(map(Fraction, row))}) for row in (("7/10", "3/10"), ("8/10", "2/10")))
    merged = Case("merged", "", 2, 1, *rows)
    assert abs(binned - tables.completed_table(merged, "full-target-fallback")).sum() > 0.01


def test_step_tables_need_one_row_for_all_prefixes() -> None:
    with pytest.raises(UsageError, match="rows that depend on the prefix"):
        tables.step_table(g2(2), "ratio")


# The article: kept (1/5, 3/10, 1/5), residual (0, 2/3, 1/3), output (13/50, 9/20, 29/100).
def test_summary_of_the_articles_fault() -> None:
    summary = exact_summary(seed(1), "full-target-fallback")
    assert summary.rows is not None
    assert summary.rows.kept == (Fraction(1, 5), Fraction(3, 10), Fraction(1, 5))
    assert summary.rows.residual == row("0 2/3 1/3")
    assert summary.rows.recovered == tuple(row("1/5 1/2 3/10"))
    assert summary.rows.emitted == tuple(row("13/50 9/20 29/100"))
    assert summary.biased
    assert summary.first_token_tv == summary.total_variation == Fraction(3, 50)
    assert summary.acceptance == summary.best_acceptance == Fraction(7, 10)
    assert summary.number_accepted == (Fraction(3, 10), Fraction(7, 10))
    assert summary.expected_tokens == Fraction(17, 10)
    assert summary.undefined == summary.slack == 0


@pytest.mark.parametrize("rule_id", CHAINS)
def test_every_rule_has_a_summary(rule_id: str) -> None:
    summary = exact_summary(g2(2), rule_id)
    assert summary.biased == (summary.total_variation != 0) == (not is_lossless_on(g2(2), rule_id))
    assert sum(summary.number_accepted) == 1


# The closed forms for rows that do not depend on the prefix, against enumeration.
@pytest.mark.parametrize("rule_id", CAUSAL)
def test_summaries_by_one_step_agree_with_enumeration(
    rule_id: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    enumerated = exact_summary(seed(3), rule_id)
    monkeypatch.setattr("audit.exact.summary.CELL_LIMIT", 1)
    stepwise = exact_summary(seed(3), rule_id)
    assert stepwise.rows is stepwise.total_variation is None
    for name in ("biased", "first_token_tv", "acceptance", "number_accepted", "expected_tokens"):
        assert getattr(stepwise, name) == getattr(enumerated, name)


def test_summary_of_a_large_vocabulary_lists_no_rows() -> None:
    summary = exact_summary(large(32000), "ratio")
    assert not summary.biased
    assert summary.rows is None
    assert summary.acceptance == summary.best_acceptance
    with pytest.raises(UsageError, match="exact cells"):
        exact_summary(large(32000), "block")
