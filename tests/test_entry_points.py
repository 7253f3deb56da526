"""The three ways to start draftproof, from folders that have nothing to do with it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from audit import __version__

ROOT = Path(__file__).resolve().parent.parent
CONSOLE_SCRIPT = "import sys\nfrom audit.cli import main\nsys.exit(main())\n"


@pytest.fixture
def elsewhere(tmp_path: Path) -> Path:
    """Returns a folder that holds packages of our names."""
    for name in ("audit", "reports", "cases"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text("raise SystemExit('the wrong package')")
    return tmp_path


def started(*command: object, folder: Path) -> str:
    """Returns what the command prints."""
    words = [sys.executable, *map(str, command)]
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=True)
    return done.stdout


def test_the_checkout_is_started_by_its_file(elsewhere: Path) -> None:
    assert __version__ in started(ROOT / "cli.py", "--version", folder=elsewhere)
    assert "article-three-tokens" in started(ROOT / "cli.py", "cases", "list", folder=elsewhere)


def test_the_package_is_started_as_a_module() -> None:
    assert __version__ in started("-m", "audit", "--version", folder=ROOT)


def test_the_console_script_ignores_the_current_folder(elsewhere: Path, tmp_path: Path) -> None:
    script = tmp_path / "bin" / "draftproof"
    script.parent.mkdir()
    script.write_text(CONSOLE_SCRIPT)
    assert "article-three-tokens" in started(script, "cases", "list", folder=elsewhere)
