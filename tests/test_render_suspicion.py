"""What a failure is consistent with, in words, in the terminal and on the page."""

from __future__ import annotations

import json
from dataclasses import replace

import sample_record as sample

from audit.diagnosis.results import Departure, Diagnosis, Estimate, Suspect
from audit.record import Record
from audit.recordfile import json_schema, to_json
from audit.render import suspicion
from audit.render.html import page
from audit.render.text import audit_text
from audit.verdict import Outcome, Verdict

FALLBACK = Suspect(("full-target-fallback",), "full-target-fallback", "draws from p", 0.97)
LENIENT = Suspect(
    ("lenience", "always-accept"),
    "lenience@3/10",
    "accepts too much",
    0.9,
    strength=Estimate(0.251, 0.2, 0.31),
    constant_name="lenience",
    constant=Estimate(0.302, 0.27, 0.333),
)
DEPARTURES = (
    Departure("article-three-tokens", "recovered", 1, 108, 609, 0.0, 0.0, token=0),
    Departure("article-three-tokens", "accept", 2, 95, 120, 60.0, 2e-9, token=2),
    Departure("article-three-tokens", "accept", 1, 5, 50, 20.0, 1e-4, token=1, calls=True),
    Departure("p-equals-q", "recovered", 1, 80, 300, 40.0, 3e-7, token=2),
)


def diagnosis(**changes: object) -> Diagnosis:
    """Returns the diagnosis of the article's case and another one."""
    found = Diagnosis(
        cases=("article-three-tokens", "p-equals-q"),
        trials=1200,
        suspects=(FALLBACK,),
        fits=(),
        unlisted=1e-9,
        fit=0.4,
        base="ratio",
        steps=("recovered", "accept"),
        departures=DEPARTURES,
    )
    return replace(found, **changes)


def failed(found: Diagnosis) -> Record:
    """Returns the record of a failed run with this diagnosis."""
    verdict = Verdict(Outcome.FAIL, "it failed.", suspects=found.ids)
    bad = sample.bad().model_copy(update={"verdict": verdict})
    audit = sample.audit("s", bad, sample.good()).model_copy(update={"verdict": verdict})
    return sample.record(audit, diagnoses=(found,))


def test_a_suspect_is_said_to_be_consistent_and_what_it_does() -> None:
    said = suspicion.conclusion(diagnosis())
    assert said == "Consistent with: full-target-fallback (draws from p)."


def test_strength_constant_and_aliases_are_said() -> None:
    assert suspicion.conclusion(diagnosis(suspects=(LENIENT,))) == (
        "Consistent with: lenience (accepts too much; lenience about 0.302 (0.27 to 0.333); in "
        "about 25.1 (20 to 31) % of the rounds), the same law here as always-accept."
    )


def test_padding_with_a_token_is_asked_about_beside_the_name() -> None:
    said = suspicion.conclusion(diagnosis(padded_with=0))
    assert said.startswith(
        "Consistent with: full-target-fallback (draws from p). Every row is full"
    )
    assert "stands 0 alone: is it padded with that? The contract asks for -1" in said
    assert said in " ".join(
        audit_text(failed(diagnosis(padded_with=0)), color=False, width=500).split()
    )


def test_several_suspects_are_listed_with_their_probabilities() -> None:
    one, other = replace(FALLBACK, posterior=0.814), replace(LENIENT, posterior=0.186)
    said = suspicion.conclusion(diagnosis(suspects=(one, other)))
    assert said.startswith(
        "Consistent with: full-target-fallback (draws from p), probability 81 %; or lenience ("
    )
    assert said.endswith("the same law here as always-accept, probability 19 %.")


def test_no_name_is_said_to_be_none() -> None:
    none = diagnosis(suspects=())
    assert suspicion.conclusion(none) == "No catalogued fault fits: unlisted."
    other = suspicion.conclusion(replace(none, fits=("ratio", "block")))
    assert other == (
        "No fault is named: these counts may also come from ratio or block, a correct rule."
    )
    declared = suspicion.conclusion(replace(none, fits=("lenience",)))
    assert declared.endswith("may also come from lenience, as declared.")


def test_the_terminal_names_the_suspect_and_the_worst_of_every_step() -> None:
    text = audit_text(failed(diagnosis()), color=False, width=200)
    assert "Consistent with: full-target-fallback (draws from p)." in text
    assert "Departs from ratio in: recovered token, accept test." in text
    lines = [line for line in text.splitlines() if "instead of" in line and ", p " in line]
    assert [line.strip() for line in lines] == [
        "article-three-tokens: recovered token 0 at position 1: 108 of 609 instead of 0, p <1e-300",
        "article-three-tokens: token 2 accepted at position 2: 95 of 120 instead of 60.0, "
        "p 2.0e-09",
        "article-three-tokens: token 1 accepted at position 1, calls that mix cases against other "
        "calls: 5 of 50 instead of 20.0, p 1.0e-04",
    ]


def test_a_sibling_counts_from_1_and_a_kept_token_needs_no_id() -> None:
    tree = Departure("t", "accept", 1, 1, 2, 1.5, 1e-5, token=3, sibling=0)
    assert suspicion.what(tree) == "token 3 accepted as sibling 1 at position 1"
    kept = Departure("t", "kept", 2, 1, 2, 0.0, 1e-5)
    assert suspicion.what(kept) == "kept token at position 2 is none of the drafted ones"
    assert suspicion.what(Departure("t", "length", 3, 1, 2, 0.0, 1e-5)) == "3 tokens emitted"


def test_a_run_without_a_failure_says_nothing() -> None:
    text = audit_text(sample.record(), color=False, width=200)
    assert "Consistent with" not in text
    assert "unlisted" not in text
    assert "diagnosis-heading" not in page(sample.record())


def test_the_page_names_the_suspect_and_shows_where_it_departs() -> None:
    html = page(failed(diagnosis()))
    assert html.count("Consistent with: full-target-fallback (draws from p).") == 1
    assert "<code>draftproof run fault:full-target-fallback</code>" in html
    assert 'href="#article-three-tokens"' in html
    assert "108 of 609" in html
    assert "calls that mix cases against other calls" in html


def test_a_hostile_case_id_stays_text() -> None:
    departures = (replace(DEPARTURES[0], case=sample.HOSTILE),)
    found = diagnosis(cases=(sample.HOSTILE,), departures=departures)
    html = page(failed(found))
    assert "<script>alert(1)" not in html
    assert "\x1b" not in audit_text(failed(found), color=False, width=200)


def test_a_diagnosis_is_part_of_the_record_and_an_older_record_has_none() -> None:
    record = failed(diagnosis(suspects=(LENIENT,)))
    assert Record.model_validate_json(to_json(record)) == record
    assert Record.model_validate_json(to_json(record, indent=None)) == record
    older = json.loads(to_json(record))
    del older["diagnoses"]
    assert Record.model_validate(older).diagnoses == ()
    assert "Diagnosis" in json_schema()["$defs"]
