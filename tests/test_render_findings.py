"""What failed, under which rule, and where: the part that all machine-readable reports share."""

from __future__ import annotations

import golden_reports
import pytest
import sample_record as sample

from audit.expectation import expected
from audit.record import Record
from audit.render.findings import (
    EXPECTATION_RULE,
    Place,
    again,
    explained,
    findings,
    judged,
    not_passed,
    place_of,
)
from audit.verdict import INTERRUPTED, Outcome, Verdict


def placed(source: str, *, name: str = "m:verify", case_source: str = "") -> Place:
    """Returns the place of a failed case of a sampler with this source."""
    case = sample.bad().model_copy(update={"source": case_source})
    audit = sample.audit(name, case)
    sampler = audit.sampler.model_copy(update={"source": source})
    record = sample.record(audit.model_copy(update={"sampler": sampler}))
    return place_of(judged(record)[0], record)


def test_every_case_is_judged_once_in_the_order_of_the_run() -> None:
    record = golden_reports.every_outcome()
    assert [one.name for one in judged(record)] == [case.id for case in record.cases]
    assert [one.kind for one in judged(record)] == [
        "passed", "failed", "failed", "failed", "open", "open", "error",
    ]  # fmt: skip


def test_the_worst_comes_first_and_what_passed_is_left_out() -> None:
    names = [one.name for one in not_passed(golden_reports.every_outcome())]
    assert names == [
        "broken", "article-three-tokens", "dependent", "within", "undecided", "limited",
    ]  # fmt: skip


def test_what_is_undecided_is_no_finding() -> None:
    rules = [finding.rule for finding in findings(golden_reports.every_outcome())]
    assert rules == ["audit-error", "full-target-fallback", "audit-dependent", "audit-within"]


@pytest.mark.parametrize(
    ("change", "name", "kind"),
    [
        ({"verdict": Verdict(Outcome.FAIL, "together")}, "all cases together", "failed"),
        ({"verdict": Verdict(Outcome.NOT_TESTABLE, "blind")}, "all cases together", "open"),
        ({"exit_code": INTERRUPTED}, "the whole run", "open"),
        ({"control": sample.audit("fault:always-accept", sample.good())}, "control", "open"),
    ],
)
def test_what_no_case_shows_is_judged_too(change: dict[str, object], name: str, kind: str) -> None:
    *cases, last = judged(sample.record(**change))
    assert [one.kind for one in cases] == ["passed", "passed"]
    assert (last.name, last.kind, last.case) == (name, kind, None)


@pytest.mark.parametrize(
    ("accepted", "kind"), [(None, "failed"), (0.01, "failed"), (0.1, "passed")]
)
def test_a_bias_that_was_accepted_beforehand_has_passed(accepted: float | None, kind: str) -> None:
    found = sample.evidence(sample.FULL_TARGET, log_e=181.0)  # certified at about 0.075
    settings = sample.record().settings.model_copy(update={"accept_within": accepted})
    case = sample.case_result("within", Outcome.WITHIN, found)
    record = sample.record(sample.audit("s", case), settings=settings)
    assert [one.kind for one in judged(record)] == [kind]


def test_the_place_is_the_code_then_the_file_then_the_case() -> None:
    assert placed("a/b.py:12", name="x.py:verify") == ("a/b.py", 12)
    assert placed("", name="./x/y.py:verify", case_source="c/z.toml") == ("x/y.py", 1)
    assert placed("", case_source="c/z.toml") == ("c/z.toml", 1)
    assert placed("") == ("cases/article-three-tokens.toml", 1)


@pytest.mark.parametrize(
    "source",
    ["/abs.py:1", "../up.py:1", "a/../b.py:1", "a//b.py:1", "C:\\x.py:1", "a\nb.py:1", "a.py:x",
     "a:b:1", "x" * 500, ":3", "./a.py:1", "a\u202e.py:1"],
)  # fmt: skip
def test_a_path_that_is_none_in_a_repository_is_no_place(source: str) -> None:
    assert placed(source) == ("cases/article-three-tokens.toml", 1)


def test_a_hostile_id_makes_a_harmless_path() -> None:
    for name in golden_reports.HOSTILE_NAMES:
        record = sample.record(sample.audit("m:verify", sample.bad(name)))
        path, line = place_of(judged(record)[0], record)
        assert path.startswith("cases/")
        assert path.count("/") == 1
        assert path.isascii()
        assert (".." in path, line, len(path) < 120) == (False, 1, True)


def test_a_record_without_cases_has_a_place() -> None:
    record: Record = sample.record().model_copy(
        update={"cases": (), "verdict": Verdict(Outcome.FAIL, "nothing ran")}
    )
    assert [finding.place for finding in findings(record)] == [("cases/none.toml", 1)]


def fingerprints(record: Record) -> list[str]:
    return [finding.fingerprint for finding in findings(record)]


def test_a_fingerprint_depends_on_rule_case_and_sampler_and_on_nothing_else() -> None:
    before = sample.record(sample.audit("s", sample.bad("a"), sample.bad("b")))
    sampler = before.sampler.model_copy(update={"source": "moved.py:99"})
    moved = before.model_copy(update={"sampler": sampler, "started": "later", "seconds": 1.0})
    assert fingerprints(moved) == fingerprints(before)
    assert len(set(fingerprints(before))) == 2
    renamed = before.model_copy(update={"sampler": before.sampler.model_copy(update={"name": "t"})})
    assert not set(fingerprints(renamed)) & set(fingerprints(before))
    other_rule = sample.record(sample.audit("s", golden_reports.failed()))
    assert not set(fingerprints(other_rule)) & set(fingerprints(before))


def test_fingerprints_of_hostile_names_are_unique() -> None:
    found = fingerprints(golden_reports.hostile(cases=100))
    assert len(set(found)) == len(found) > 60


def test_a_failure_names_its_token_and_its_suspects() -> None:
    record = sample.record(sample.audit("s", golden_reports.failed()))
    assert explained(judged(record)[0]) == (
        "the emitted tokens do not follow the target; first token 0: 26.0% instead of 20.0%; "
        "consistent with full-target-fallback, siblings-full-target-fallback."
    )


def known_defect(expect: str) -> Record:
    """Returns the record of a sampler of which a defect is known: it fails, beside a pass."""
    audit = sample.audit("m:verify", golden_reports.failed(), sample.good())
    return expected(sample.record(audit, exit_code=1, control=None), expect)


def test_a_known_defect_is_no_finding_where_it_fails_as_it_should() -> None:
    record = known_defect("fail:full-target-fallback")
    assert [one.kind for one in judged(record)] == ["expected", "passed"]
    assert not_passed(record) == findings(record) == []


def test_a_known_defect_that_is_gone_or_another_one_is_a_finding() -> None:
    record = known_defect("fail:bonus-from-draft")
    assert [one.kind for one in judged(record)] == ["failed", "passed", "failed"]
    assert findings(record)[-1].rule == EXPECTATION_RULE
    gone = expected(sample.record(control=None), "fail")
    (only,) = findings(gone)
    assert only.judged.verdict.sentence.endswith("but it is PASS; mend the expectation")


def test_a_command_says_whether_it_is_of_a_case_alone_or_of_the_run() -> None:
    together = Verdict(Outcome.FAIL, "together")
    record = sample.record(verdict=together, command="draftproof run transformers")
    case, *_, whole = judged(record)
    assert again(case, record).startswith("Audit this case alone: draftproof run transformers --")
    assert again(whole, record) == "Repeat the run: draftproof run transformers"
    assert again(whole, record.model_copy(update={"command": ""})) == ""
