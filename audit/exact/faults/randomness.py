"""Random numbers that are used twice, drawn too seldom or thrown away."""

from __future__ import annotations

import numpy as np

from audit.exact.chain import Chain, RowSequence, one_coin, residual, target_over_draft
from audit.exact.faults.acceptance import always
from audit.exact.paths import Rounds, Step
from audit.exact.race import second_race
from audit.exact.ratios import Ratios, clipped_ratio, minimum
from audit.exact.rowwise import cumulated
from audit.exact.rule import Rule
from audit.exact.rules import target, target_prob


def beyond_the_coin(step: Step) -> Ratios:
    """Returns the part of each token's residual interval that lies above min(1, p(x) / q(x)).

    A rejected coin is spread evenly over what lies above the ratio, and inverts the running sum.
    """
    reach = cumulated(residual(step).normalised()) - target_over_draft(step).column()
    above = reach.positive()
    return Ratios(np.diff(above.numerators, prepend=0), above.denominators)


def drafting_coin_below(step: Step) -> Ratios:
    """Returns the part of x's interval in the running sum of q that lies below p(x) / q(x)."""
    start = cumulated(step.q).at(step.token) - step.qx
    return clipped_ratio((target_over_draft(step) - start).positive(), step.qx)


def noise_of_the_draft(step: Step) -> Ratios:
    """Returns the law of argmin E / r where argmin E / q was the drafted token."""
    return second_race(step.q, residual(step).normalised(), step.token)


def overlap(step: Step) -> Ratios:
    """Returns min(p, q)."""
    return minimum(step.p, step.q).reduced()


def second_chance(step: Step) -> Ratios:
    """Returns min(p, q) plus what the first rejection adds to it: the mass of accepted tokens."""
    twice = residual(step).total().column()
    return (overlap(step) + overlap(step) * twice).reduced()


def last_tried(step: Step) -> Ratios:
    """Returns the law of the token that is accepted, or rejected for the second time."""
    rejected = residual(step).total().column() * (step.q - step.p).positive()
    return (second_chance(step) + rejected).reduced()


def last_tried_rows(rounds: Rounds) -> RowSequence:
    """Returns the laws of the tokens that the second test leaves in the draft block."""
    return [last_tried(step) for step in rounds.steps]


def second_test(step: Step) -> Ratios:
    """Returns the probability that the token left in the draft block was accepted."""
    return clipped_ratio(second_chance(step).at(step.token), last_tried(step).at(step.token))


def accepted_rows(rounds: Rounds) -> RowSequence:
    """Returns the laws of the first accepted tokens: min(p, q), normalised."""
    return [overlap(step).normalised() for step in rounds.steps]


ENTRIES = (
    Rule(
        id="match-with-fresh-draw",
        family="fault",
        meaning="draws y from p, keeps x if y = x, and draws from p once more if not",
        formula="p q + (1 - sum p q) p",
        happens="a sampler-match rule that does not emit the draw it compared",
        law=Chain(accept=target_prob, fallback=target),
        code="R02",
    ),
    Rule(
        id="coin-reused-in-fallback",
        family="fault",
        meaning="inverts the running sum of the residual with the coin of the failed test",
        formula="m + R r seen through coins above p(x)/q(x) only",
        happens="one uniform per position serves both draws",
        law=Chain(fallback=beyond_the_coin, causal=False),
        code="R03",
    ),
    Rule(
        id="drafting-coin-reused",
        family="fault",
        meaning="tests x with the uniform that drew x from the running sum of q",
        formula="of x's interval in the running sum of q the part below p/q, + (1 - S) r",
        happens="drafter and verifier start from the same seed",
        law=Chain(accept=drafting_coin_below),
        code="R04",
    ),
    Rule(
        id="drafting-noise-reused",
        family="fault",
        meaning="draws the recovered token with the exponential noise that drew x",
        formula="m + R law of argmin E/r given argmin E/q = x",
        happens="noise keyed by seed and position without a key for its use",
        law=Chain(fallback=noise_of_the_draft, causal=False),
        reports=("vllm #47386", "vllm #54282"),
        code="R05",
    ),
    Rule(
        id="second-try",
        family="fault",
        meaning="after a rejection tests one more token from q before it takes the residual",
        formula="m + R m + R^2 r = m + R p",
        happens="a retry loop around the draft that does not update the residual",
        law=Chain(accept=second_test, drafts=last_tried_rows, causal=False),
        code="R06",
    ),
    Rule(
        id="redrawn-until-accepted",
        family="fault",
        meaning="draws from q again until a token is accepted, without a residual",
        formula="m / A",
        happens="rejection sampling of the textbook, for a q that does not cover p",
        law=Chain(accept=always, drafts=accepted_rows, causal=False),
        code="R07",
    ),
    Rule(
        id="shared-coin",
        family="fault",
        meaning="compares every position of a round with the same random number",
        formula="p for the first token; n tokens pass with the smallest of their n ratios",
        happens="one uniform is drawn per row instead of one per position",
        law=Chain(reach=one_coin, causal=False),
        gate=True,
        code="R08",
    ),
)
