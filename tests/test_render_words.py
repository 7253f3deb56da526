"""Words, numbers and names as they are shown."""

from __future__ import annotations

import unicodedata
from dataclasses import replace

import sample_record as sample
from hypothesis import given
from hypothesis import strategies as st

from audit.exact.catalogue import HEADLINES
from audit.record import CaseResult
from audit.render import words
from audit.render.facts import case_facts
from audit.render.plain import clean
from audit.verdict import Outcome


@given(st.text(max_size=300), st.integers(2, 50))
def test_cleaned_text_is_short_and_has_no_invisible_character(text: str, limit: int) -> None:
    shown = clean(text, limit)
    assert len(shown) <= limit
    assert not any(unicodedata.category(c) in ("Cc", "Cf", "Cs", "Zl", "Zp") for c in shown)


def test_every_outcome_has_a_sign_of_its_own_and_a_tone() -> None:
    assert set(words.SIGNS) == set(Outcome)
    undecided = (Outcome.NO_VERDICT, Outcome.NOT_TESTABLE)
    signs = [words.SIGNS[outcome].sign for outcome in Outcome if outcome not in undecided]
    assert len(set(signs)) == len(signs)


@given(st.floats(-5_000, 5_000))
def test_an_e_value_is_shown_within_rounding(log_e: float) -> None:
    mantissa, _, exponent = words.e_value(log_e).partition("e")
    shown = 2.302585092994046 * int(exponent or 0) + float(unbound_log(mantissa))
    assert abs(shown - log_e) < 0.06


def unbound_log(mantissa: str) -> float:
    """Returns the natural logarithm of a decimal."""
    from math import log

    return log(float(mantissa))


def blind_to(*faults: str) -> CaseResult:
    """Returns a passed case that excludes everything but these faults."""
    found = replace(sample.evidence(sample.NEAR_TARGET, log_e=0.0), blind=faults)
    return sample.case_result("blind", Outcome.PASS, found)


def test_a_passed_run_says_what_it_does_not_exclude() -> None:
    sentence = words.not_excluded_sentence(sample.audit("s", sample.good()))
    assert sentence.endswith("on every case that passed: bonus-missing, lenience.")
    assert words.not_excluded_sentence(sample.audit("s", sample.bad(), sample.good())) == ""


def test_a_pass_without_rejections_says_nothing_of_the_fallback() -> None:
    for headline in HEADLINES:
        sentence = words.not_excluded_sentence(sample.audit("s", blind_to(headline)))
        assert sentence.endswith("A fallback to the whole target row would not show on blind.")
        facts = dict(case_facts(blind_to(headline)))
        assert facts["Faults not excluded here"].startswith(
            f"1: {headline}. A fallback to the whole target"
        )
    assert "fallback" not in words.not_excluded_sentence(sample.audit("s", blind_to("lenience")))


def test_the_worst_case_comes_first() -> None:
    cases = [sample.good("a"), sample.bad("b"), sample.case_result("c", Outcome.ERROR, None)]
    assert [case.id for case in words.worst_first(cases)] == ["c", "b", "a"]


def test_the_first_token_that_deviates_most_is_named() -> None:
    assert words.first_token(sample.good("fine").evidence) == ""
    found = sample.bad("off").evidence
    assert words.first_token(found).startswith("first token 0: 26.0% instead of 20.0%")
    bins = replace(found, deviation=replace(found.deviation, bins=True))
    assert words.first_token(bins).startswith("first token in ratio bin 0: 26.0%")
