"""Paths as reviewers see them: relative to the repository, or none."""

from __future__ import annotations

from pathlib import Path

import pytest

from audit.repository import path_in_repository


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Returns a repository, whose folder `package` is the current one."""
    root = tmp_path / "root"
    (root / "package").mkdir(parents=True)
    (root / ".git").mkdir()
    monkeypatch.chdir(root / "package")
    return root


def test_a_path_is_relative_to_the_repository_not_to_the_current_folder(repository: Path) -> None:
    assert path_in_repository("a.py") == "package/a.py"
    assert path_in_repository(repository / "b" / "c.py") == "b/c.py"


def test_a_worktree_is_a_repository_too(repository: Path) -> None:
    (repository / "package" / ".git").write_text("gitdir: elsewhere")
    assert path_in_repository("a.py") == "a.py"
    assert path_in_repository("../b.py") == ""


@pytest.mark.parametrize("file", ["../../outside.py", ".venv/lib/site-packages/x.py"])
def test_what_lies_outside_or_was_installed_has_no_path(repository: Path, file: str) -> None:
    assert repository.is_dir()
    assert path_in_repository(file) == ""


def test_without_a_repository_the_current_folder_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert path_in_repository(tmp_path / "a.py") == "a.py"
