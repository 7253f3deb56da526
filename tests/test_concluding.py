"""From a campaign to what it showed."""

import pytest

from audit.concluding import audit_of
from audit.errors import SamplerError
from audit.samplers.interface import Facts, LoadedSampler
from audit.verdict import Outcome
from tests.simulation import campaign_of
from tests.worlds import article, prefix_dependent


def test_cases_keep_their_order_and_their_counts():
    made = campaign_of("reference", [article(2), prefix_dependent(2)], cap=1000)
    audit = audit_of(made, predict={"full-target-fallback": 1.0}, repeat="draftproof run reference")
    assert [case.id for case in audit.cases] == ["article", "g2"]
    for case in audit.cases:
        assert sum(case.counts.values()) == 1000
        assert case.repeat.startswith("draftproof run reference --cases ")
        assert set(case.evidence.deviation.predictions) == {"full-target-fallback"}


def test_an_error_before_any_count_has_no_evidence_but_a_traceback():
    def failing(batch, generator):
        raise RuntimeError("out of ideas")

    made = campaign_of(
        LoadedSampler("mine", failing, Facts(in_process=True)), [article(2)], cap=200
    )
    (case,) = audit_of(made).cases
    assert case.verdict.outcome is Outcome.ERROR
    assert "out of ideas" in case.verdict.sentence
    assert "Traceback" in case.detail
    assert case.evidence is None
    assert case.counts == {}


@pytest.mark.parametrize(("sampler", "blind"), [("reference", "shared-coin")])
def test_faults_that_a_case_cannot_see_are_listed(sampler, blind):
    made = campaign_of(sampler, [article(1)], cap=200)
    evidence = audit_of(made).cases[0].evidence
    assert blind in evidence.blind  # with one drafted token there is one coin
    assert "full-target-fallback" not in evidence.blind


def test_the_first_error_is_the_one_that_is_told():
    class Leaving:
        """Raises at its first call and is gone afterwards."""

        ended = False

        def __call__(self, batch, generator):
            Leaving.ended = True
            raise SamplerError("it did not answer within 5 s")

    sampler = LoadedSampler("mine", Leaving(), Facts(in_process=True))
    audit = audit_of(campaign_of(sampler, [article(2), prefix_dependent(2)], cap=200))
    assert audit.verdict.outcome is Outcome.ERROR
    assert "did not answer within 5 s" in audit.verdict.sentence
    outcomes = [case.verdict.outcome for case in audit.cases]
    assert sorted(outcomes) == [Outcome.ERROR, Outcome.INCONCLUSIVE]
