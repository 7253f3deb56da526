"""The configuration file: where it is found, what it may say, and that every problem is told."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path

import pytest

from audit.cli.run import run
from audit.config import Config, General, Subject, find_config, read_config
from audit.errors import UsageError
from audit.settings import Settings

EVERY_KEY = """
samplers = ["mine.py:verify", { sampler = "package.module:verify", expect = "fail" }]
cases = ["small", "basis-*", "worlds/", "one.toml"]
control = "full-target-fallback"
declares = ["ratio"]
tier = "smoke"
method = "both"
samples = 1000
epsilon = 0.1
accept_within = 0.2
alpha = 1e-6
delta = 1e-3
time_limit = 60
timeout = 5.5
seed = 3
device = "cpu"
dtype = "float64"
batch_size = 16
small_batches = true
in_process = true
python = "env/bin/python"
baseline_record = "record.json"
"""


def written(path: Path, text: str) -> Path:
    """Returns the path after writing the text there."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def problems(path: Path) -> list[str]:
    """Returns what is said about a broken file, without its path."""
    with pytest.raises(UsageError) as caught:
        read_config(path)
    return str(caught.value).replace(f"{path}: ", "").splitlines()


def test_every_key_can_be_given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    found = read_config(written(tmp_path / "draftproof.toml", EVERY_KEY))
    given = found.general.model_dump()
    assert set(given) == set(General.model_fields)
    assert None not in given.values()
    assert given["cases"] == ["small", "basis-*", "worlds", "one.toml"]
    assert found.samplers == (
        Subject(sampler="mine.py:verify"),
        Subject(sampler="package.module:verify", expect="fail"),
    )


def test_every_option_of_run_that_holds_for_a_project_is_a_key() -> None:
    # A quick look is asked for by hand, and has no verdict.
    assert {item.name for item in fields(Settings)} - {"limit"} <= set(General.model_fields)
    assert set(General.model_fields) <= {parameter.name for parameter in run.params}


def test_paths_are_those_beside_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = written(tmp_path / "draftproof.toml", EVERY_KEY)
    (tmp_path / "a" / "b").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "a" / "b")
    found: Config = read_config(path)
    assert [one.sampler for one in found.samplers] == [
        "../../mine.py:verify",
        "package.module:verify",
    ]
    assert found.general.cases == ["small", "basis-*", "../../worlds", "../../one.toml"]
    assert found.general.python == "../../env/bin/python"
    assert found.general.baseline_record == "../../record.json"


def test_the_nearest_folder_wins_and_in_it_the_file_of_its_own(tmp_path: Path) -> None:
    below = tmp_path / "a" / "b"
    below.mkdir(parents=True)
    project = written(tmp_path / "pyproject.toml", "[tool.draftproof]\ntier = 'smoke'\n")
    written(tmp_path / "a" / "pyproject.toml", "[tool.other]\ndraftproof = 1\n")
    assert find_config(below) == project
    own = written(tmp_path / "draftproof.toml", "")
    assert find_config(below) == own
    nearer = written(tmp_path / "a" / "pyproject.toml", "[tool.draftproof]\n")
    assert find_config(below) == nearer
    assert read_config(nearer).general == General()


def test_without_a_file_there_is_none(tmp_path: Path) -> None:
    written(tmp_path / "pyproject.toml", "[tool.mypy]\nstrict = true\n")
    (tmp_path / "draftproof.toml").symlink_to("nowhere")
    with pytest.raises(UsageError, match=r"draftproof\.toml cannot be read"):
        read_config(find_config(tmp_path) or tmp_path)
    (tmp_path / "draftproof.toml").unlink()
    assert find_config(tmp_path) is None  # no folder above a temporary one holds such a file


def test_a_broken_project_file_of_others_is_left_alone(tmp_path: Path) -> None:
    written(tmp_path / "pyproject.toml", "[tool.mypy\n")
    assert find_config(tmp_path) is None
    ours = written(tmp_path / "pyproject.toml", "[tool.draftproof\n")
    assert find_config(tmp_path) == ours
    assert "is not valid TOML" in problems(ours)[0]


def test_every_problem_is_told_at_once_with_the_nearest_name(tmp_path: Path) -> None:
    path = written(
        tmp_path / "draftproof.toml",
        """
        samplers = ["a:b", {sampler = "a:b", expect = "fail:bonus-form-draft"}, {cases = [3]}]
        tire = "ci"
        tier = "huge"
        epsilon = 1
        alpha = "1"
        cases = "small"
        timeout = inf
        in_process = 1
        declares = ["ratoi"]
        batch_size = 0
        """,
    )
    assert problems(path) == [
        '[samplers 2] expect is wrong: no rule or fault is called "bonus-form-draft": the nearest '
        'of 128 ids is "bonus-from-draft".',
        "[samplers 3] sampler is missing; add it.",
        "[samplers 3] cases number 1 is 3, but must be a string in quotes; correct it.",
        'cases is "small", but must be a list; correct it.',
        'declares number 1 is wrong: no rule or fault is called "ratoi": the nearest of 128 ids is '
        '"ratio".',
        "tier is \"huge\", but must be 'smoke', 'ci', 'audit' or 'deep'; correct it.",
        "epsilon is 1, but must be below 1.0; correct it.",
        'alpha is "1", but must be a number without quotes; correct it.',
        "timeout is inf, but must be a finite number; correct it.",
        "batch_size is 0, but must be at least 1; correct it.",
        "in_process is 1, but must be true or false without quotes; correct it.",
        'tire is an unknown key; did you mean "tier"?',
    ]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("samplers = 'a:b'", "samplers must be a list of names or tables"),
        ("samplers = [1]", "samplers must be a list of names or tables"),
        ("samplers = [{sampler = 'a:b', expect = 'fails'}]", '"pass", "fail" or "fail:FAULT"'),
        ("samplers = [{sampler = 'a:b', expect = 'fail:'}]", '"pass", "fail" or "fail:FAULT"'),
        ("samplers = [{sampler = 'a:b', expect = 'pass:x'}]", '"pass", "fail" or "fail:FAULT"'),
        ("control = 'no-such-fault'", "control is wrong: no rule or fault"),
        ("[draftproof]", "draftproof is an unknown key"),
    ],
)
def test_what_is_wrong_is_said(tmp_path: Path, text: str, said: str) -> None:
    assert said in problems(written(tmp_path / "draftproof.toml", text))[0]


def test_in_a_project_file_the_table_is_named(tmp_path: Path) -> None:
    path = written(tmp_path / "pyproject.toml", "[tool.draftproof]\ntire = 1\n")
    assert problems(path) == ['[tool.draftproof] tire is an unknown key; did you mean "tier"?']
    written(path, "tool = {draftproof = 1}\n")
    assert "tool.draftproof must be a table" in problems(path)[0]
    written(path, "[tool.other]\n")
    assert "has no table [tool.draftproof]" in problems(path)[0]


def test_a_file_that_cannot_be_read_is_said(tmp_path: Path) -> None:
    assert "cannot be read" in problems(tmp_path / "missing.toml")[0]
    written(tmp_path / "binary.toml", "").write_bytes(b"\xff")
    assert "is not valid TOML" in problems(tmp_path / "binary.toml")[0]


def test_a_control_may_be_named_like_a_sampler(tmp_path: Path) -> None:
    path = written(tmp_path / "draftproof.toml", 'control = "fault:always-accept"\n')
    assert read_config(path).general.control == "always-accept"
