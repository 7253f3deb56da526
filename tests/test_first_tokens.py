"""What is shown of a large vocabulary's first token: counts, laws, and no part in a verdict."""

from dataclasses import replace
from fractions import Fraction

import pytest

from audit.evidence import REST
from audit.judgement.first_tokens import head
from audit.judgement.prepare import CaseSetup
from audit.run import Settings, run_audit
from audit.selection import select_cases
from tests.simulation import campaign_of
from tests.worlds import article

FALLBACK = {"full-target-fallback": 0.5}
SMALL = Settings(tier="smoke", epsilon=0.02)


def zipf():
    (case,) = select_cases(["zipf-1000"])
    return case


def shown(sampler, case, **options):
    (monitor,) = campaign_of(sampler, [case], **options).monitors
    return head(monitor, FALLBACK)


def test_the_likeliest_tokens_and_the_rest_are_counted():
    # Limits that all hold together are missed by a right sampler once in a thousand seeds; the
    # seed is fixed, and the fault that must leave them is the control.
    case = zipf()
    found = shown("reference", case, cap=20_000)
    target = case.target[()]
    assert len(found.tokens) == 21
    assert found.tokens[-1] == REST
    assert found.expected[:-1] == pytest.approx([float(target[t]) for t in found.tokens[:-1]])
    assert sum(found.expected) == pytest.approx(1)
    assert list(found.expected[:-1]) == sorted(found.expected[:-1], reverse=True)
    assert outside(found) == 0
    assert outside(shown("fault:draft-fallback", case, cap=20_000, fixed=True)) > 0


def outside(found):
    rows = zip(found.low, found.expected, found.high, strict=True)
    return sum(not low <= law <= high for low, law, high in rows)


def test_a_fault_is_predicted_by_its_law_on_single_tokens():
    # half of the rounds draw from the whole target after a rejection: p/2 + (min(p, q) + R p)/2
    case = zipf()
    found = shown("reference", case, cap=2_000)
    p, q = list(case.target[()]), list(case.draft[()])
    kept = [min(pair) for pair in zip(p, q, strict=True)]
    rejected = 1 - sum(kept, Fraction(0))
    law = [(a + m + rejected * a) / 2 for a, m in zip(p, kept, strict=True)]
    wanted = [float(law[token]) for token in found.tokens[:-1]]
    assert found.predictions["full-target-fallback"] == pytest.approx([*wanted, 1 - sum(wanted)])


def test_few_ids_are_shown_without_a_rest():
    found = shown("reference", replace(article(1), large=True), cap=2_000)
    assert found.tokens == (1, 2, 0)  # p = .2 .5 .3
    assert found.expected == pytest.approx((0.5, 0.3, 0.2))
    assert sum(found.observed) == 2_000


def test_a_small_case_has_no_head():
    assert shown("reference", article(1), cap=500) is None


@pytest.mark.parametrize("sampler", ["reference", "fault:full-target-fallback"])
def test_nothing_is_judged_by_what_is_only_shown(sampler, monkeypatch):
    def judged():
        (monitor,) = campaign_of(sampler, [zipf()], cap=5_000, seed=77).monitors
        seen = monitor.preservation
        return monitor.verdict(), monitor.certified, seen.log_e, seen.impossible(), monitor.trials

    with monkeypatch.context() as without:
        without.setattr(CaseSetup, "shown", ())
        before = judged()
    assert judged() == before


def test_an_extended_run_adds_them_up(tmp_path):
    def observed(settings, **options):
        record = run_audit("reference", cases=["zipf-1000"], settings=settings, **options).record
        return record.cases[0].evidence.head.observed

    first = observed(SMALL, run_dir=tmp_path)
    larger = replace(SMALL, tier="ci")
    again = observed(larger, run_dir=tmp_path)
    assert sum(again) > sum(first) == 20_000
    assert all(after >= before for before, after in zip(first, again, strict=True))
    assert observed(larger, run_dir=tmp_path) == again == observed(larger)
