"""The evidence over contexts seen once: what it rests on, checked by enumeration and exact laws."""

from __future__ import annotations

from fractions import Fraction
from itertools import islice, product
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import chi2

from audit.case import Case
from audit.exact.catalogue import RULES
from audit.exact.engine import block_law, branches_of
from audit.exact.onestep import one_step_law
from audit.row import Row as ExactRow
from audit.simulation.recorded import recorded
from audit.trace import chunks
from audit.tracefile.rounds import Round, round_of
from audit.tracefile.rows import Row, listed
from audit.traces import faults, rules
from audit.traces.bets import Gate
from audit.traces.conformity import RuleWatch, ending, excluded_by
from audit.traces.readings import EVEN, evidence_of, slack, tokens_needed
from audit.traces.scores import BINS, ORDERS, UNKNOWN, Scores, rank_bin, scores_of
from audit.traces.tokens import beside_target, tokens_of
from audit.traces.watch import TraceWatch
from audit.verdict import Budget
from tests.frequencies import FALSE_ALARM
from tests.worlds import article, prefix_dependent

BUDGET = Budget(alpha=1e-6, delta=1e-3, epsilon=0.05, cases=1)
LOSSLESS = ("ratio", "sampler-match", "point-mass", "block", "gumbel-coupled", "bonus-missing")


# What the audit of a trace rests on.


def given_long_enough(case: Case, rule: str) -> Fraction:
    """Returns the largest TV of P(token j | tokens before, length >= j) to the target's row."""
    law = dict(block_law(case, rule).items())
    worst = Fraction(0)
    for before in {block[:j] for block in law for j in range(len(block))}:
        longer = {b: mass for b, mass in law.items() if len(b) > len(before)}
        heads = [(block[: len(before) + 1], mass) for block, mass in longer.items()]
        masses = [
            sum((mass for head, mass in heads if head == (*before, token)), start=Fraction(0))
            for token in range(case.vocab_size)
        ]
        reached, row = sum(masses), case.target[before]
        if reached:
            apart = sum(abs(mass / reached - row[x]) for x, mass in enumerate(masses)) / 2
            worst = max(worst, apart)
    return worst


@pytest.mark.parametrize("case", [article(3), prefix_dependent(2)], ids=["article", "g2"])
def test_given_its_prefix_and_that_it_is_emitted_a_token_follows_the_target(case: Case) -> None:
    for rule in LOSSLESS:
        assert given_long_enough(case, rule) == 0, rule
    for fault in ("full-target-fallback", "always-accept", "bonus-from-draft"):
        assert given_long_enough(case, fault) > 0, fault


def test_given_the_exact_length_even_a_lossless_rule_would_be_accused() -> None:
    case = article(1)
    short = [(block, mass) for block, mass in block_law(case, "ratio").items() if len(block) == 1]
    total = sum(mass for _, mass in short)
    recovered = [sum(m for b, m in short if b == (x,)) / total for x in range(3)]
    assert recovered == [0, Fraction(2, 3), Fraction(1, 3)]  # the residual, not (.2, .5, .3)


def rows_of(rng: np.random.Generator, size: int, count: int) -> list[ExactRow]:
    """Returns random rows of fractions, some of them with zeros."""
    made = []
    for _ in range(count):
        weights = rng.integers(0, 30, size=size)
        weights[rng.integers(size)] += 1
        made.append(ExactRow.normalised(weights.tolist()))
    return made


@pytest.mark.parametrize("name", [*faults.AT_DRAFTS, *faults.EVERYWHERE])
def test_the_laws_that_are_bet_on_are_those_of_the_catalogue(name: str) -> None:
    rng = np.random.default_rng(5)
    law = faults.AT_DRAFTS.get(name) or faults.EVERYWHERE[name]
    for size in (2, 3, 7):
        for p, q in zip(rows_of(rng, size, 20), rows_of(rng, size, 20), strict=True):
            floats = (np.array([[float(v) for v in row]]) for row in (p, q))
            expected = [float(v) for v in one_step_law(name, p, q)]
            assert law(*floats)[0] == pytest.approx(expected, abs=1e-12)


def test_every_fault_that_is_bet_on_is_catalogued() -> None:
    assert {name.partition("@")[0] for name in faults.NAMES} <= set(RULES)
    case = article(1)  # of the bonus, the law after full acceptance
    blocks = [(b, m) for b, m in block_law(case, "bonus-from-draft").items() if len(b) == 2]
    whole = sum(mass for _, mass in blocks)
    bonus = [sum(m for b, m in blocks if b[1] == x) / whole for x in range(3)]
    assert bonus == [Fraction(1, 2), Fraction(3, 10), Fraction(1, 5)]  # q, as AT_BONUS has it


def test_every_fault_that_is_bet_on_stands_in_the_page_on_traces() -> None:
    page = (Path(__file__).parent.parent / "docs" / "traces.md").read_text(encoding="utf-8")
    assert all(f"`{name.partition('@')[0]}`" in page for name in faults.NAMES)


def one_round(case: Case, drafted: tuple[int, ...], emitted: list[int]) -> Round:
    """Returns a round of a case with the rows of its target and draft along these tokens."""
    target = [[float(v) for v in case.target[drafted[:i]]] for i in range(len(drafted) + 1)]
    draft = [[float(v) for v in case.draft[drafted[:i]]] for i in range(len(drafted))]
    return round_of(
        {
            "draft_token_ids": list(drafted),
            "emitted_token_ids": emitted,
            "target_probs": target,
            "draft_probs": draft,
        }
    )


@pytest.mark.parametrize("rule", rules.RULES)
def test_declared_rules_accept_and_recover_as_their_exact_laws_say(rule: str) -> None:
    case = prefix_dependent(2)
    rounds, branches = branches_of(case, rule)
    for path, drafted in enumerate(rounds.tokens.tolist()):
        one = one_round(case, tuple(drafted), [0])
        chances = [branch.chance.floats()[path] for branch in branches]
        if rule == "block":
            found = rules.block_law(one)
        else:
            bounds = rules.accept_bounds(rule, one, one.gamma)
            assert (bounds[:, 0] == bounds[:, 1]).all()
            reach = np.append(1, bounds[:, 0].cumprod())
            found = reach - np.append(reach[1:], 0)
        assert found == pytest.approx(chances, abs=1e-12)
        for n, branch in enumerate(branches[:-1]):
            weights = rules.last_weights(rule, one, n)
            assert weights is not None
            if chances[n] > 0:
                expected = branch.rows[0].floats()
                expected = expected[path if len(expected) > 1 else 0]
                assert weights / weights.sum() == pytest.approx(expected, abs=1e-12)


# Scores: the transform is uniform, factors have expectation 1.


def all_scores(one: Round, coins: np.ndarray) -> Scores:
    """Returns the scores of the first token of a round, for every token and coin."""
    size = len(one.target[0].probs)
    made = [
        Round(one.draft, np.array([token]), one.target, one.drafting)
        for token, _ in product(range(size), coins)
    ]
    (tokens,) = tokens_of(made, tolerance=0.0)
    return scores_of(tokens, np.tile(coins, size))


def test_in_any_context_bins_are_even_and_factors_have_expectation_one() -> None:
    rng = np.random.default_rng(3)
    coins = (np.arange(400) + 0.5) / 400
    for size in (2, 5, 30):
        p, q = rng.dirichlet(np.ones(size) / 2, 2)
        one = round_of(
            {
                "draft_token_ids": [0],
                "emitted_token_ids": [0],
                "target_probs": [p, p],
                "draft_probs": [q],
            }
        )
        scores = all_scores(one, coins)
        weights = np.repeat(p, len(coins)) / len(coins)
        for order in range(len(ORDERS)):
            shares = np.bincount(scores.bins[:, order], weights=weights, minlength=BINS)
            assert shares == pytest.approx(np.full(BINS, 1 / BINS), abs=2e-3)  # the coins' grid
        assert weights @ scores.factor == pytest.approx(np.ones(len(faults.NAMES)), abs=1e-9)
        laws = {
            name: law(p[np.newaxis], q[np.newaxis])[0] for name, law in faults.AT_DRAFTS.items()
        }
        for i, name in enumerate(faults.NAMES):
            if name in laws:  # under the fault's own law its own bins are even
                own = np.repeat(laws[name], len(coins)) / len(coins)
                fit = np.bincount(scores.fit[:, i], weights=own, minlength=BINS)
                assert fit == pytest.approx(np.full(BINS, 1 / BINS), abs=2e-3), name


def test_the_bonus_is_bet_on_by_faults_of_the_bonus_alone() -> None:
    source = recorded("ratio", vocab_size=20, gamma=1, seed=2)
    (tokens,) = tokens_of(islice(source, 200), tolerance=None)
    scores = scores_of(tokens, np.full(len(tokens.cell), 0.5))
    at_bonus = [name in faults.AT_BONUS for name in faults.NAMES]
    everywhere = [name in faults.EVERYWHERE for name in faults.NAMES]
    assert scores.bonus.any()
    still = ~np.array(at_bonus) & ~np.array(everywhere)
    assert scores.factor[scores.bonus][:, still] == pytest.approx(1)
    assert scores.factor[~scores.bonus][:, at_bonus] == pytest.approx(1)
    assert np.abs(scores.factor[scores.bonus][:, at_bonus] - 1).max() > 0.1


def test_the_row_before_a_bonus_token_is_that_of_the_last_drafted_one() -> None:
    (tokens,) = tokens_of(islice(recorded("ratio", vocab_size=5, gamma=2), 200), tolerance=None)
    given = {
        n: one.target for n, one in enumerate(islice(recorded("ratio", vocab_size=5, gamma=2), 200))
    }
    for row, n, place, bonus in zip(
        tokens.before, tokens.rounds, tokens.places, tokens.bonus, strict=True
    ):
        assert row.tolist() == given[n][place - bonus].probs.tolist()
    assert tokens.bonus.any()


def test_without_draft_rows_what_needs_them_stays_open() -> None:
    fields = {"draft_token_ids": [0], "emitted_token_ids": [1], "target_probs": [[0.3, 0.7]] * 2}
    (tokens,) = tokens_of([round_of(fields)], tolerance=None)
    scores = scores_of(tokens, np.array([0.5]))
    assert scores.bins[0, ORDERS.index("ratio")] == UNKNOWN
    assert (scores.bins[0, 1:] != UNKNOWN).all()
    assert scores.factor[0, : len(faults.AT_DRAFTS)].tolist() == [1.0] * len(faults.AT_DRAFTS)


@pytest.mark.parametrize("tiny", [0.0, 5e-324, 1e-300])
def test_the_smallest_probabilities_break_nothing(tiny: float) -> None:
    p, q = [1.0 - 2 * tiny, tiny, tiny], [tiny, 0.5, 0.5]
    fields = {"draft_token_ids": [1], "target_probs": [p, p], "draft_probs": [q]}
    for emitted in (0, 1, 2):
        (tokens,) = tokens_of([round_of(fields | {"emitted_token_ids": [emitted]})], tolerance=None)
        gate = Gate.create().updated(scores_of(tokens, np.array([0.25])))
        assert np.isfinite(gate.log_e)


def test_a_listed_row_is_seen_through_its_cells() -> None:
    target = listed("t", {"ids": [5, 2], "probs": [0.6, 0.3]})
    whole = Row(np.array([0.1, 0.1, 0.2, 0.1, 0.1, 0.4]))
    guess, low, high = beside_target(whole, target)
    assert guess.tolist() == low.tolist() == high.tolist() == pytest.approx([0.4, 0.2, 0.4])
    partly = listed("d", {"ids": [2, 0], "probs": [0.5, 0.2], "rest": 0.3})
    guess, low, high = beside_target(partly, target)
    assert low == pytest.approx([0, 0.5, 0.3])
    assert high == pytest.approx([0.2, 0.5, 0.5])
    assert guess.sum() == pytest.approx(1)
    guess, low, high = beside_target(partly, whole)  # target listed whole
    assert low == pytest.approx([0.2, 0, 0.5, 0, 0, 0])
    assert high == pytest.approx([0.2, 0.2, 0.5, 0.2, 0.2, 0.2])


def cut(row: Row, k: int) -> Row:
    """Returns the row of the k likeliest tokens and the rest."""
    ids = np.argsort(-row.probs)[:k]
    return listed("x", {"ids": ids.tolist(), "probs": row.probs[ids].tolist()})


def cut_rounds(rounds: list[Round], k: int) -> list[Round]:
    return [
        Round(
            one.draft,
            one.emitted,
            tuple(cut(row, k) for row in one.target),
            tuple(cut(row, k) for row in one.drafting),
        )
        for one in rounds
    ]


def test_what_listed_rows_leave_open_is_bounded() -> None:
    rounds = list(islice(recorded("ratio", vocab_size=40, seed=4), 100))
    for whole, part in zip(rounds, cut_rounds(rounds, 5), strict=True):
        for rule in ("ratio", "point-mass"):
            exact = rules.accept_bounds(rule, whole, 3)[:, 0]
            bounds = rules.accept_bounds(rule, part, 3)
            assert (bounds[:, 0] <= exact + 1e-12).all()
            assert (exact <= bounds[:, 1] + 1e-12).all()
        (full,), (coarse,) = (tokens_of([one], tolerance=None) for one in (whole, part))
        coins = np.zeros(len(full.cell))
        one, other = scores_of(full, coins), scores_of(coarse, coins)
        listed_one = coarse.cell < 5  # of a listed token the ratio is bounded from above
        assert (one.ratio[listed_one, 0] <= other.ratio[listed_one, 0] + 1e-12).all()
        assert (other.fit[~coarse.exact] == UNKNOWN).all()


def test_a_rank_bin_is_the_stretch_of_the_token() -> None:
    weights = np.array([1.0, 0.0, 1.0, 2.0])
    assert [rank_bin(weights, cell, 0.0) for cell in (3, 0, 2)] == [0, 8, 12]
    assert [rank_bin(weights, cell, 0.999) for cell in (3, 0, 2)] == [7, 11, 15]


# The bounds.


def test_slack_holds_at_every_number_of_tokens_at_once() -> None:
    # 400 paths of 4096 even bins, each looked at 40 times at delta .5: more than .5 + 5 standard
    # deviations of them may go beyond with a chance of 3e-7.
    rng = np.random.default_rng(11)
    looks = np.unique(np.geomspace(1, 4096, 40).astype(int))
    beyond = 0
    for _ in range(400):
        seen = np.eye(BINS + 1)[rng.integers(0, BINS, 4096)].cumsum(axis=0)[looks - 1]
        tv = np.abs(seen / looks[:, np.newaxis] - EVEN).sum(axis=1) / 2
        beyond += bool((tv > [slack(int(n), 0.5) for n in looks]).any())
    assert beyond / 400 <= 0.5 + 5 * 0.025
    assert slack(1000, 0.5, cells=1) < np.abs(np.eye(BINS + 1)[0] - EVEN).sum() / 2  # not vacuous


def test_slack_costs_little_more_than_at_a_number_known_beforehand() -> None:
    for n in (100, 10_000, 10**6):
        known = np.sqrt((17 * np.log(2) + np.log(1e4)) / (2 * n))
        assert known < slack(n, 1e-4) < 1.2 * known
    needed = tokens_needed(0.05, 5e-4)
    assert 9_000 < needed < 13_000


def watched(
    rule: str, rounds: int, *, vocab_size: int = 50, declared: tuple[str, ...] = (), seed: int = 1
) -> TraceWatch:
    """Returns a watch that has followed so many rounds of a rule."""
    watch = TraceWatch(BUDGET, declared=declared, tolerance=None, seed=seed)
    source = recorded(rule, vocab_size=vocab_size, seed=seed)
    for part in chunks(islice(source, rounds)):
        watch.update(part)
    return watch


def test_exclusion_never_excludes_what_acts_and_excludes_what_does_not() -> None:
    # A fault that acts everywhere is excluded with a chance of 1e-3 at most at delta 1e-3, all
    # strengths together: none in these is, and a correct engine excludes most.
    for name in ("full-target-fallback", "always-accept", "target-temperature-wrong@2"):
        assert name not in watched(name, 600).gate.excluded_from(1e-6), name
    correct = watched("ratio", 1500).gate.excluded_from(1e-3)
    assert {"full-target-fallback", "always-accept", "bonus-from-draft"} <= set(correct)
    assert correct["always-accept"] <= 0.25


def expected_wealth(case: Case, rule: str) -> float:
    """Returns the exact expectation of the e-value after one round of a rule."""
    gamma, mean = case.num_speculative_tokens, 0.0
    for block, mass in block_law(case, rule).items():
        drafted = (*block[:gamma], *[0] * gamma)[:gamma]  # what followed is not looked at
        batches = tokens_of([one_round(case, drafted, list(block))], tolerance=0.0)
        scores = [scores_of(tokens, np.full(len(tokens.cell), 0.5)) for tokens in batches]
        mean += float(mass) * np.exp(Gate.create().updated(scores[0]).log_e)
    return mean


@pytest.mark.parametrize("case", [article(2), prefix_dependent(2)], ids=["article", "g2"])
def test_the_expected_wealth_after_a_round_of_any_lossless_rule_is_one(case: Case) -> None:
    for rule in LOSSLESS:
        assert expected_wealth(case, rule) == pytest.approx(1, abs=1e-12), rule
    for fault in ("full-target-fallback", "always-accept", "bonus-from-draft"):
        assert expected_wealth(case, fault) > 1.001, fault


# Conformity.


def test_a_round_that_was_cut_short_shows_a_lower_bound_only() -> None:
    case = article(2)
    plain, stopped = one_round(case, (1, 1), [1]), one_round(case, (1, 1), [1])
    stopped = Round(**(vars(stopped) | {"stopped": True}))
    assert ending(plain) == (0, False)
    assert ending(stopped) == (1, True)
    assert (
        excluded_by("ratio", plain, 0, cut=False) == "ratio cannot accept exactly 0 of these tokens"
    )
    assert excluded_by("ratio", stopped, 1, cut=True) == ""


def test_what_a_rule_cannot_do_is_told() -> None:
    case = article(2)  # p = (.2, .5, .3), q = (.5, .3, .2): token 0 is never recovered
    refused = one_round(case, (0, 0), [0])
    assert excluded_by("ratio", refused, 0, cut=False) == "ratio cannot draw 0 after rejecting 0"
    assert excluded_by("point-mass", one_round(case, (0, 0), [1]), 0, cut=False) == ""
    beyond = one_round(case, (1, 1), [0, 1])
    assert excluded_by("ratio", beyond, 1, cut=False) == "tokens follow one that was not drafted"


def test_what_a_rule_cannot_do_is_told_of_listed_rows_where_it_is_sure() -> None:
    top = {"ids": [1, 0], "probs": [0.6, 0.2]}  # of target and draft, tokens 2 to 9 not listed
    fields = {"draft_token_ids": [7], "target_top": [top, top], "draft_top": [top]}
    for emitted, rule, why in (
        (7, "point-mass", "point-mass cannot draw 7 after rejecting 7"),
        (8, "point-mass", ""),
        (1, "ratio", "ratio cannot draw 1 after rejecting 7"),  # p = q there
        (8, "ratio", ""),
    ):
        one = round_of(fields | {"emitted_token_ids": [emitted]})
        assert excluded_by(rule, one, 0, cut=False) == why
    assert rules.last_weights("point-mass", one, 0) is None


@pytest.mark.parametrize("rule", rules.RULES)
def test_the_number_accepted_is_near_its_exact_sum(rule: str) -> None:
    # 5 standard deviations of a sum over 600 rounds: a false alarm of 6e-7 each.
    sums = watched(rule, 600, vocab_size=10, declared=(rule,)).rule.sums  # type: ignore[union-attr]
    assert sums.low == pytest.approx(sums.high)
    assert abs(sums.accepted - sums.low) <= 5 * sums.variance**0.5
    wrong = watched("always-accept", 600, vocab_size=10, declared=(rule,)).rule.sums  # type: ignore[union-attr]
    assert abs(wrong.accepted - wrong.low) > 5 * wrong.variance**0.5


def test_cutting_rounds_short_accuses_nobody() -> None:
    # Rounds end behind token 0, as at a stop token; e-value above 1e6 with a chance of 1e-6.
    watch = RuleWatch(("ratio",), tolerance=None)
    source = recorded("ratio", vocab_size=6, seed=9)
    for part in chunks(islice(source, 1500)):
        short = []
        for one in part:
            stops = np.flatnonzero(one.emitted == 0)
            last = int(stops[0]) + 1 if len(stops) else len(one.emitted)
            made = vars(one) | {"emitted": one.emitted[:last], "stopped": last < len(one.emitted)}
            short.append(Round(**made))
        watch.update(short, np.random.default_rng(1))
    assert watch.log_e_max < -np.log(FALSE_ALARM)
    assert watch.excluded().events == 0
    assert abs(watch.sums.accepted - watch.sums.low) <= 5 * watch.sums.variance**0.5


def test_of_several_declared_rules_only_what_all_exclude_counts() -> None:
    both = watched("point-mass", 300, declared=("ratio", "point-mass")).rule
    alone = watched("point-mass", 300, declared=("ratio",)).rule
    assert both is not None
    assert alone is not None
    assert both.excluded().events == 0
    assert both.log_e == 0
    assert alone.excluded().events > 0


def test_drafts_that_do_not_come_from_the_draft_rows_are_told() -> None:
    evidence = evidence_of(watched("ratio", 600, declared=("ratio",)))
    assert evidence.rule is not None
    assert evidence.rule.drafted_p > FALSE_ALARM
    watch = TraceWatch(BUDGET, declared=("ratio",), tolerance=None, seed=1)
    source = recorded("ratio", vocab_size=50, seed=1)
    moved = [
        Round(one.draft, one.emitted, one.target, tuple(reversed(one.drafting)))
        for one in islice(source, 600)
    ]
    for part in chunks(moved):
        watch.update(part)
    told = evidence_of(watch).rule
    assert told is not None
    assert told.drafted_p < FALSE_ALARM


def test_scores_pool_over_row_sizes() -> None:
    # A p-value below 1e-6 of a correct engine, seen in one of three orders: 3e-6.
    watch = TraceWatch(BUDGET, declared=(), tolerance=None, seed=3)
    sources = [recorded("ratio", vocab_size=v, gamma=g, seed=v) for v, g in ((5, 1), (33, 4))]
    mixed = [next(source) for _ in range(400) for source in sources]
    for part in chunks(mixed):
        watch.update(part)
    evidence = evidence_of(watch)
    assert {place.place for place in evidence.places} == {"1", "2", "3", "4", "bonus"}
    for order in evidence.orders:
        assert order.n == evidence.judged
        assert order.p_value > FALSE_ALARM
        assert order.lower == 0
    statistic = chi2.isf(evidence.orders[0].p_value, BINS - 1)
    assert 0 < statistic < 80
