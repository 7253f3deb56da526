"""The claim: what is drafted against the rows it is claimed to come from.

A right claim is refuted with a chance of at most alpha = 1e-6 a run (the e-process and the
impossible events share .15 of it), and a bound is wrong with a chance of at most delta = 1e-3; the
wrong claims are the negative controls. Distances are those of the rows of the cases, by hand.
"""

from __future__ import annotations

from fractions import Fraction
from functools import partial
from itertools import product

import numpy as np
import pytest
import torch
from frequencies import at_most
from stepping import case_named, proposing, watch_over, watched
from worlds import article, case_of, identical, prefix_dependent, row

from audit.case import Rows
from audit.harness.proposals import Accepting, Places, ProposalTally, Proposed
from audit.judgement.proposal_readings import (
    Ground,
    coarse,
    fitted_power,
    normalised,
    renamed,
    top_p,
    what_was_claimed,
    what_was_drawn,
)
from audit.row import Row
from audit.samplers.rowwise import tempered, top
from audit.samplers.rules import sampler_of
from audit.samplers.stepping.drafting import DRAFTS, autoregressive
from audit.samplers.stepping.interface import halves
from audit.stepping.claims import claim_of, first_draft_of

G2 = case_named("prefix-dependent-2")
REVERSED = case_named("reversed-ranks")
RIGHT = ("sampled", "raced")
COARSE = "draft-in-bfloat16"  # takes more rounds, and has its own test
MODEL = "the draft model's row"


def beamed():
    """A case of which a beam search finds another block than the most probable token in turn."""
    even = row("2/5", "3/10", "3/10")
    rows = {
        (): row("1/2", "2/5", "1/10"),
        (0,): even,
        (1,): row("9/10", "1/20", "1/20"),
        (2,): even,
    }
    return case_of(Rows({(): even}), Rows(rows), gamma=2)


def claiming(change):
    """Returns a sampler with right drafts whose claimed rows are changed."""

    def propose(models, generator):
        drafted, rows = autoregressive(models, generator)
        return drafted, change(drafted, rows)

    return halves(propose, sampler_of("sampler-match"))


def one_hot(drafted, rows):
    return torch.nn.functional.one_hot(drafted, rows.shape[2]).double()


def test_places_are_positions_or_prefixes_in_the_order_of_their_codes():
    free, bound = Places.of(article(2)), Places.of(prefix_dependent(2))
    drafted = torch.tensor(list(product(range(3), repeat=2)))
    assert free.prefixes == ((), (0,))
    assert free.index(drafted).tolist() == [[0, 1]] * 9
    assert bound.prefixes == ((), (0,), (1,), (2,))
    assert bound.index(drafted)[:, 1].tolist() == [1, 1, 1, 2, 2, 2, 3, 3, 3]
    three = Places.of(prefix_dependent(3))
    drafted = torch.tensor([[2, 1, 0]])
    assert [three.prefixes[i] for i in three.index(drafted)[0].tolist()] == [(), (2,), (2, 1)]


def test_a_factor_has_expectation_one_or_less_under_the_claimed_row():
    # Enumerated: the sum over x of q(x) times the factor of x, for rows and tilts drawn once.
    draw = np.random.default_rng(5)
    for tolerance, mean in ((0.0, 1.0), (1e-3, None)):
        tally = ProposalTally(article(1), tolerance=tolerance, device=torch.device("cpu"))
        row = torch.from_numpy(draw.dirichlet([1, 1, 1], size=1)).expand(3, 3)
        tilt = torch.from_numpy(draw.uniform(0.1, 5, size=(1, 3))).expand(3, 3)
        factors = tally._won(row, tilt, torch.arange(3)).exp()
        expected = float((row[0] * factors).sum())
        assert expected == pytest.approx(mean) if mean else expected < 1


@pytest.mark.parametrize("name", RIGHT)
@pytest.mark.parametrize("case", [G2, REVERSED], ids=lambda case: case.id)
def test_a_right_claim_holds(name, case):
    watch = watch_over(proposing(name), case)
    assert watch.wrong() == ""
    assert watch.upper is not None
    assert watch.upper < 0.05
    worst = watch.worst()
    assert worst is not None
    assert worst.lower == 0
    assert abs(worst.estimate - worst.null_mean) < 0.01


def test_no_seed_refutes_a_right_claim():
    # 20 seeds and 2 cases in calls that both share: refuted with a chance of 1e-6 each. The
    # e-value exceeds 20 with a chance of at most 1/20; more such runs than binomial chance
    # explains at 1e-6 are a failure.
    watches = [
        watch
        for seed in range(20)
        for watch in watched(proposing("sampled"), G2, identical(2), looks=(500,), seed=seed)
    ]
    assert not any(watch.wrong() for watch in watches)
    above = sum(watch.log_e_max >= np.log(20) for watch in watches)
    assert at_most(above, len(watches), rate=1 / 20)


@pytest.mark.parametrize("name", [name for name in DRAFTS if name not in (*RIGHT, COARSE)])
def test_a_wrong_claim_is_refuted(name):
    others = (identical(2),) if name == "draft-rows-reordered" else ()
    watch = watched(proposing(name, verify="sampler-match"), G2, *others, looks=(2_000,))[0]
    assert watch.wrong()


@pytest.mark.heavy
def test_drafts_from_logits_in_bfloat16_are_refuted_and_named():
    # Logits just above and below (4.125 + 4.15625) / 2, neighbours in bfloat16: KL 6.7e-5, so that
    # the bet on it wins e^17.5 in 260,000 rounds on average, with a deviation of e^6.
    parts = [Fraction(1004, 63_000)] * 31 + [Fraction(996, 63_000)] * 31 + [Fraction(1, 63)]
    same = Rows({(): Row.of(parts)})
    case = case_of(same, same, gamma=1)
    ground = Ground.of(case)
    assert 0.005 < np.abs(coarse(ground.draft) - ground.draft).sum() / 2 < 0.007
    sampler = proposing(COARSE, verify="sampler-match")
    watch = watch_over(sampler, case, looks=(20_000, 200_000, 600_000))
    assert watch.wrong()
    assert claim_of(watch)[0].drawn == "the draft model's row from logits in bfloat16"
    control = watch_over(proposing("sampled", verify="sampler-match"), case, looks=(200_000,))
    assert control.wrong() == ""


def test_the_size_of_a_wrong_claim_is_bounded_on_both_sides():
    # Drafted (1, 0, 0), claimed (1/2, 3/10, 1/5): TV 1/2, and rank 0 in every draft.
    watch = watch_over(proposing("argmax-draft", verify="sampler-match"), article(1))
    worst = watch.worst()
    assert worst is not None
    assert worst.estimate == pytest.approx(0.5)
    assert 0.4 < worst.lower < 0.5 < worst.upper < 0.6


def test_a_claim_may_differ_from_round_to_round_and_be_right():
    # One-hot at the drafted token: given that row, the draft is certain.
    watch = watch_over(claiming(one_hot), G2)
    assert watch.wrong() == ""
    # Negative control: the same rows for another round.
    other = watch_over(claiming(lambda drafted, rows: one_hot(drafted, rows).roll(1, 0)), G2)
    assert "claimed to have probability 0" in other.wrong()


def test_rows_that_are_no_laws_are_wrong_claims():
    def damaged(drafted, rows):
        return rows * 3.2

    watch = watch_over(claiming(damaged), G2, looks=(200,))
    assert watch.wrong() == "400 of 400 claimed rows do not sum to 1, by up to 2.2"


def test_a_draft_that_the_claim_excludes_is_proof():
    watch = watch_over(proposing("draft-top-2-only-recorded", verify="sampler-match"), G2)
    assert watch.impossible().events > 0
    assert watch.impossible().p_value < 1e-300
    assert "claimed to have probability 0" in watch.wrong()


def test_where_nothing_is_claimed_nothing_is_refuted():
    watch = watch_over(claiming(lambda drafted, rows: None), G2, looks=(200,))
    assert watch.wrong() == ""
    assert watch.settled()
    assert watch.distances() == []
    assert watch.worst() is None
    claim, _ = claim_of(watch)
    assert (claim.claimed, claim.unclaimed) == ("nothing", 200)


READINGS = {
    "sampled": (MODEL, MODEL, ""),
    "raced": (MODEL, MODEL, ""),
    "argmax-draft": ("the draft model's most probable token", MODEL, "argmax-draft"),
    "draft-temperature-mismatch": (
        MODEL, f"{MODEL} at 0.5 times its temperature", "draft-temperature-mismatch",
    ),
    "draft-top-2-not-recorded": (
        "the draft model's 2 most probable tokens", MODEL, "draft-top-2-not-recorded",
    ),
    "draft-top-2-only-recorded": (
        MODEL, "the draft model's 2 most probable tokens", "draft-top-2-only-recorded",
    ),
    "drafting-context-frozen": (
        f"{MODEL} of the first position", MODEL, "drafting-context-frozen",
    ),
    "draft-record-frozen": (MODEL, f"{MODEL} of the first position", "draft-record-frozen"),
    "draft-record-late": (MODEL, f"{MODEL} of the position before", ""),
    "draft-rows-damaged": (MODEL, "rows that differ between rounds of one prefix", ""),
    "draft-rows-reordered": (MODEL, "rows that differ between rounds of one prefix", ""),
    "draft-map-lost": (f"{MODEL} under other token ids", MODEL, ""),
    "beam-draft": ("the draft model's most probable block", MODEL, ""),
}  # fmt: skip


@pytest.mark.parametrize("name", READINGS)
def test_drafts_and_claims_are_named(name):
    # On three positions, where the first row is not the one before, and on rows of which the
    # likeliest block (.4 * .9) does not begin with the likeliest token.
    case = beamed() if name == "beam-draft" else case_named("prefix-dependent-3")
    watch = watch_over(proposing(name, verify="sampler-match"), case)
    claim, from_model = claim_of(watch)
    assert (claim.drawn, claim.claimed, claim.fault) == READINGS[name]
    assert from_model is (claim.drawn == MODEL)


def test_a_law_that_is_not_listed_is_not_named():
    def propose(models, generator):
        row = torch.tensor([0.1, 0.2, 0.7], dtype=torch.float64).expand(models.batch_size, 3)
        drafted = torch.multinomial(row, 1, generator=generator)
        return drafted, models.draft(models.no_tokens()).unsqueeze(1)

    claim, _ = claim_of(watch_over(halves(propose, sampler_of("sampler-match")), article(1)))
    assert claim.wrong
    # A renaming of (.5, .3, .2) or a power of it is another law.
    assert claim.drawn == "no listed law"
    assert claim.fault == ""


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_rows_that_are_claimed_in_another_type_are_named(dtype):
    watch = watch_over(claiming(lambda drafted, rows: rows.to(dtype)), G2, looks=(200,))
    name = str(dtype).removeprefix("torch.")
    assert claim_of(watch)[0].claimed == f"{MODEL} rounded to {name}"


def test_a_buffer_that_all_positions_share_is_named():
    watch = watch_over(claiming(lambda drafted, rows: rows[:, -1:].expand_as(rows)), G2)
    claim, _ = claim_of(watch)
    assert claim.wrong
    assert claim.claimed == "one row for all positions of a round"


def test_the_most_probable_tokens_at_another_temperature_are_named():
    def cut(rows):
        return top(12)(tempered(0.5)(rows))

    drawn = halves(partial(autoregressive, drawn=cut), sampler_of("sampler-match"))
    claim, _ = claim_of(watch_over(drawn, REVERSED))
    words = "the draft model's 12 most probable tokens at "
    assert claim.drawn.startswith(words)
    # The logarithms of the twelve rows vary by .0325 under the law that is drafted, so that 20,000
    # draws give the constant with a standard deviation of 2 %: six of them.
    assert float(claim.drawn.removeprefix(words).split()[0]) == pytest.approx(0.5, rel=0.12)
    claimed = halves(partial(autoregressive, claimed=cut), sampler_of("sampler-match"))
    claim, _ = claim_of(watch_over(claimed, REVERSED))
    assert claim.claimed == f"{words}0.5 times its temperature"
    assert claim.fault == ""


def test_few_drafts_are_not_taken_for_those_of_another_law():
    # Of ten drafts (3, 4, 3) the target's row (.2, .5, .3) is the likelier by 5 to 3.
    ground = Ground.of(article(1))
    few, many = (np.array([[3, 4, 3]]) * n for n in (1, 100))
    assert what_was_drawn(ground, few).kind == "row"
    assert what_was_drawn(ground, many).kind != "row"


def test_what_was_seen_of_no_draw_and_no_claim():
    ground = Ground.of(G2)
    nothing = np.zeros(ground.draft.shape)
    assert what_was_drawn(ground, nothing.astype(np.int64)).kind == "row"
    assert (
        what_was_claimed(ground, nothing, -np.ones(nothing.shape), nothing[:, 0], 0.0).kind
        == "nothing"
    )


def test_processed_rows():
    rows = np.array([[0.2, 0.5, 0.3]])
    assert top_p(rows, 0.5).tolist() == [[0, 1, 0]]
    assert top_p(rows, 0.6).round(12).tolist() == [[0, 0.625, 0.375]]
    power = normalised(rows**1.7)
    assert fitted_power(rows, 1000 * power) == pytest.approx(1.7, abs=1e-6)
    assert renamed(rows, 100 * rows[:, [2, 0, 1]]).tolist() == [[0.3, 0.2, 0.5]]


def test_sums_of_proposals_add_up():
    one, other = (Proposed.none(1, 3, 2) for _ in range(2))
    one.furthest, other.furthest, other.rounds = 0.5, 0.25, 7
    assert (one + other).furthest == 0.5
    assert (one + other).rounds == 7


def test_the_rule_that_keeps_the_first_draft_is_told():
    # Article's case: the ratio rule keeps .7 of the drafts, p alone .31.
    for verify, kept, fits in (("ratio", 0.7, "ratio"), ("sampler-match", 0.31, "point-mass or")):
        watch = watch_over(proposing("sampled", verify=verify), article(2))
        first = first_draft_of(watch.seen.accepting, watch.seen.rounds)
        assert first.observed == pytest.approx(kept, abs=0.02)
        assert [name.startswith(fits) for name in first.fits] == [True]
    assert first_draft_of(Accepting(), 0).observed == 0


def test_a_prefix_that_nothing_can_reach_needs_no_row():
    # The draft never drafts 2 and the target never emits it: no row follows it.
    draft = {(): row("1/2", "1/2", "0"), (0,): row("1", "0", "0"), (1,): row("0", "1", "0")}
    target = {
        (): row("1/4", "3/4", "0"),
        (0,): row("1/2", "1/2", "0"),
        (1,): row("1/2", "1/2", "0"),
    }
    for a, b in product(range(2), repeat=2):
        target[a, b] = row("1/2", "1/2", "0")
    case = case_of(Rows(target, extend="none"), Rows(draft, extend="none"), gamma=2)
    watch = watch_over(proposing("sampled"), case, looks=(500,))
    assert watch.wrong() == ""
    assert claim_of(watch)[0].drawn == MODEL
