"""The configuration at the command line: precedence, several samplers, expectations, baselines.

Correct samplers run at alpha = 1e-6 each; the faults are the negative controls.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from audit.cli import execute
from audit.cli.config import USUAL_METHOD
from audit.cli.output import Outputs
from audit.errors import UsageError
from audit.recordfile import read_record, to_json

ONE_CASE = 'cases = ["article-three-tokens"]\ntier = "smoke"\n'
CORRECT, BROKEN = "rule:ratio", "fault:bonus-from-draft"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Returns the current folder, an empty one."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def configure(folder: Path, *lines: str) -> None:
    """Writes a configuration of these lines."""
    (folder / "draftproof.toml").write_text("\n".join(lines) + "\n" + ONE_CASE)


def sources(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, list[str]]:
    """Returns the value and the source that `config show` prints, by key."""
    assert execute(["config", "show", *arguments]) == 0
    words = [line.split() for line in capsys.readouterr().out.splitlines()]
    return {line[0]: line[1:] for line in words}


def test_a_flag_wins_over_the_environment_the_file_and_the_default(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert sources(capsys)["seed"] == ["0", "default"]
    configure(folder, "seed = 1")
    file = "draftproof.toml"
    assert sources(capsys)["seed"] == ["1", file]
    monkeypatch.setenv("DRAFTPROOF_RUN_SEED", "2")
    assert sources(capsys)["seed"] == ["2", "DRAFTPROOF_RUN_SEED"]
    shown = sources(capsys, "--seed", "3")
    assert shown["seed"] == ["3", "--seed"]
    assert shown["tier"] == ["smoke", file]
    assert shown["alpha"] == ["1e-06", "default"]
    assert " ".join(shown["method"]) == f"{USUAL_METHOD} default"
    assert sources(capsys, "--method", "steered")["method"] == ["steered", "--method"]


def test_the_file_of_a_folder_above_is_read_with_its_paths(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    configure(folder, 'baseline_record = "old.json"')
    (folder / "below").mkdir()
    monkeypatch.chdir(folder / "below")
    assert sources(capsys)["baseline_record"] == ["../old.json", "../draftproof.toml"]


def test_another_file_or_none_can_be_named(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    configure(folder, "seed = 1")
    other = folder / "other.toml"
    other.write_text("seed = 5\n")
    assert sources(capsys, "--config", "other.toml")["seed"] == ["5", "other.toml"]
    assert sources(capsys, "--no-config")["seed"] == ["0", "default"]
    for arguments in (["--config", "other.toml", "--no-config"], ["--no-config", "--config", "x"]):
        assert execute(["config", "show", *arguments]) == 2
    monkeypatch.setenv("DRAFTPROOF_RUN_NO_CONFIG", "1")
    assert sources(capsys)["seed"] == ["0", "default"]


def test_a_broken_configuration_is_a_usage_error(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    configure(folder, "tire = 1", "seed = 'one'")
    assert execute(["run", CORRECT]) == 2
    said = capsys.readouterr().err
    assert 'tire is an unknown key; did you mean "tier"?' in said
    assert 'seed is "one", but must be an integer' in said
    limited = ["--cases", "basis-1", "--limit", "10", "-q"]
    assert execute(["run", CORRECT, "--no-config", *limited]) == 3


def test_without_a_sampler_there_is_nothing_to_run(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    configure(folder)
    assert execute(["run"]) == 2
    assert "no sampler is named" in capsys.readouterr().err


def test_every_sampler_is_judged_against_what_is_expected_of_it(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    known = f'{{ sampler = "{BROKEN}", expect = "fail:bonus-from-draft" }}'
    configure(folder, f'samplers = ["{CORRECT}", {known}]')
    assert execute(["run", "--json", "out.json", "--run-dir", "runs"]) == 0
    out = capsys.readouterr().out
    assert f"✓ PASS  {CORRECT}: " in out
    assert f"✗ FAIL  {BROKEN}: " in out
    assert "expected to fail as bonus-from-draft: so it does" in out
    assert out.endswith("\n2 samplers: 1 passed, 1 as expected.\n")
    record = read_record(folder / "out-fault-bonus-from-draft.json")
    assert (record.exit_code, record.expectation[:16]) == (0, "expected to fail")
    assert record.attempts[0].exit_code == 1
    assert read_record(folder / "out-rule-ratio.json").exit_code == 0
    assert {path.name for path in (folder / "runs").iterdir()} == {
        "fault-bonus-from-draft",
        "rule-ratio",
    }
    (case,) = record.cases
    assert case.repeat.startswith(f"draftproof run {BROKEN} --no-config --tier smoke")


def test_a_known_defect_that_is_gone_is_a_failure(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    configure(folder, f'samplers = [{{ sampler = "{CORRECT}", expect = "fail" }}]')
    assert execute(["run", "-q"]) == 1
    assert "expected to fail: but it is PASS; mend the expectation" in capsys.readouterr().out
    assert execute(["run", "-q", CORRECT]) == 0  # one that is named is not taken from the list


def test_the_worst_exit_code_counts_and_an_error_does_not_stop_the_others(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    configure(folder, f'samplers = ["rule:nothing", "{BROKEN}", "{CORRECT}"]')
    assert execute(["run", "-q"]) == 2
    out, err = capsys.readouterr()
    assert "rule:nothing" in err
    assert [line[:6] for line in out.splitlines()] == ["✗ FAIL", "✓ PASS"]


def test_the_last_line_counts_how_the_samplers_ended(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    gone = f'{{ sampler = "{CORRECT}", expect = "fail" }}'
    configure(folder, f'samplers = ["rule:nothing", "{BROKEN}", {gone}]')
    assert execute(["run"]) == 2
    said = "3 samplers: 1 not audited, 1 failed, 1 not as expected."
    assert capsys.readouterr().out.splitlines()[-1] == said
    execute(["run", "--exit-zero"])
    assert "3 samplers" not in capsys.readouterr().out


def test_an_interruption_ends_the_list(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "mine.py").write_text(
        "import signal\n\ndef stop(batch, generator):\n    signal.raise_signal(signal.SIGINT)\n"
    )
    configure(folder, f'samplers = ["mine.py:stop", "{CORRECT}"]', "in_process = true")
    assert execute(["run", "-q"]) == 130
    assert CORRECT not in capsys.readouterr().out


def test_cases_are_those_stated_else_the_samplers_own_else_the_general_ones(folder: Path) -> None:
    own = f'{{ sampler = "{CORRECT}", cases = ["basis-1"] }}'
    configure(folder, f'samplers = [{own}, "{CORRECT}"]')
    assert execute(["run", "-q", "--limit", "50", "--json", "a.json"]) == 3
    assert execute(["run", "-q", "--limit", "50", "--json", "b.json", "--cases", "basis-2"]) == 3
    found = {
        path.name: [case.id for case in read_record(path).cases] for path in folder.glob("?-*.json")
    }
    assert found == {
        "a-rule-ratio.json": ["basis-1"],
        "a-rule-ratio-2.json": ["article-three-tokens"],
        "b-rule-ratio.json": ["basis-2"],
        "b-rule-ratio-2.json": ["basis-2"],
    }


def test_stdout_holds_one_result(folder: Path) -> None:
    with pytest.raises(UsageError, match="stdout"):
        Outputs(json="-").beside("name")


def test_a_baseline_record_is_compared_with(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    configure(folder)
    assert execute(["run", CORRECT, "-q", "--json", "before.json"]) == 0
    configure(folder, 'baseline_record = "before.json"')
    code = execute(["run", BROKEN, "--json", "after.json", "--html", "page.html"])
    assert code == 1
    out = capsys.readouterr().out
    assert f"Since the record of {read_record(Path('before.json')).started}, which is of" in out
    assert "Newly failing: article-three-tokens" in out
    since = read_record(folder / "after.json").since
    assert since is not None
    assert since.newly_failing == ("article-three-tokens",)
    assert read_record(folder / "page.html").since == since
    assert ">Change since baseline</h2>" in Path("page.html").read_text()


def test_a_report_is_compared_again_and_a_missing_baseline_is_refused_beforehand(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    configure(folder)
    assert execute(["run", CORRECT, "--limit", "50", "-q", "--json", "r.json"]) == 3
    shown = ["report", "r.json", "--baseline-record", "r.json", "--markdown", "-"]
    assert execute(shown) == 0
    assert "- Changes: none" in capsys.readouterr().out
    assert "since" in to_json(read_record(Path("r.json")))
    assert execute(["run", CORRECT, "--baseline-record", "none.json"]) == 2
    assert "none.json cannot be read" in capsys.readouterr().err
