"""Naming: faults get their names, strengths and constants; correct and unlisted rules get none.

Counts are those that a law lets expect, so that nothing here is drawn.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from audit.case import Rows
from audit.diagnosis.diagnose import diagnose
from audit.diagnosis.field import Field, is_correct
from audit.diagnosis.goodness import FIT_LEVEL, goodness_of_fit
from audit.diagnosis.hypotheses import first_grid
from audit.diagnosis.likelihood import Likelihood, free_evidence
from audit.diagnosis.observed import Pairs, Seen, have_one_law
from audit.diagnosis.results import Diagnosis
from audit.exact.catalogue import RULES, rule
from audit.exact.chain import Chain
from audit.exact.faults import block_laws
from audit.exact.rule import Parameter, Rule
from audit.exact.rules import target
from audit.selection import select_cases
from tests.diagnosed import expected_counts, pairs_of, seen_of
from tests.worlds import case_of, row

BASIS = pairs_of("basis-1", "basis-2")
BLOCK = pairs_of("block-basis")
TREE = pairs_of("tree-basis")


def diagnosed(name: str | Rule, pairs: list[Pairs] = BASIS, **more: object) -> Diagnosis:
    """Returns the diagnosis of the counts that a rule lets expect."""
    return diagnose([seen_of(one, name, **more) for one in pairs])


@pytest.mark.parametrize(
    "fault",
    [
        "full-target-fallback",
        "swapped-ratio",
        "always-accept",
        "bonus-from-draft",
        "rejected-token-kept",
        "second-try",
        "cumulative-ratio",
        "coarse-coin",
    ],
)
def test_a_fault_is_named_after_500_rounds(fault: str) -> None:
    (first, *_) = diagnosed(fault).suspects
    assert first.ids[0] == fault
    assert first.strength is None


def test_a_block_fault_and_a_tree_fault_are_named() -> None:
    assert diagnosed("block-first-failure-ends", BLOCK).ids == ("block-first-failure-ends",)
    assert diagnosed("siblings-sorted-by-draft", TREE).ids[0] == "siblings-sorted-by-draft"


@pytest.mark.parametrize("correct", ["ratio", "sampler-match", "block", "gumbel-coupled"])
def test_a_correct_rule_is_never_given_a_name(correct: str) -> None:
    found = diagnosed(correct, rounds=2000)
    assert found.suspects == ()
    assert correct in found.fits


def test_a_correct_rule_is_told_from_its_own_weak_fault() -> None:
    """The negative control: at a strength of a tenth the fault is named."""
    found = diagnosed("always-accept", rounds=2000, share=0.1)
    assert found.suspects[0].ids[0] == "always-accept"


def padded(name: str, pairs: Pairs, filler: int) -> Seen:
    """Returns what a rule shows where its rows are padded with a token."""
    seen = seen_of(pairs, name)
    *_, full = padding = pairs.by_length(seen.counts * 0)
    for length, table in enumerate(pairs.by_length(seen.counts), start=1):
        for draft, code in zip(*np.nonzero(table), strict=True):
            whole = int(code)
            for _ in range(len(padding) - length):
                whole = whole * pairs.case.vocab_size + filler
            full[draft, whole] += table[draft, code]
    counts = np.concatenate([table.ravel() for table in padding])
    return Seen(pairs, counts, counts * 0)


@pytest.mark.parametrize("filler", [0, 2])
def test_rows_padded_with_a_token_are_told(filler: int) -> None:
    assert diagnose([padded("ratio", one, filler) for one in BASIS]).padded_with == filler


@pytest.mark.parametrize("name", ["ratio", "always-accept", "continues-after-rejection"])
def test_rows_that_end_or_hold_drafts_alone_are_not_said_to_be_padded(name: str) -> None:
    assert diagnosed(name).padded_with is None


def test_trees_are_not_asked_for_padding() -> None:
    assert diagnosed("siblings-sorted-by-draft", TREE).padded_with is None


def test_where_a_bias_was_shown_a_correct_rule_must_lead_by_more() -> None:
    """`block-one-coin` is 4.4 natural logarithms from `block` after 500 rounds: too few by
    themselves, and enough where an audit has excluded what is correct."""
    seen = [seen_of(one, "block-one-coin") for one in BLOCK]
    alone = diagnose(seen)
    assert alone.suspects == ()
    assert "block" in alone.fits
    assert diagnose(seen, biased=True).ids[0] == "block-one-coin"


@pytest.mark.parametrize("correct", ["ratio", "block"])
def test_a_fault_that_acts_in_no_round_explains_nothing(correct: str) -> None:
    """Where the counts are those of a correct rule after all, no share of a fault is its name."""
    found = diagnosed(correct, rounds=20_000)
    again = diagnose([seen_of(one, correct, rounds=20_000) for one in BASIS], biased=True)
    assert again.suspects == ()
    assert again.fits == found.fits


def test_two_faults_of_which_one_is_seen_in_rare_pairs_are_unlisted() -> None:
    """Rare pairs are pooled, which hides from G what the accept tests and recovered tokens show."""
    seen = []
    for pairs in BASIS:
        laws = [pairs.law(RULES[name]) for name in ("full-target-fallback", "always-accept")]
        counts = expected_counts(sum(laws) / 2, 500)
        seen.append(Seen(pairs, counts, counts * 0))
    assert diagnose(seen, biased=True).suspects == ()


def test_the_strength_of_a_fault_is_estimated() -> None:
    (first, *_) = diagnosed("full-target-fallback", rounds=2000, share=0.25).suspects
    assert first.ids[0] == "full-target-fallback"
    assert first.strength is not None
    assert first.strength.low < 0.25 < first.strength.high
    assert first.strength.value == pytest.approx(0.25, abs=0.02)


def test_the_constant_of_a_fault_is_estimated() -> None:
    (first, *_) = diagnosed("lenience@3/10", rounds=2000).suspects
    assert first.ids[0] == "lenience"
    assert first.rule == "lenience@3/10"
    assert first.constant is not None
    assert first.constant.low < 0.3 < first.constant.high
    assert first.constant_name == RULES["lenience"].parameter.name


def test_entries_of_one_law_are_one_suspect() -> None:
    (first,) = diagnosed("temperature-ignored").suspects
    assert first.ids == ("temperature-ignored", "greedy")


def outside() -> Rule:
    """Returns two faults at once, which the catalogue does not list."""
    law = Chain(fallback=target, bonus=block_laws.last_draft_row)
    return Rule("two at once", "fault", "", "", "", law)


def test_what_is_outside_the_catalogue_is_unlisted_and_localised() -> None:
    found = diagnosed(outside())
    assert found.suspects == ()
    assert found.fits == ()
    assert found.fit < FIT_LEVEL
    assert found.base == "ratio"
    assert set(found.steps) == {"recovered", "bonus"}


def test_the_claimed_law_is_no_fault() -> None:
    """A sampler that is lossy as it declares is not told that it is lossy."""
    seen = [seen_of(one, "lenience", rounds=2000) for one in BASIS]
    assert diagnose(seen).ids == ("lenience",)
    claimed = diagnose(seen, claims="lenience")
    assert claimed.suspects == ()
    assert claimed.fits == ("lenience",)
    assert claimed.base == "lenience"
    assert claimed.departures == ()


def test_a_declared_rule_is_what_steps_are_measured_by_unless_it_is_a_fault() -> None:
    seen = [seen_of(one, "sampler-match") for one in BASIS]
    assert diagnose(seen, declared="ratio").base == "ratio"
    assert diagnose(seen).base == "sampler-match"
    wrong = [seen_of(one, "temperature-ignored") for one in BASIS]
    assert diagnose(wrong, declared="greedy").base == "ratio"


def test_posteriors_are_probabilities() -> None:
    found = diagnosed("absolute-residual")
    assert 0 <= found.unlisted < 1e-6
    assert 0.9 < sum(one.posterior for one in found.suspects) <= 1


def test_greedy_is_correct_at_temperature_0_only() -> None:
    assert is_correct(RULES["greedy"], select_cases(["greedy-argmax"]))
    assert not is_correct(RULES["greedy"], select_cases(["basis-1"]))
    assert not is_correct(RULES["never-accept-full-target"], select_cases(["basis-1"]))


def test_cases_beyond_the_most_telling_ones_only_confirm() -> None:
    """With more cases than all entries are tried on, the name is the same."""
    pairs = pairs_of(*["basis-1", "basis-2", "block-basis", "prefix-dependent-2", "disjoint"],
                     *["uniform-draft", "uniform-target", "identical"])  # fmt: skip
    (first, *_) = diagnosed("full-target-fallback", pairs, rounds=200).suspects
    assert first.ids[0] == "full-target-fallback"


def test_the_fit_of_the_right_law_is_good_and_of_a_wrong_one_is_none() -> None:
    seen = [seen_of(one, "full-target-fallback") for one in BASIS]
    assert goodness_of_fit(seen, RULES["full-target-fallback"]) > 0.5
    assert goodness_of_fit(seen, RULES["ratio"]) < FIT_LEVEL
    assert goodness_of_fit(seen, RULES["full-target-fallback"], 0.5) < FIT_LEVEL


def test_one_impossible_pair_too_many_refutes() -> None:
    """Three impossible pairs of 1,000 have a chance of 3e-8 within a tolerance of 3e-6."""
    one, other = (seen_of(pairs, "ratio") for pairs in BASIS)
    impossible = np.flatnonzero(one.pairs.law(RULES["ratio"]) <= 0)[0]
    for times, refuted in ((1, False), (3, True)):
        counts = one.counts.copy()
        counts[impossible] += times
        seen = [Seen(one.pairs, counts, counts * 0), other]
        assert (goodness_of_fit(seen, RULES["ratio"]) < FIT_LEVEL) is refuted


def tiny() -> Pairs:
    """Returns a world of two tokens and one drafted token, p = (1/4, 3/4), q = (1/2, 1/2)."""
    target_rows, draft_rows = Rows({(): row("1/4", "3/4")}), Rows({(): row("1/2", "1/2")})
    return Pairs(case_of(target_rows, draft_rows, gamma=1))


def test_the_evidence_under_any_law_is_a_probability_of_sequences() -> None:
    """Over all sequences of two rounds it sums to 1 (12 cells, 144 sequences)."""
    pairs = tiny()
    total = 0.0
    for sequence in itertools.product(range(pairs.size), repeat=2):
        counts = np.bincount(sequence, minlength=pairs.size)
        total += math.exp(free_evidence(Seen(pairs, counts, counts * 0)))
    assert pairs.size == 12
    assert total == pytest.approx(1, abs=1e-12)


def test_a_likelihood_is_the_product_of_the_law_of_each_round() -> None:
    pairs = tiny()
    seen = seen_of(pairs, "ratio", rounds=8)
    law, counts = pairs.law(RULES["ratio"]), seen.counts
    by_hand = sum(n * math.log(p) for n, p in zip(counts, law, strict=True) if n)
    assert Likelihood([seen]).at(RULES["ratio"], 1.0) == pytest.approx(by_hand, abs=1e-6)


def test_a_rule_that_is_open_on_a_case_has_the_evidence_of_any_law_there() -> None:
    """On p = q `never-accept` draws from nothing; what code does then nobody knows."""
    (basis, same) = pairs_of("basis-1", "identical")
    seen = [seen_of(basis, "never-accept"), seen_of(same, "ratio")]
    alone = Likelihood(seen[:1]).at(RULES["never-accept"], 1.0)
    both = Likelihood(seen).at(RULES["never-accept"], 1.0)
    assert both == pytest.approx(alone + free_evidence(seen[1]))
    assert diagnose(seen).ids[0] == "never-accept"


def test_an_entry_that_is_open_where_something_happens_is_no_name_for_it() -> None:
    """`correction-missing` may emit nothing where a token is rejected, and is right elsewhere."""
    (basis, same) = pairs_of("basis-1", "identical")
    seen = [seen_of(basis, outside()), seen_of(same, "ratio")]
    assert diagnose(seen).suspects == ()


def test_a_law_is_equal_to_itself_alone() -> None:
    seen = [seen_of(one, "ratio") for one in BASIS]
    assert have_one_law(RULES["sampler-match"], RULES["point-mass"], seen)
    assert not have_one_law(RULES["ratio"], RULES["block"], seen)


def test_the_field_of_a_tree_holds_tree_rules_only() -> None:
    field = Field.of([TREE[0].case])
    assert {"independent"} <= {drafting for entry in field.entries for drafting in entry.trees}
    assert all(entry.trees for entry in field.entries)
    assert "recursive-rejection" in {entry.id for entry in field.correct}


def test_the_first_grid_reaches_both_bounds() -> None:
    for entry in (one for one in RULES.values() if one.parameter is not None):
        grid = first_grid(entry.parameter)
        assert min(grid) == entry.parameter.low
        assert max(grid) == entry.parameter.high
        assert all(rule(f"{entry.id}@{value}") for value in (grid[0], grid[-1]))


def test_a_whole_constant_is_tried_at_whole_numbers() -> None:
    known = RULES["coarse-coin"].parameter
    assert known is not None
    assert known.whole
    assert all(value.denominator == 1 for value in first_grid(known))
    wide = replace(known, low=Fraction(1), high=Fraction(3))
    assert isinstance(wide, Parameter)
    assert first_grid(wide) == [1, 2, 3]
