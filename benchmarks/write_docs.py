"""Writes what documentation takes from the code; `tests/test_docs.py` finds it out of date.

`python benchmarks/write_docs.py` fills the marked places of README.md and docs/, and writes
docs/faults.md, the record's schema, the page of the sample record in reports/, and the exact matrix
of what every case shows of every fault, tests/golden/fault_matrix.csv. With `--sample`
it first makes that record again, by an audit of examples/broken_sampler.py.
"""

from __future__ import annotations

import json
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import click

from audit.cli import draftproof
from audit.exact.catalogue import RULES
from audit.exact.matrix import fault_matrix
from audit.exact.summary import exact_summary
from audit.recordfile import json_schema, read_record
from audit.render.catalogue import faults_table, rules_markdown
from audit.render.exact import exact_text
from audit.render.html import page
from audit.render.listing import drafts_in_short
from audit.render.matrix import exact_csv
from audit.selection import select_cases

SAMPLE = """
run examples/broken_sampler.py:verify --tier smoke --control full-target-fallback
--cases article-three-tokens --cases identical --cases prefix-dependent-2
--json reports/sample.json
"""
ROOT = Path(__file__).resolve().parent.parent
MATRIX = ROOT / "tests" / "golden" / "fault_matrix.csv"
SHOWN_CASE, SHOWN_FAULT = "article-three-tokens", "full-target-fallback"
FAULTS_INTRODUCTION = """\
# The catalogue

<!-- Written by benchmarks/write_docs.py from audit/exact/catalogue.py. -->

p is the target row, q the draft row, x the drafted token, m = min(p, q), R = 1 - sum m the
probability of a rejection, r = max(p - q, 0) / R the residual, A = 1 - R. S is the mass of
accepted tokens, in the words of its own entry. A law is that of one emitted token after a fixed
prefix, or says what becomes of the bonus token. `draftproof exact CASE --rule ID` computes the law
of any of them on any case. A constant is the one listed; `lenience@3/10` is the entry at another
value, wherever an id can stand.

Some faults are the drafter's: `argmax-draft`, `draft-top-2-not-recorded`, `second-try`,
`redrawn-until-accepted` and `drafting-context-frozen` draft their own tokens. `draftproof run`
hands out rows along its own drafts, so that it observes their laws only where rows do not depend on
the prefix, and another wrong law elsewhere. `correction-missing`, `block-product-as-height` and
`block-residual-of-longer-prefix` may emit nothing, which breaks the contract of a sampler.

"""


def main() -> None:
    """Writes every file; makes the sample record again where that is asked for."""
    if sys.argv[1:] == ["--sample"]:
        subprocess.run([sys.executable, "-m", "audit", *SAMPLE.split()], cwd=ROOT, check=False)
    for path, text in generated().items():
        path.write_text(text, encoding="utf-8")


def generated() -> dict[Path, str]:
    """Returns the text that each file should have."""
    readme, cases = ROOT / "README.md", ROOT / "docs" / "cases.md"
    sample = ROOT / "reports" / "sample.json"
    return {
        readme: _filled(
            readme.read_text(encoding="utf-8"),
            exact=f"```\n{_shown_exact()}```\n",
            help=f"```\n{help_of('run')}\n```\n",
            faults=faults_table(RULES.values()),
        ),
        cases: _filled(cases.read_text(encoding="utf-8"), cases=_case_table()),
        ROOT / "docs" / "faults.md": FAULTS_INTRODUCTION + rules_markdown(RULES.values()),
        ROOT / "reports" / "record.schema.json": json.dumps(json_schema(), indent=1) + "\n",
        ROOT / "reports" / "sample.html": page(read_record(sample)),
        MATRIX: exact_csv(fault_matrix(select_cases(["small", "trees"]))),
    }


def help_of(name: str) -> str:
    """Returns the help text of a command as on a terminal of 80 columns."""
    command: click.Command = getattr(import_module(f"audit.cli.{name}"), name)
    above = click.Context(draftproof, info_name="draftproof", **draftproof.context_settings)
    return command.get_help(click.Context(command, above, name, terminal_width=78))


def _filled(text: str, **blocks: str) -> str:
    """Returns the text with what stands between `<!-- NAME:begin -->` and `:end` replaced."""
    for name, block in blocks.items():
        begin, end = f"<!-- {name}:begin -->\n", f"<!-- {name}:end -->"
        before, found, rest = text.partition(begin)
        _, closed, after = rest.partition(end)
        if not (found and closed):
            raise SystemExit(f"the markers of {name!r} are missing")
        text = before + begin + block + end + after
    return text


def _shown_exact() -> str:
    found = [(case, exact_summary(case, SHOWN_FAULT)) for case in select_cases([SHOWN_CASE])]
    return exact_text(found, color=False, width=100).rstrip("\n") + "\n"


def _case_table() -> str:
    lines = ["| case | V | gamma | drafts | certify | why |", "|---|---|---|---|---|---|"]
    for case in select_cases(["all"]):
        size = f"{case.vocab_size:,} | {case.num_speculative_tokens}"
        drafts = drafts_in_short(case.tree)
        lines.append(f"| `{case.id}` | {size} | {drafts} | {case.certify} | {case.why} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    main()
