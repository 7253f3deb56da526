"""The page of the field report: its text, and what it says of a target as it stands."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from field_targets import NOTES, Entry

Told = Mapping[str, str]  # what the page says of a target: `line` and `failure`, or `missing`

_TEXT = """\
# Field report

Real packages, their own functions, audited by the adapters of [docs/targets.md](targets.md).
`benchmarks/field_report.py` writes this page; `--run-dir` keeps the audits that it consists of, and
`--only NAME` audits some targets and leaves all else as it stands.

| target | version | level | cases | n | TV | (null) | bound U | verdict | time | accused |
|---|---|---|---|---|---|---|---|---|---|---|
{table}

n: rounds of the case, or sequences of the world, with the largest excess of TV. TV: of the
completed law, or of all tokens of a sequence, to the target's. (null): what a correct one shows on
average at this n. U: TV is at most this, with confidence 0.999 over the run. At the decode level a
loop is CONSISTENT or BROKEN in its states, and the bound is on several rounds together. time: of
the whole audit, in multiples of the same audit of our own rule, where ours can be asked for it.
accused: short runs that accuse the target of anything, of so many seeds and so many rounds of the
first case, or sequences, each; asked where the target is right. as declared: judged by the lossy
law that it declares, so that TV and U are to that law; nothing is said of the target's.

{notes}

## What fails, and why

{causes}

## What did not run

{missing}
"""


def page(found: Sequence[Told], not_run: Iterable[str]) -> str:
    """Returns the whole page. not_run: the lines on targets without an adapter here."""
    missing = [one["missing"] for one in found if "missing" in one]
    return _TEXT.format(
        table="\n".join(one["line"] for one in found if "line" in one),
        causes="\n".join(one["failure"] for one in found if one.get("failure")) or "None.",
        missing="\n".join([*missing, *not_run]),
        notes="\n".join(f"- {note}" for note in NOTES),
    )


def standing(text: str, entry: Entry) -> Told | None:
    """Returns what a page says of an entry, None where it has no line of it."""
    start = re.escape(f"| `{entry.title}` | ")
    line = re.search(rf"^{start}[^|]* \| {entry.level} \|.*$", text, re.MULTILINE)
    if line is None:
        return None
    verdict = line[0].split(" | ")[8]
    failure = re.search(
        rf"^- \*\*{re.escape(entry.title)}\*\* \({verdict}\):(.*\n)+?  `.*`$", text, re.MULTILINE
    )
    return {"line": line[0], "failure": failure[0] if failure else ""}


def not_run_line(text: str, name: str) -> str | None:
    """Returns the line of a page on a target without an adapter, None where there is none."""
    line = re.search(rf"^- {re.escape(name)}: .*$", text, re.MULTILINE)
    return line[0] if line else None
