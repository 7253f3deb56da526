"""`run --method`: sampled rounds, the law of the code, or both, which must agree."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest
import steered_samplers
import torch
from steered_samplers import CORRECT, by_system_random

from audit.cli import execute
from audit.errors import UsageError
from audit.laws import running
from audit.record import Record
from audit.recordfile import read_record
from audit.render.html import page
from audit.render.markdown import markdown
from audit.render.text import audit_text
from audit.run import Settings, run_audit
from audit.steered import NotSteered, SteeredEvidence
from audit.steering import steer
from audit.verdict import Outcome

CASES = ["article-three-tokens"]


@pytest.fixture(autouse=True)
def _short_pilots(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keeps pilots short: what they find is a matter of the tests of steering."""
    monkeypatch.setattr(steer, "PILOT", dict.fromkeys(steer.PILOT, 2_000))


def run(sampler: Any, method: str, **more: Any) -> Record:
    """Returns the record of a smoke run of the article's case."""
    settings = Settings(tier="smoke", method=method, **more)
    return run_audit(sampler, cases=CASES, settings=settings).record


def evidence(record: Record) -> SteeredEvidence:
    """Returns what steering shows of the only case."""
    found = record.cases[0].steered
    assert isinstance(found, SteeredEvidence)
    return found


def steered_now() -> bool:
    """Whether somebody watches the operations of torch."""
    return torch._C._len_torch_function_stack() > 0


def honest_when_steered(batch: Any, generator: torch.Generator) -> torch.Tensor:
    tokens = CORRECT(batch, generator)
    return tokens if steered_now() else tokens.clamp(max=1)


def wrong_when_steered(batch: Any, generator: torch.Generator) -> torch.Tensor:
    tokens = CORRECT(batch, generator)
    return tokens.clamp(max=1) if steered_now() else tokens


def test_both_agree_on_a_correct_rule() -> None:
    record = run("rule:ratio", "both")
    assert record.verdict.outcome is Outcome.PASS
    assert "confidence 0.999 " in record.verdict.sentence
    found = evidence(record)
    assert found.agreement is not None
    assert found.agreement.agrees
    assert found.agreement.trials == record.cases[0].evidence.trials  # type: ignore[union-attr]
    assert record.cases[0].certified == found.bound
    assert "read off the code: TV <= " in record.cases[0].verdict.sentence


def test_after_a_call_that_does_not_end_no_further_law_is_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(running, "CASE_SECONDS", 0.5)
    monkeypatch.setattr(running, "HANGS", 0.5)
    (tmp_path / "mine.py").write_text("import time\ndef sleeps(*a): time.sleep(1000)\n")
    settings = Settings(tier="smoke", method="both", timeout=1.0)
    spec, cases = f"{tmp_path}/mine.py:sleeps", ["basis-1", "mirrored-two"]
    record = run_audit(spec, cases=cases, settings=settings).record
    assert record.verdict.outcome is Outcome.ERROR
    first, second = (case.steered for case in record.cases)
    assert first == NotSteered("no law was found within 1 s")
    assert second == NotSteered("a call did not end while the law of basis-1 was read")


def test_sampled_rounds_alone_have_the_whole_budget_and_no_law() -> None:
    record = run("rule:ratio", "sampled")
    assert record.cases[0].steered is None
    assert "coarse-coin" in (record.not_excluded or ())
    bars = [
        case.evidence.gate.log_threshold  # type: ignore[union-attr]
        for case in (*record.cases, *run("rule:ratio", "both").cases)
    ]
    assert bars[0] < bars[1]


def test_the_law_excludes_what_sampled_rounds_do_not() -> None:
    assert "coarse-coin" not in (run("rule:ratio", "both", epsilon=0.01).not_excluded or ())


def seeded_the_same(batch: Any, generator: torch.Generator) -> torch.Tensor:
    return CORRECT(batch, torch.Generator().manual_seed(42))


def test_a_sampler_that_seeds_itself_is_dependent_whatever_its_law() -> None:
    for method in ("sampled", "both"):
        record = run(seeded_the_same, method)
        assert record.verdict.outcome is Outcome.DEPENDENT
        assert record.exit_code == 1


def test_the_law_alone_makes_no_rounds() -> None:
    record = run("rule:ratio", "steered")
    assert record.verdict.outcome is Outcome.PASS
    assert record.cases[0].evidence is None
    assert record.cases[0].counts == {}
    assert evidence(record).agreement is None


def test_the_law_fails_a_bias_below_the_reach_of_sampling() -> None:
    # coarse-coin is .025 off on the article's case: a smoke run certifies it, the law proves it.
    assert run("fault:coarse-coin", "sampled").verdict.outcome is Outcome.PASS
    record = run("fault:coarse-coin", "both")
    assert record.verdict.outcome is Outcome.WITHIN
    assert record.exit_code == 1
    assert run("fault:coarse-coin", "steered", accept_within=0.06).exit_code == 0


def test_a_control_is_read_off_as_well() -> None:
    settings = Settings(tier="smoke", method="steered")
    record = run_audit(
        "rule:ratio", cases=CASES, control="full-target-fallback", settings=settings
    ).record
    assert record.exit_code == 0
    assert record.control is not None
    assert record.control.verdict.outcome is Outcome.FAIL


@pytest.mark.parametrize(
    ("sampler", "right"), [(honest_when_steered, True), (wrong_when_steered, False)]
)
def test_code_that_behaves_otherwise_when_steered_is_found(sampler: Any, *, right: bool) -> None:
    record = run(sampler, "both")
    assert (evidence(record).map < 1e-6) is right
    assert record.verdict.outcome is Outcome.FAIL
    reasons = record.cases[0].verdict.reasons
    assert any("behaves differently when steered" in reason for reason in reasons)


def test_hidden_entropy_falls_back_to_sampled_rounds() -> None:
    record = run(by_system_random, "both")
    found = record.cases[0].steered
    assert isinstance(found, NotSteered)
    assert record.cases[0].evidence is not None
    assert record.verdict.outcome in (Outcome.PASS, Outcome.FAIL, Outcome.DEPENDENT)


def test_laws_are_not_read_after_the_time_limit() -> None:
    record = run("rule:ratio", "steered", time_limit=1e-6)
    assert record.verdict.outcome is Outcome.INCONCLUSIVE
    assert "time limit" in record.cases[0].verdict.sentence


@pytest.mark.heavy
@pytest.mark.skipif(not os.environ.get("CI"), reason="starts three processes")
def test_a_users_file_is_sampled_in_a_worker_and_read_apart(tmp_path: Path) -> None:
    helpers = str(Path(steered_samplers.__file__).parent)
    text = f"import sys\nsys.path.insert(0, {helpers!r})\nfrom steered_samplers import CORRECT\n"
    (tmp_path / "mine.py").write_text(text)
    spec = f"{tmp_path / 'mine.py'}:CORRECT"
    record = run(spec, "both")
    assert record.verdict.outcome is Outcome.PASS
    assert evidence(record).agreement is not None
    elsewhere = run(spec, "both", python=sys.executable).cases[0].steered
    assert isinstance(elsewhere, NotSteered)
    assert "another Python" in elsewhere.reason


def test_the_record_is_read_again_and_every_form_says_it(tmp_path: Path) -> None:
    path = tmp_path / "record.json"
    arguments = ["run", "rule:ratio", "--cases", *CASES, "--tier", "smoke", "--method", "both"]
    assert execute([*arguments, "--json", str(path)]) == 0
    record = read_record(path)
    statement = "(map) + "
    assert statement in audit_text(record, color=False, width=110)
    assert statement in markdown(record)
    text = page(record)
    assert statement in text
    assert "Read off the code" in text
    (tmp_path / "page.html").write_text(text)
    assert read_record(tmp_path / "page.html") == record


def test_records_of_before_are_readable(tmp_path: Path) -> None:
    record = run("rule:ratio", "sampled")
    data = json.loads(record.model_dump_json())
    del data["settings"]["method"]
    for case in data["cases"]:
        del case["steered"]
    (tmp_path / "old.json").write_text(json.dumps(data))
    assert read_record(tmp_path / "old.json") == record


@pytest.mark.parametrize("wrong", [{"samples": 100}, {"limit": 100}])
def test_settings_of_rounds_are_refused_without_rounds(wrong: dict[str, int]) -> None:
    with pytest.raises(UsageError, match="sampled rounds"):
        run("rule:ratio", "steered", **wrong)


def test_an_unknown_method_is_refused() -> None:
    with pytest.raises(UsageError, match="method"):
        run("rule:ratio", "guessed")
