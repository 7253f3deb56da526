"""Runs the README's main command and pastes what it printed between the README's markers."""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BEGIN, END = "<!-- output:begin -->\n", "<!-- output:end -->"


def main() -> None:
    """Replaces the pasted output; the run must end with exit code 0."""
    readme = ROOT / "README.md"
    text = readme.read_text(encoding="utf-8")
    found = re.search(r"\.venv/bin/draftproof (run transformers .*)", text)
    if found is None:
        raise SystemExit("README.md has no main command")
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "audit", *found[1].split(), "--color", "never"]
        done = subprocess.run(command, cwd=folder, stdout=subprocess.PIPE, text=True, check=True)
    before, rest = text.split(BEGIN)
    after = rest.split(END)[1]
    block = f"```\n{done.stdout.strip()}\n```\n"
    readme.write_text(before + BEGIN + block + END + after, encoding="utf-8")


if __name__ == "__main__":
    main()
