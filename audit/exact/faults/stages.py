"""Rows of unlike processing: drafting, test, residual and bonus do not read the same laws."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from audit.exact.chain import Chain
from audit.exact.rowwise import (
    bonus_as,
    both_as,
    draft_as,
    most_probable,
    rounded_to,
    target_as,
    tempered,
    top,
    without_last_ids,
)
from audit.exact.rule import Parameter, RoundLaw, Rule


def draft_tempered(temperature: Fraction) -> Chain:
    """Returns the rule that reads the draft row at another temperature."""
    return Chain(tested=draft_as(tempered(temperature)), drawn=draft_as(tempered(temperature)))


def draft_cut(k: Fraction) -> Chain:
    """Returns the rule that reads the draft row cut to its k most probable tokens."""
    return Chain(tested=draft_as(top(k)), drawn=draft_as(top(k)))


def drafted_from_top(k: Fraction) -> Chain:
    """Returns the rule whose tokens are drafted from the k most probable ones of the record."""
    return Chain(drafts=lambda rounds: [top(k)(row) for row in rounds.draft], causal=False)


def target_tempered(temperature: Fraction) -> Chain:
    """Returns the rule that reads every target row at another temperature."""
    change = tempered(temperature)
    return Chain(tested=target_as(change), drawn=target_as(change), bonus=bonus_as(change))


def target_cut(count: Fraction) -> Chain:
    """Returns the rule that cuts the last ids off every target row but the bonus row."""
    change = without_last_ids(count)
    return Chain(tested=target_as(change), drawn=target_as(change))


def rounded(step: Fraction) -> Chain:
    """Returns the rule that reads both rows in multiples of `step`."""
    return Chain(tested=both_as(rounded_to(step)), drawn=both_as(rounded_to(step)))


def temperature(name: str, law: Callable[[Fraction], RoundLaw]) -> Parameter:
    """Returns a wrong temperature as a constant."""
    return Parameter(name, Fraction(1, 2), Fraction(1, 8), Fraction(4), law)


def count(name: str, listed: int, law: Callable[[Fraction], RoundLaw]) -> Parameter:
    """Returns a number of tokens as a constant."""
    return Parameter(name, Fraction(listed), Fraction(1), Fraction(64), law, whole=True)


DRAFT_TEMPERATURE = temperature("draft temperature", draft_tempered)
DRAFTED_FROM = count("draft top-k, not recorded", 2, drafted_from_top)
RECORDED = count("draft top-k, only recorded", 2, draft_cut)
TESTED_TOP_K = count("target top-k, in the test", 2, lambda k: Chain(tested=target_as(top(k))))
DRAWN_TOP_K = count("target top-k, in the residual", 2, lambda k: Chain(drawn=target_as(top(k))))
TESTED_TEMPERATURE = temperature(
    "target temperature, in the test", lambda t: Chain(tested=target_as(tempered(t)))
)
DRAWN_TEMPERATURE = temperature(
    "target temperature, in the residual", lambda t: Chain(drawn=target_as(tempered(t)))
)
TARGET_TEMPERATURE = temperature("target temperature", target_tempered)
BONUS_TEMPERATURE = temperature("bonus temperature", lambda t: Chain(bonus=bonus_as(tempered(t))))
IDS_CUT = count("ids cut off", 1, target_cut)
ROUNDING = Parameter("rounding step", Fraction(1, 8), Fraction(1, 2**24), Fraction(1), law=rounded)

ENTRIES = (
    Rule(
        id="argmax-draft",
        family="fault",
        meaning="drafts the draft model's most probable token, but tests it with p/q",
        formula="min(1, p/q) at argmax q, + (1 - S) r",
        happens="the drafter is greedy and hands over the soft rows it did not sample",
        law=Chain(drafts=lambda rounds: [most_probable(row) for row in rounds.draft], causal=False),
        reports=(
            "jaymody/speculative-sampling #3",
            "apple/ml-recurrent-drafter #6",
            "transformers #32867",
            "antirez/ds4 #482",
        ),
        code="S01",
    ),
    Rule(
        id="draft-temperature-mismatch",
        family="fault",
        meaning="drafts from q, but tests and recovers with q at half its temperature",
        formula="q min(1, p/q2) + (1 - S) max(p - q2, 0), normalised, with q2 = q^2 / sum q^2",
        happens="the draft row is processed again, or in another precision, before verification",
        law=DRAFT_TEMPERATURE.listed,
        reports=("DeepSpec #31",),
        code="S02",
        parameter=DRAFT_TEMPERATURE,
    ),
    Rule(
        id="draft-top-2-not-recorded",
        family="fault",
        meaning="drafts from the two most probable tokens of q, but hands over the whole row",
        formula="qt min(1, p/q) + (1 - S) r with qt the top 2 of q",
        happens="the drafter applies its top-k after it has stored its row",
        law=DRAFTED_FROM.listed,
        reports=("transformers #47932", "transformers #47961"),
        code="S03",
        parameter=DRAFTED_FROM,
    ),
    Rule(
        id="draft-top-2-only-recorded",
        family="fault",
        meaning="drafts from q, but tests and recovers with its two most probable tokens",
        formula="q min(1, p/qt) + (1 - S) max(p - qt, 0), normalised, with qt the top 2 of q",
        happens="the verifier applies a top-k to the draft row that the drafter did not",
        law=RECORDED.listed,
        code="S04",
        parameter=RECORDED,
    ),
    Rule(
        id="target-top-2-in-test",
        family="fault",
        meaning="applies a top-2 to the target row in the test alone",
        formula="q min(1, pt/q) + (1 - S) r with pt the top 2 of p",
        happens="processors run before the test and the residual reads the raw row",
        law=TESTED_TOP_K.listed,
        code="S05",
        parameter=TESTED_TOP_K,
    ),
    Rule(
        id="target-top-2-in-residual",
        family="fault",
        meaning="applies a top-2 to the target row in the residual alone",
        formula="m + R max(pt - q, 0), normalised, with pt the top 2 of p",
        happens="the sampler behind the fallback brings its own processors",
        law=DRAWN_TOP_K.listed,
        code="S06",
        parameter=DRAWN_TOP_K,
    ),
    Rule(
        id="target-temperature-in-test",
        family="fault",
        meaning="halves the target's temperature in the test alone",
        formula="q min(1, p2/q) + (1 - S) r with p2 = p^2 / sum p^2",
        happens="temperature is applied before the test and the residual reads the raw row",
        law=TESTED_TEMPERATURE.listed,
        reports=("vllm #10198",),
        code="S07",
        parameter=TESTED_TEMPERATURE,
    ),
    Rule(
        id="target-temperature-in-residual",
        family="fault",
        meaning="halves the target's temperature in the residual alone",
        formula="m + R max(p2 - q, 0), normalised, with p2 = p^2 / sum p^2",
        happens="the sampler behind the fallback applies temperature once more",
        law=DRAWN_TEMPERATURE.listed,
        code="S08",
        parameter=DRAWN_TEMPERATURE,
    ),
    Rule(
        id="target-temperature-wrong",
        family="fault",
        meaning="verifies everything against the target at half its temperature",
        formula="p2 = p^2 / sum p^2",
        happens="temperature is applied twice, or probabilities are taken for logits",
        law=TARGET_TEMPERATURE.listed,
        reports=("vllm-ascend #6685",),
        code="S09",
        parameter=TARGET_TEMPERATURE,
    ),
    Rule(
        id="bonus-temperature-wrong",
        family="fault",
        meaning="draws the bonus token from the target row at half its temperature",
        formula="m + R r = p, but p^2 / sum p^2 for the bonus",
        happens="the bonus token comes from another sampler, which processes rows differently",
        law=BONUS_TEMPERATURE.listed,
        code="S10",
        parameter=BONUS_TEMPERATURE,
    ),
    Rule(
        id="target-cut-to-draft-vocabulary",
        family="fault",
        meaning="cuts the last id off the target row, for the bonus token excepted",
        formula="p without the last id, normalised, but p for the bonus",
        happens="the draft's vocabulary is shorter and the target row is cut to its width",
        law=IDS_CUT.listed,
        code="S11",
        parameter=IDS_CUT,
    ),
    Rule(
        id="rounded-rows",
        family="fault",
        meaning="rounds p and q to eighths before the test and the residual",
        formula="q min(1, ph/qh) + (1 - S) max(ph - qh, 0), normalised",
        happens="rows of low precision",
        law=ROUNDING.listed,
        code="S12",
        parameter=ROUNDING,
    ),
)
