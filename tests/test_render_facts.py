"""The evidence of a case in words: acceptance beside the rule and the best, in old records too."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import sample_record as sample

from audit.record import CaseResult, Record
from audit.recordfile import read_record, to_json
from audit.render.facts import case_facts
from audit.render.html import page
from audit.render.words import NO_EVIDENCE

NEW = ("rules", "source", "best_known_by", "tokens")


def fact(case: CaseResult, term: str) -> str:
    """Returns what is said under a term."""
    return dict(case_facts(case))[term]


def test_acceptance_stands_beside_the_rule_and_the_best() -> None:
    case = sample.good()
    assert fact(case, "Acceptance") == (
        "0.7000 (0.6900 to 0.7100); by the observed rule ratio 0.7000; best possible 0.7000 "
        "(closed form); no evidence of correctness"
    )
    assert fact(case, "Accepted a round") == (
        "0.7000 (0.6900 to 0.7100); by the observed rule ratio 0.7000; best possible 0.7200 "
        "(closed form)"
    )
    assert NO_EVIDENCE in page(sample.record())


def test_what_holds_of_the_token_and_of_the_round_is_said_once() -> None:
    case = sample.good()
    assert case.evidence is not None
    assert case.evidence.acceptance.tokens is not None
    tokens = replace(case.evidence.acceptance.tokens, best=0.7, best_lower=0.7)
    acceptance = replace(case.evidence.acceptance, tokens=tokens)
    same = case.model_copy(update={"evidence": replace(case.evidence, acceptance=acceptance)})
    assert "Accepted a round" not in dict(case_facts(same))


def test_a_best_that_is_only_bounded_is_said_to_be() -> None:
    case = sample.good()
    assert case.evidence is not None
    assert case.evidence.acceptance.tokens is not None
    tokens = replace(case.evidence.acceptance.tokens, best_lower=0.71, expected=None)
    acceptance = replace(case.evidence.acceptance, tokens=tokens)
    evidence = replace(case.evidence, acceptance=acceptance)
    assert fact(case.model_copy(update={"evidence": evidence}), "Accepted a round") == (
        "0.7000 (0.6900 to 0.7100); best possible 0.7200 (closed form), at least 0.7100"
    )


def without_new_keys(record: Record) -> str:
    """Returns the JSON of a record as it was before acceptance was compared with the best."""
    data = json.loads(to_json(record))
    for case in (*data["cases"], *data["control"]["cases"]):
        for key in NEW:
            del case["evidence"]["acceptance"][key]
    return json.dumps(data)


def test_an_old_record_is_read_and_shown(tmp_path: Path) -> None:
    (tmp_path / "old.json").write_text(without_new_keys(sample.record()))
    old = read_record(tmp_path / "old.json")
    (case, *_) = old.cases
    assert fact(case, "Emitted a round") == "1.7000"
    assert "by the rule 0.7000; best possible 0.7000;" in fact(case, "Acceptance")
    assert "Emitted a round" in page(old)


def test_the_short_form_is_read_back_whole(tmp_path: Path) -> None:
    short = to_json(sample.record(), indent=None)
    assert len(short) < len(json.dumps(json.loads(to_json(sample.record())))) * 0.95
    (tmp_path / "short.json").write_text(short)
    assert read_record(tmp_path / "short.json") == sample.record()
