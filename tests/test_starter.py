"""`init` writes files that run as they are, and tells every key there is.

The sampler is correct: it is accused with a chance of at most 1e-6. The negative control is the
example of a broken one in its place.
"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from audit.cli import execute
from audit.config import General, read_config
from audit.errors import UsageError
from audit.resources import examples_dir
from audit.starter import STARTER_FILES, write_starter

CONFIGURATION = (examples_dir() / "draftproof.toml").read_text(encoding="utf-8")


def test_what_init_writes_runs_as_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "new"
    assert execute(["init", str(folder)]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == f"next: cd {folder} && draftproof run"
    monkeypatch.chdir(folder)
    assert execute(["run", "-q"]) == 0
    assert "✓ PASS  my_sampler.py:verify: TV <= 0.05" in capsys.readouterr().out
    (tmp_path / "new" / "my_sampler.py").write_bytes(
        (examples_dir() / "broken_sampler.py").read_bytes()
    )
    assert execute(["run", "-q", "--cases", "article-three-tokens"]) == 1


def test_nothing_is_overwritten_without_force(tmp_path: Path) -> None:
    (tmp_path / "my_sampler.py").write_text("mine")
    assert execute(["init", str(tmp_path)]) == 2
    assert (tmp_path / "my_sampler.py").read_text() == "mine"
    assert not (tmp_path / "draftproof.toml").exists()
    assert execute(["init", str(tmp_path), "--force"]) == 0
    assert all((tmp_path / name).stat().st_size > 100 for name in STARTER_FILES)


def test_a_folder_that_cannot_be_made_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(UsageError, match="name another folder"):
        write_starter(tmp_path / "file" / "below")


def test_the_configuration_tells_every_key_and_each_line_of_it_is_valid(tmp_path: Path) -> None:
    lines = re.sub(r"^# (\w+ = )", r"\1", CONFIGURATION, flags=re.MULTILINE)
    assert set(tomllib.loads(lines)) == {*General.model_fields, "samplers"}
    (tmp_path / "draftproof.toml").write_text(lines)
    read_config(tmp_path / "draftproof.toml")
    for table in re.findall(r"^#   (\{.*\})$", CONFIGURATION, re.MULTILINE):
        (tmp_path / "draftproof.toml").write_text(f"samplers = [{table}]")
        read_config(tmp_path / "draftproof.toml")
