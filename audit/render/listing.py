"""Lists for a terminal: cases, one case's rows in fractions, samplers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich.console import RenderableType
from rich.text import Text

from audit.case import Case, Rows
from audit.plural import counted
from audit.render.plain import clean
from audit.render.terminal import plain_table, rendered
from audit.tree import Tree

MOST_ROWS = 40
MOST_TOKENS = 12


def case_list(cases: Sequence[Case], *, color: bool, width: int) -> str:
    """Returns a table of cases with the reason that each exists."""
    table = plain_table("case", "V", "gamma", "drafts", "certify", "why", numbers=("V", "gamma"))
    for case in cases:
        size = (
            f"{case.vocab_size:,}",
            str(case.num_speculative_tokens),
            drafts_in_short(case.tree),
        )
        table.add_row(Text(clean(case.id, 60)), *size, case.certify, Text(clean(case.why, 300)))
    return rendered([table], color=color, width=width)


def drafts_in_short(tree: Tree | None) -> str:
    """Returns the shape of the drafts in few words.

    >>> drafts_in_short(None), drafts_in_short(Tree((-1, -1), "distinct"))
    ('chain', 'tree, 2 distinct')
    """
    return f"tree, {tree.nodes} {tree.drafting}" if tree else "chain"


def case_page(case: Case, *, color: bool, width: int) -> str:
    """Returns one case: what it is for, its sizes, and its rows by prefix."""
    facts = plain_table("", "")
    facts.show_header = False
    for term, value in (
        ("why", clean(case.why, 1_000)),
        ("vocab_size", f"{case.vocab_size:,}"),
        ("num_speculative_tokens", str(case.num_speculative_tokens)),
        *_tree_facts(case.tree),
        ("certify", case.certify),
        ("sampling rules", clean(case.sampling, 400) or "none"),
        ("hash", case.hash),
    ):
        facts.add_row(Text(term), Text(value))
    parts: list[RenderableType] = [Text(clean(case.id, 60), style="bold"), facts]
    for name, rows in (("target", case.target), ("draft", case.draft)):
        parts += ["", *_rows(name, rows)]
    return rendered(parts, color=color, width=width)


def _tree_facts(tree: Tree | None) -> list[tuple[str, str]]:
    if tree is None:
        return []
    parents = ", ".join(map(str, tree.parents))
    return [("draft tree", f"parents {parents}; {tree.drafting} siblings")]


def _rows(name: str, rows: Rows) -> list[RenderableType]:
    table = plain_table("prefix", "row")
    prefixes = sorted(rows.given, key=lambda prefix: (len(prefix), prefix))
    for prefix in prefixes[:MOST_ROWS]:
        table.add_row(Text(" ".join(map(str, prefix)) or "(start)"), Text(_row(rows, prefix)))
    more = len(prefixes) - MOST_ROWS
    rest = [Text(f"and {counted(more, 'row')} more")] if more > 0 else []
    return [Text(f"{name} rows, other prefixes: {rows.extend}", style="bold"), table, *rest]


def _row(rows: Rows, prefix: tuple[int, ...]) -> str:
    row = rows[prefix]
    shown = ", ".join(str(row[token]) for token in range(min(len(row), MOST_TOKENS)))
    more = len(row) - MOST_TOKENS
    return shown + (f", and {counted(more, 'id')} more" if more > 0 else "")


def sampler_list(
    samplers: Iterable[tuple[str, Sequence[str], str, str]], *, color: bool, width: int
) -> str:
    """Returns a table of what can be audited: name, levels, drafts, version or how to get it."""
    table = plain_table("sampler", "levels", "drafts", "found")
    for name, levels, drafts, found in samplers:
        table.add_row(Text(name), ", ".join(levels), drafts, Text(found))
    for column in table.columns:
        column.overflow = "fold"  # nothing is cut, however narrow the terminal
    return rendered([table], color=color, width=width)
