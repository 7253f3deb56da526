"""A check of the contract as text for a terminal and as JSON."""

from __future__ import annotations

import json
from dataclasses import asdict

from rich.console import RenderableType
from rich.text import Text

from audit.plural import counted
from audit.render.plain import clean
from audit.render.terminal import STYLES, plain_table, rendered
from audit.samplers.checking.report import ContractReport, Finding

_SENTENCE_LIMIT = 400
_KINDS = {"kept": "good", "broken": "bad", "told": "open", "skipped": "open"}
_WORDS = {"kept": "kept", "broken": "BROKEN", "told": "note", "skipped": "not asked"}


def checking_text(report: ContractReport, *, color: bool, width: int) -> str:
    """Returns what the sampler offers, a row a rule, and whether the contract is kept."""
    table = plain_table("", "")
    table.show_header = False
    for term, value in offers(report).items():
        table.add_row(Text(term), Text(clean(value, _SENTENCE_LIMIT)))
    parts: list[RenderableType] = [
        Text(clean(report.sampler, 200), style="bold"),
        table,
        "",
        _findings(report.findings),
        "",
        _conclusion(report),
    ]
    return rendered(parts, color=color, width=width)


def checking_json(report: ContractReport) -> str:
    """Returns the report as JSON: what `ContractReport` holds, and the exit code."""
    return json.dumps({**asdict(report), "exit_code": report.exit_code}, indent=1)


def offers(report: ContractReport) -> dict[str, str]:
    """Returns what a sampler offers, in words."""
    facts = report.facts
    drafts = " or ".join(f"trees of {kind} siblings" for kind in facts.trees) or "chains"
    rows = f"up to {facts.max_batch:,}" if facts.max_batch else "any number"
    return {
        "levels": f"{', '.join(report.levels)}; this is the contract of verify",
        "dtypes": ", ".join(report.dtypes) or "none",
        "drafts": drafts + (" of unequal length" if facts.ragged else ""),
        "rows a call": rows if facts.independent_rows else "one",
        "declares": ", ".join(facts.declares) or "no rule",
        **({"claims": f"the law of {facts.claims}"} if facts.claims else {}),
    }


def _findings(findings: tuple[Finding, ...]) -> RenderableType:
    table = plain_table("rule", "result", "what was seen")
    for finding in findings:
        word = Text(_WORDS[finding.result], style=STYLES[_KINDS[finding.result]])
        table.add_row(Text(finding.rule), word, Text(clean(finding.said, _SENTENCE_LIMIT)))
    return table


def _conclusion(report: ContractReport) -> Text:
    asked = [finding for finding in report.findings if finding.result != "skipped"]
    if report.broken:
        said = f"the contract is broken: {len(report.broken)} of {counted(len(asked), 'rule')}"
        return Text(said, style=STYLES["bad"])
    said = f"the contract is kept: {len(asked)} rules; whether the law is right, `run` tells"
    return Text(said, style=STYLES["good"])
