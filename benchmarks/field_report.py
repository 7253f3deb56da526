"""Writes docs/field-report.md: real packages audited, with every figure and the cause of a failure.

.venv/bin/python benchmarks/field_report.py [--only NAME]

Takes long. Targets that are not installed stand in it with the sentence that says so.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from importlib import metadata
from pathlib import Path
from tempfile import TemporaryDirectory

from field_audits import BAD, Found, accused, audited, reference_seconds
from field_page import Told, not_run_line, page, standing
from field_targets import ENTRIES, NOT_RUN, Entry

from audit.errors import DraftproofError
from audit.samplers.adapters.listing import TARGETS
from audit.samplers.interface import Facts
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


def as_declared(name: str) -> str:
    """Returns what follows the verdict of a target that declares another law than the target's."""
    facts = TARGETS[name].facts if name in TARGETS else None
    claims = facts.claims if isinstance(facts, Facts) else ""
    return f" as declared (lossy: {claims})" if claims else ""


def line(entry: Entry, found: Found, seeds: int) -> str:
    """Returns the line of an entry in the table."""
    right, short = found.verdict not in BAD, f"{seeds} x {entry.short}"
    d, ours = found.distance, reference_seconds(entry)
    figures = (f"{d.n:,}", f"{d.estimate:.4f}", f"{d.null_mean:.4f}", f"{d.upper:.4f}") if d else ()
    row = (
        f"`{entry.title}`",
        version_of(entry.name),
        entry.level,
        ", ".join(entry.worlds),
        *(figures or ("-",) * 4),
        f"{found.verdict}{as_declared(entry.name)}",
        f"{found.seconds / ours:.1f}" if ours else "-",
        f"{accused(entry, seeds)} of {short}" if right else "-",
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


def every(options: argparse.Namespace, text: str) -> list[Told]:
    """Returns what is told of all entries; of those not asked for, what the page says already."""
    known = {row.name for row in list_samplers()}
    found = [
        kept(entry, options.seeds, options.run_dir)
        if options.only in f"{entry.level} {entry.title}"
        else standing(text, entry)
        for entry in ENTRIES
        if entry.name in known
    ]
    return [one for one in found if one is not None]


def not_run(only: str, text: str) -> list[str]:
    """Returns the lines on targets without an adapter; of those not asked for, as they stand."""
    lines = []
    for name, (command, note) in NOT_RUN.items():
        stands = None if only in name else not_run_line(text, name)
        lines.append(stands or f"- {name}: `{command}` ends with `{pip_error(command)}`. {note}")
    return lines


def _failure(entry: Entry, found: Found) -> str:
    cause = entry.cause or "**No cause known: this is a fault of draftproof until it is found.**"
    sentence = found.sentence.rstrip(".")
    return f"- **{entry.title}** ({found.verdict}): {sentence}.\n  {cause}\n  `{entry.command}`"


def main() -> None:
    """Writes the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--only", default="", help="lines that hold this; others stay")
    parser.add_argument("--run-dir", type=Path, help="keeps each audit; given again, it goes on")
    parser.add_argument("--out", type=Path, default=PAGE)
    options = parser.parse_args()
    text = PAGE.read_text(encoding="utf-8")
    written = page(every(options, text), not_run(options.only, text))
    options.out.write_text(written, encoding="utf-8")


if __name__ == "__main__":
    main()
