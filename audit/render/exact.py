"""Exact figures of a rule on a case, as text: fractions where they are short enough to read."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from audit.case import Case
from audit.exact.summary import ExactSummary, RowSummary
from audit.render.plain import clean
from audit.render.terminal import STYLES, plain_table, rendered

LONGEST_FRACTION = 15
MOST_TOKENS = 20


def exact_text(found: Iterable[tuple[Case, ExactSummary]], *, color: bool, width: int) -> str:
    """Returns the figures of each case, one below the other."""
    parts = [part for case, summary in found for part in (*_case(case, summary), "")]
    return rendered(parts, color=color, width=width)


def number(value: Fraction, slack: Fraction = Fraction(0)) -> str:
    """Returns a fraction with its decimal, the decimal alone where the fraction is long.

    >>> number(Fraction(7, 10)), number(Fraction(0)), number(Fraction(1, 3**40))
    ('7/10 = 0.7', '0', 'about 8.22526e-20')
    """
    if slack:
        return f"about {float(value):.6g}, within {float(slack):.1g}"
    if value.denominator == 1:
        return str(value)
    fraction = str(value)
    if len(fraction) > LONGEST_FRACTION:
        return f"about {float(value):.6g}"
    return f"{fraction} = {float(value):.6g}"


def _case(case: Case, summary: ExactSummary) -> list[RenderableType]:
    word, tone = ("biased", "bad") if summary.biased else ("lossless", "good")
    title = Text.assemble(
        (clean(case.id, 60), "bold"), f", rule {summary.rule_id}: ", (word, STYLES[tone])
    )
    facts = plain_table("", "")
    facts.show_header = False
    for term, value in _facts(summary):
        facts.add_row(Text(f"  {term}"), Text(value))
    rows = [_row_table(case, summary.rows)] if summary.rows else []
    return [title, facts, *rows]


def _facts(summary: ExactSummary) -> list[tuple[str, str]]:
    completed = summary.total_variation
    passed = (f"{n}: {number(p)}" for n, p in enumerate(summary.number_accepted))
    facts = [
        ("TV to the target, completed block",
         "not enumerated" if completed is None else number(completed)),
        ("TV to the target, first token", number(summary.first_token_tv, summary.slack)),
        ("acceptance at the first place", number(summary.acceptance, summary.slack)),
        ("best possible acceptance", _best(summary.best_acceptance)),
        ("drafted tokens accepted", "; ".join(passed)),
        ("tokens a round", number(summary.expected_tokens)),
    ]  # fmt: skip
    if summary.undefined:
        facts.append(("left undefined by the rule", number(summary.undefined)))
    return facts


def _best(value: Fraction | None) -> str:
    return "between bounds: draftproof optimum" if value is None else number(value)


def _row_table(case: Case, rows: RowSummary) -> Table:
    columns: dict[str, Sequence[Fraction] | None] = {
        "target": tuple(case.target[()]),
        "draft": tuple(case.draft[()]),
        "kept": rows.kept,
        "residual": None if rows.residual is None else tuple(rows.residual),
        "recovered": rows.recovered,
        "emitted": rows.emitted,
    }
    table = plain_table("  token", *columns, numbers=columns)
    for token in range(min(case.vocab_size, MOST_TOKENS)):
        cells = ("none" if law is None else _short(law[token]) for law in columns.values())
        table.add_row(f"  {token}", *cells)
    if case.vocab_size > MOST_TOKENS:
        table.add_row("  ...")
    return table


def _short(value: Fraction) -> str:
    text = str(value)
    return text if len(text) <= LONGEST_FRACTION else f"{float(value):.6g}"
