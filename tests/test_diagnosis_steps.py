"""Where a round departs: events, their p-values, and calls that mix cases."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy import stats

from audit.diagnosis.layout import Layout
from audit.diagnosis.observed import Pairs, Seen
from audit.diagnosis.results import Departure
from audit.diagnosis.steps import (
    LEVEL,
    departures,
    holm,
    hypergeometric,
    two_sided,
    worst_of_each,
    worst_p_value,
)
from audit.exact.catalogue import RULES
from tests.diagnosed import expected_counts, pairs_of, seen_of

(BASIS,) = pairs_of("basis-2")
(ARTICLE,) = pairs_of("article-three-tokens")
(TREE,) = pairs_of("tree-two-levels")


def kinds(found: list[Departure]) -> set[str]:
    """Returns the steps that depart."""
    return {one.step for one in found}


@pytest.mark.parametrize(
    ("fault", "steps"),
    [
        ("full-target-fallback", {"recovered"}),
        ("always-accept", {"accept", "length"}),
        ("bonus-from-draft", {"bonus"}),
        ("never-accept-full-target", {"accept", "length", "recovered"}),
        ("continues-after-rejection", {"accept", "length", "kept"}),
    ],
)
def test_a_fault_departs_at_its_own_steps_only(fault: str, steps: set[str]) -> None:
    assert kinds(departures([seen_of(BASIS, fault)], RULES["ratio"])) == steps


def test_the_worst_step_is_told_with_its_numbers() -> None:
    """After a rejection on p = (.2, .5, .3), q = (.5, .3, .2) token 0 cannot be recovered."""
    found = departures([seen_of(ARTICLE, "full-target-fallback")], RULES["ratio"])
    first = found[0]
    assert (first.case, first.step, first.position, first.token) == (
        "article-three-tokens", "recovered", 1, 0
    )  # fmt: skip
    assert first.expected == 0
    assert first.events == pytest.approx(0.2 * first.trials, abs=2)
    assert first.trials == pytest.approx(0.3 * 500, abs=2)


@pytest.mark.parametrize("pairs", [BASIS, ARTICLE, TREE], ids=lambda one: one.case.id)
def test_a_rule_does_not_depart_from_itself(pairs: Pairs) -> None:
    name = "ratio" if pairs.case.tree is None else "recursive-rejection-distinct"
    assert departures([seen_of(pairs, name, rounds=2000)], RULES[name]) == []


def test_a_lossless_rule_departs_from_another_one() -> None:
    """Which is why steps are judged after a FAIL only, by the rule that explains most of them."""
    found = departures([seen_of(BASIS, "sampler-match")], RULES["ratio"])
    assert "accept" in kinds(found)


def test_the_test_of_a_sibling_is_told_by_sibling_and_token() -> None:
    """Token 1 (p = 1/10, q = 3/10) passes as the first sibling whenever the second one does."""
    seen = seen_of(pairs_of("tree-basis")[0], "last-sibling-decides", rounds=2000)
    found = departures([seen], RULES["recursive-rejection"])
    assert (0, 1) in {(one.sibling, one.token) for one in found if one.step == "accept"}


def test_calls_that_mix_cases_are_compared_with_the_others() -> None:
    """Rounds of a fault in mixed calls alone; the negative control has it in all calls alike."""
    good = expected_counts(BASIS.law(RULES["ratio"]), 400)
    bad = expected_counts(BASIS.law(RULES["always-accept"]), 100)
    found = departures([Seen(BASIS, good + bad, bad)], RULES["ratio"])
    assert "accept" in {one.step for one in found if one.calls}
    alike = expected_counts(BASIS.law(RULES["always-accept"]), 400)
    found = departures([Seen(BASIS, alike + bad, bad)], RULES["ratio"])
    assert not any(one.calls for one in found)


def test_the_p_value_of_a_sum_of_coins_is_conservative() -> None:
    """For 10 coins of two kinds the exact two-sided tails are no larger (Hoeffding 1956)."""
    chances = [0.1] * 5 + [0.7] * 5
    law = np.ones(1)
    for chance in chances:
        law = np.convolve(law, [1 - chance, chance])
    for events in range(11):
        exact = 2 * min(law[events:].sum(), law[: events + 1].sum())
        assert two_sided(events, 10, sum(chances)) >= min(exact, 1) - 1e-12


def test_the_tolerance_is_granted_to_every_step() -> None:
    assert two_sided(1, 1000, 0.0) == 0
    assert two_sided(2, 1000, 0.0, slack=3e-3) == pytest.approx(9e-6, rel=0.01)
    assert two_sided(1000, 1000, 1000.0, slack=3.0) == 1


def test_the_hypergeometric_p_value_is_scipys() -> None:
    asked = [(7, 10, 20, 100), (0, 10, 20, 100), (3, 3, 3, 9), (2, 10, 20, 100)]
    for events, drawn, marked, n in asked:
        law = stats.hypergeom(n, marked, drawn)
        exact = 2 * min(law.sf(events - 1), law.cdf(events))
        assert hypergeometric(events, drawn, marked, n) == pytest.approx(min(exact, 1), rel=1e-9)


@pytest.mark.parametrize("wrong", ["always-accept", "full-target-fallback"])
def test_the_worst_step_is_found_whatever_the_others_do(wrong: str) -> None:
    """Bonferroni over all steps of both cases; the right law's own counts refute nothing."""
    seen = [seen_of(BASIS, "ratio"), seen_of(ARTICLE, wrong)]
    right = [one.pairs.law(RULES["ratio"]) for one in seen]
    assert worst_p_value(seen, right) < 1e-9
    assert worst_p_value(seen, [right[0], ARTICLE.law(RULES[wrong])]) == 1


def test_holm_is_the_closed_bonferroni() -> None:
    """Every set of true questions that holds the smallest p is refuted by Bonferroni alone."""
    p_values = [0.001, 0.012, 0.02, 0.6]
    subsets = [s for size in range(1, 5) for s in itertools.combinations(range(4), size)]
    for place, adjusted in enumerate(holm(p_values)):
        by_set = [len(s) * min(p_values[i] for i in s) for s in subsets if place in s]
        assert adjusted == pytest.approx(min(1, max(by_set)))


def test_the_worst_of_every_step_and_case_is_kept() -> None:
    """That too many tokens are emitted is left out where an acceptance says it already."""
    seen = [seen_of(pairs, "always-accept") for pairs in (BASIS, ARTICLE)]
    found = departures(seen, RULES["ratio"])
    assert [one.p_value for one in found] == sorted(one.p_value for one in found)
    assert max(one.p_value for one in found) <= LEVEL
    kept = {(one.case, one.step) for one in worst_of_each(found)}
    assert kept == {("basis-2", "accept"), ("article-three-tokens", "accept")}


def test_every_event_of_a_layout_is_possible_within_what_is_given() -> None:
    for pairs in (BASIS, TREE):
        for event in Layout.of(pairs).events():
            assert not (event.happens & ~event.given).any()


def test_a_layout_follows_emitted_tokens_through_a_tree() -> None:
    """parents (-1, -1, 0, 0, 1, 1): children of the second node are nodes 4 and 5."""
    layout = Layout.of(TREE)
    block_of = np.concatenate([np.tile(np.arange(3**n), 3**6) for n in (1, 2, 3)])
    drafted = int("012220", 3)
    for block, node in (("102", 5), ("120", 4), ("021", 2), ("221", -2)):
        cell = (layout.draft == drafted) & (layout.length == 3) & (block_of == int(block, 3))
        assert layout.nodes[2][cell].tolist() == [node]
