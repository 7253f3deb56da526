"""The documents cannot fall behind: what they take from the code is compared with it."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import click
import pytest

from audit.cli import COMMANDS, draftproof, execute
from audit.cli.options import TIERS as OFFERED_TIERS
from audit.errors import DraftproofError, SamplerError, UsageError
from audit.exact.catalogue import RULES
from audit.resources import cases_dir
from audit.settings import TIERS
from audit.verdict import EXIT_CODES, INTERRUPTED, SCOPE, TRUST, Outcome

ROOT = Path(__file__).resolve().parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
DOCS = {path.name: path.read_text(encoding="utf-8") for path in (ROOT / "docs").glob("*.md")}
EVERYTHING = " ".join([README, *DOCS.values()])
VERDICTS = DOCS["verdicts.md"]


def write_docs() -> ModuleType:
    """Returns the script that writes the generated parts."""
    path = ROOT / "benchmarks" / "write_docs.py"
    spec = importlib.util.spec_from_file_location("write_docs", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def leaves(command: click.Command, name: str = "") -> Iterator[tuple[str, click.Command]]:
    """Yields the name of every command without subcommands, and the command."""
    if not isinstance(command, click.Group):
        yield name, command
        return
    context = click.Context(command)
    for part in command.list_commands(context):
        below = command.get_command(context, part)
        assert below is not None
        yield from leaves(below, f"{name} {part}".strip())


def test_what_is_written_from_the_code_is_current() -> None:
    stale = [
        path.relative_to(ROOT)
        for path, text in write_docs().generated().items()
        if path.suffix != ".json"  # the schema's test stands in test_record
        and (not path.is_file() or path.read_text(encoding="utf-8") != text)
    ]
    assert stale == [], "run: python benchmarks/write_docs.py"


def test_the_readme_shows_the_help_of_run() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "audit", "run", "--help"],
        cwd=ROOT, env={**os.environ, "COLUMNS": "80"}, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert " ".join(done.stdout.split()) in " ".join(README.split())


def test_every_option_is_documented() -> None:
    options = {
        option
        for _, command in leaves(draftproof)
        for parameter in command.params
        if isinstance(parameter, click.Option)
        for option in parameter.opts
    }
    assert [option for option in sorted(options) if option not in EVERYTHING] == []


def test_every_command_is_documented_and_has_help() -> None:
    assert set(COMMANDS) == set(draftproof.list_commands(click.Context(draftproof)))
    for name, command in leaves(draftproof):
        assert command.help, name
        assert f"draftproof {name.split()[0]}" in README, name


def test_every_rule_and_fault_is_documented() -> None:
    assert [rule for rule in RULES if f"### `{rule}`" not in DOCS["faults.md"]] == []
    faults = [rule.id for rule in RULES.values() if rule.gate]
    assert [fault for fault in faults if f"| `{fault}` |" not in README] == []


def test_every_case_is_documented() -> None:
    ids = [path.stem for path in cases_dir().glob("*.toml")]
    assert [case for case in ids if f"`{case}`" not in DOCS["cases.md"]] == []


def test_every_outcome_and_exit_code_is_documented() -> None:
    errors = (UsageError.exit_code, SamplerError.exit_code, DraftproofError.exit_code)
    for code in {*EXIT_CODES.values(), *errors, INTERRUPTED}:
        assert re.search(rf"\| {code}(,| |$)|\b{code}\b", README), code
        assert re.search(rf"\b{code}\b", VERDICTS), code
    for outcome in Outcome:
        assert outcome.value.replace("_", " ") in README
        assert outcome.value.replace("_", " ") in VERDICTS


def test_the_tiers_are_the_offered_and_documented_ones() -> None:
    assert tuple(TIERS) == OFFERED_TIERS
    for name, tier in TIERS.items():
        assert f"| {name} | {tier.cap:,} | {tier.epsilon:g}".replace("| 0.", "| .") in VERDICTS


@pytest.mark.parametrize("sentence", [SCOPE, TRUST])
def test_scope_and_trust_are_said_in_the_same_words(sentence: str) -> None:
    for text in (README, VERDICTS):
        assert sentence.rstrip(".") in " ".join(text.replace("**", "").split())


def test_every_document_is_linked_and_every_link_leads_somewhere() -> None:
    assert [name for name in DOCS if f"(docs/{name})" not in README] == []
    for link in re.findall(r"\]\(([^)#]+)\)", README):
        assert (ROOT / link).exists(), link


def test_the_sampler_of_the_readme_passes(tmp_path: Path) -> None:
    # False alarm at most 1e-6 (alpha); the negative control is every fault in test_cli_run.
    code = re.search(r"```python\n(import torch\n.*?)```", README, re.DOTALL)
    assert code is not None
    (tmp_path / "my_sampler.py").write_text(code[1])
    command = ["run", f"{tmp_path}/my_sampler.py:verify", "--tier", "smoke", "-q"]
    assert execute([*command, "--cases", "article-three-tokens"]) == 0


def test_the_case_of_the_documentation_is_valid(tmp_path: Path) -> None:
    code = re.search(r"```toml\n(.*?)```", DOCS["cases.md"], re.DOTALL)
    assert code is not None
    (tmp_path / "my-case.toml").write_text(code[1])
    assert execute(["cases", "validate", str(tmp_path / "my-case.toml")]) == 0


def test_ci_finds_exactly_one_test_command() -> None:
    pattern = re.compile(r"^python3 -m venv .* -m pytest", re.MULTILINE)
    assert len(pattern.findall(README)) == 1
    assert pattern.pattern in (ROOT / ".ci" / "run").read_text()
