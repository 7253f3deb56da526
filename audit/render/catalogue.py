"""The catalogue of rules and faults, as text and as the Markdown of the documentation."""

from __future__ import annotations

from collections.abc import Iterable

from rich.text import Text

from audit.exact.rule import Rule
from audit.render.terminal import plain_table, rendered
from audit.tree import drafts_called


def rule_list(rules: Iterable[Rule], *, color: bool, width: int) -> str:
    """Returns a table: id, family, which drafts it verifies, what the rule does."""
    table = plain_table("id", "family", "drafts", "meaning")
    for rule in rules:
        table.add_row(rule.id, _family(rule), "tree" if rule.trees else "chain", rule.meaning)
    return rendered([table], color=color, width=width)


def rule_page(rule: Rule, *, color: bool, width: int) -> str:
    """Returns everything that the catalogue says about one rule."""
    table = plain_table("", "")
    table.show_header = False
    for term, value in _entries(rule):
        table.add_row(Text(f"  {term}"), Text(value))
    return rendered([Text(rule.id, style="bold"), table], color=color, width=width)


def faults_table(rules: Iterable[Rule]) -> str:
    """Returns the faults that an audit bets on as a Markdown table."""
    lines = ["| fault | what it does | law of an emitted token |", "|---|---|---|"]
    faults = (rule for rule in rules if rule.gate)
    lines += [f"| `{r.id}` | {_cell(r.meaning)} | {_cell(r.formula)} |" for r in faults]
    return "\n".join(lines) + "\n"


def rules_markdown(rules: Iterable[Rule]) -> str:
    """Returns a Markdown section for each rule."""
    return "\n".join(_section(rule) for rule in rules)


def _section(rule: Rule) -> str:
    entries = "".join(f"- {term}: {value}\n" for term, value in _entries(rule))
    return f"### `{rule.id}`\n\n{entries}"


def _entries(rule: Rule) -> list[tuple[str, str]]:
    """Returns terms and values, those without a value left out."""
    name = "rule" if rule.family == "lossless" else "fault"
    entries = [
        ("family", _family(rule)),
        ("does", rule.meaning),
        ("law", rule.formula),
        ("comes about", rule.happens),
        ("drafts", " or ".join(map(drafts_called, rule.trees))),
        ("constant", _constant(rule)),
        ("reference", rule.reference),
        ("reports", ", ".join(rule.reports)),
        ("try it", f"draftproof run {name}:{rule.id}"),
    ]
    return [(term, value) for term, value in entries if value]


def _family(rule: Rule) -> str:
    return f"{rule.family}, lossless" if rule.lossless and rule.family == "fault" else rule.family


def _constant(rule: Rule) -> str:
    return f"{rule.parameter.name} {rule.parameter.value}" if rule.parameter else ""


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
