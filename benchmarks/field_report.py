"""Writes docs/field-report.md: real packages audited, with every figure and the cause of a failure.

.venv/bin/python benchmarks/field_report.py

Takes about ten minutes; targets that are not installed stand in it with the sentence that says so.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Sequence
from importlib import metadata
from pathlib import Path
from tempfile import TemporaryDirectory

from field_audits import BAD, Found, accused, audited, reference_seconds
from field_targets import ENTRIES, NOT_RUN, NOTES, Entry

from audit.errors import DraftproofError
from audit.samplers.adapters.listing import TARGETS
from audit.samplers.listing import list_samplers

PAGE = Path(__file__).parent.parent / "docs" / "field-report.md"


def version_of(name: str) -> str:
    """Returns the distribution behind a target and its version."""
    if name in TARGETS:
        return TARGETS[name].found
    distribution = name.partition("-")[0]
    try:
        return f"{distribution} {metadata.version(distribution)}"
    except metadata.PackageNotFoundError:
        return distribution


def line(entry: Entry, found: Found, seeds: int) -> str:
    """Returns the line of an entry in the table."""
    plain = not entry.options and found.verdict not in BAD
    short = f"{seeds} x {entry.short}"
    clean = f"{accused(entry, seeds)} of {short}" if plain else "-"
    d = found.distance
    figures = (f"{d.n:,}", f"{d.estimate:.4f}", f"{d.null_mean:.4f}", f"{d.upper:.4f}") if d else ()
    row = (
        f"`{entry.title}`",
        version_of(entry.name),
        entry.level,
        ", ".join(entry.cases),
        *(figures or ("-",) * 4),
        found.verdict,
        f"{found.seconds / reference_seconds(entry):.1f}",
        clean,
    )
    return f"| {' | '.join(row)} |"


def pip_error(command: str) -> str:
    """Returns the last error line of a pip command, run here."""
    with TemporaryDirectory() as nowhere:
        words = [sys.executable, "-m", *command.split(), "-d", nowhere]
        done = subprocess.run(words, capture_output=True, text=True, check=False)
    errors = [one for one in done.stderr.splitlines() if one.startswith("ERROR: ")]
    return errors[-1] if errors else "no error on this machine"


def told(entry: Entry, seeds: int) -> dict[str, str]:
    """Returns what the page says of an entry: `line` and `failure`, or why it is `missing`."""
    print(f"field report: {entry.level} {entry.title}", file=sys.stderr, flush=True)
    try:
        found = audited(entry, entry.name)
        failure = _failure(entry, found) if found.verdict in BAD else ""
        return {"line": line(entry, found, seeds), "failure": failure}
    except DraftproofError as error:
        return {"missing": f"- `{entry.command}`: {error}"}


def kept(entry: Entry, seeds: int, folder: Path | None) -> dict[str, str]:
    """Returns what is told of an entry, from the folder if it was audited before."""
    path = folder and folder / f"{entry.level} {entry.title}.json"
    if path is not None and path.exists():
        known: dict[str, str] = json.loads(path.read_text(encoding="utf-8"))
        return known
    found = told(entry, seeds)
    if path is not None and "missing" not in found:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(found), encoding="utf-8")
    return found


def page(entries: Sequence[Entry], seeds: int, folder: Path | None) -> str:
    """Returns the whole page."""
    found = [kept(entry, seeds, folder) for entry in entries]
    not_run = [
        f"- {name}: `{command}` ends with `{pip_error(command)}`. {note}"
        for name, (command, note) in NOT_RUN.items()
    ]
    missing = [one["missing"] for one in found if "missing" in one]
    return _TEXT.format(
        table="\n".join(one["line"] for one in found if "line" in one),
        causes="\n".join(one["failure"] for one in found if one.get("failure")) or "None.",
        missing="\n".join(missing + not_run),
        notes="\n".join(f"- {note}" for note in NOTES),
    )


def _failure(entry: Entry, found: Found) -> str:
    cause = entry.cause or "**No cause known: this is a fault of draftproof until it is found.**"
    sentence = found.sentence.rstrip(".")
    return f"- **{entry.title}** ({found.verdict}): {sentence}.\n  {cause}\n  `{entry.command}`"


_TEXT = """\
# Field report

Real packages, their own functions, audited by the adapters of [docs/targets.md](targets.md).
`benchmarks/field_report.py` writes this page; `--run-dir` keeps the audits that it consists of.

| target | version | level | cases | n | TV | (null) | bound U | verdict | time | accused |
|---|---|---|---|---|---|---|---|---|---|---|
{table}

n: rounds of the case, or sequences of the world, with the largest excess of TV. TV: of the
completed law, or of all tokens of a sequence, to the target's. (null): what a correct one shows on
average at this n. U: TV is at most this, with confidence 0.999 over the run. At the decode level a
loop is CONSISTENT or BROKEN in its states, and the bound is on several rounds together. time: of
the whole audit, in multiples of the same audit of our own rule. accused: short runs that accuse the
target of anything, of so many seeds and so many rounds of the first case, or sequences, each; asked
where the target is right.

{notes}

## What fails, and why

{causes}

## What did not run

{missing}
"""


def main() -> None:
    """Writes the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--only", default="", help="targets whose name holds this")
    parser.add_argument("--run-dir", type=Path, help="keeps each audit; given again, it goes on")
    parser.add_argument("--out", type=Path, default=PAGE)
    options = parser.parse_args()
    known = {row.name for row in list_samplers()}
    entries = [one for one in ENTRIES if one.name in known and options.only in one.name]
    text = page(entries, options.seeds, options.run_dir)
    options.out.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
