"""The floors of the package, and what a light command may load."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from importlinter.cli import lint_imports

ROOT = Path(__file__).resolve().parent.parent
HEAVY = ("torch", "transformers", "scipy.stats", "pandas", "matplotlib")
LIGHT_COMMANDS = (
    ["--help"],
    ["run", "--help"],
    ["--version"],
    ["cases", "list"],
    ["cases", "show", "article-three-tokens"],
    ["faults", "list"],
    ["faults", "show", "full-target-fallback"],
    ["faults", "matrix", "--cases", "article-three-tokens"],
    ["plan", "--help"],
    ["selftest", "--help"],
    ["config", "show"],
    ["samplers", "list"],
    ["export", "--help"],
    ["init", "--help"],
    ["exact", "article-three-tokens"],
    ["optimum", "article-three-tokens"],
)
SHOW_MODULES = """
import sys
from audit.cli import execute
code = execute(sys.argv[1:])
print("LOADED", *sorted(sys.modules))
sys.exit(code)
"""


def loaded_by(*command: str) -> set[str]:
    """Returns the modules that a fresh process has loaded after the command."""
    done = subprocess.run(
        [sys.executable, "-c", SHOW_MODULES, *command],
        cwd=ROOT, capture_output=True, text=True, check=True, timeout=60,
    )  # fmt: skip
    return set(done.stdout.rpartition("LOADED")[2].split())


def test_every_import_goes_to_a_floor_below(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    assert lint_imports(config_filename=str(ROOT / ".importlinter"), cache_dir=None) == 0


@pytest.mark.parametrize("command", LIGHT_COMMANDS, ids=" ".join)
def test_a_light_command_loads_nothing_heavy(command: list[str]) -> None:
    assert loaded_by(*command) & set(HEAVY) == set()


def test_importing_the_package_loads_nothing_else() -> None:
    code = "import sys, audit; print(*(m for m in sys.modules if m.startswith('audit')))"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["audit"]


def test_help_takes_less_than_half_a_second_of_processor_time() -> None:
    before = os.times()
    subprocess.run(
        [sys.executable, "-m", "audit", "--help"], cwd=ROOT, capture_output=True, check=True
    )
    after = os.times()
    assert (after.children_user + after.children_system) - (
        before.children_user + before.children_system
    ) < 0.5
