"""From the tables of one case file to its Case: whether header, rows and sampling rules fit."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from audit.case import Case
from audit.casefile.checks import cut_short
from audit.casefile.problems import Problems
from audit.casefile.rows import Laws, missing_rows, read_rows
from audit.casefile.schema import HeaderTable, SamplingTable, Sizes
from audit.casefile.trees import check_cells, read_tree, scarce_rows
from audit.tree import Tree

MAX_FULL_CELLS = 2**22
_TABLES = ("target", "draft", "sampling", "generated", "tree")


def full_cells(vocab_size: int, num_speculative_tokens: int, *, nodes: int | None = None) -> int:
    """Returns the cells [V^nodes, gamma + 1, V^(gamma + 1)] of the table with a bin a token.

    nodes: the drafted tokens of a round; None: gamma, those of a chain.

    >>> full_cells(3, 1), full_cells(3, 1, nodes=2)
    (54, 162)
    """
    longest = num_speculative_tokens + 1
    drafted = num_speculative_tokens if nodes is None else nodes
    cells: int = longest * vocab_size ** (drafted + longest)
    return cells


def is_large(document: Mapping[str, Any]) -> bool:
    """Returns whether the case has too many cells to be counted token by token.

    False where the document gives no valid sizes, and for a draft tree, which may not have them.
    """
    return "tree" not in document and _cells(Sizes.of(document)) > MAX_FULL_CELLS


def parse_case(document: Mapping[str, Any], *, file: str) -> Case:
    """Returns the case that the tables of a file describe.

    Raises: CaseError with every problem of the file.
    """
    problems, sizes = Problems(file), Sizes.of(document)
    keys = {key: value for key, value in document.items() if key not in _TABLES}
    header = problems.table(HeaderTable, keys, also=_TABLES)
    stated = document.get("sampling", {})
    sampling = problems.table(SamplingTable, stated, name="sampling", context=sizes)
    tree = read_tree(document, sizes=sizes, problems=problems)
    laws = read_rows(document, sizes=sizes, problems=problems)
    if laws and sampling and problems.count == 0:
        laws = laws.after(sampling)
    _check_fit(document, laws, tree, problems=problems)
    if problems.count or not (header and sampling and laws):
        raise problems.error()
    return Case(
        **header.model_dump(),
        **laws._asdict(),
        sampling=sampling.sentence,
        greedy=sampling.rules.greedy and sampling.apply_to != "draft",
        large=is_large(document),
        source=file,
        tree=tree,
    )


def _cells(sizes: Sizes, tree: Tree | None = None) -> int:
    if sizes.vocab_size is None or sizes.num_speculative_tokens is None:
        return 0
    nodes = None if tree is None else tree.nodes
    return full_cells(sizes.vocab_size, sizes.num_speculative_tokens, nodes=nodes)


def _check_fit(
    document: Mapping[str, Any], laws: Laws | None, tree: Tree | None, *, problems: Problems
) -> None:
    """Adds what is wrong between the tables: sizes, tree and rows."""
    sizes = Sizes.of(document)
    cells = _cells(sizes, tree)
    if tree:
        check_cells(cells, MAX_FULL_CELLS, problems=problems)
    elif is_large(document):
        _check_large(cells, document, laws, problems=problems)
    if laws and cells <= MAX_FULL_CELLS:
        _check_reachable(laws, sizes=sizes, problems=problems)
    if laws and tree and problems.count == 0:
        for row in scarce_rows(laws.draft, tree):
            problems.add(row.place, row.problem)


def _check_large(
    cells: int, document: Mapping[str, Any], laws: Laws | None, *, problems: Problems
) -> None:
    shown = cut_short(f"{cells:,}")
    if document.get("certify", "full") == "full":
        problems.add(
            "certify",
            f'is "full", but a bin a token needs V^gamma (gamma + 1) V^(gamma + 1) = {shown} '
            f'cells, above the bound of {MAX_FULL_CELLS:,}; write certify = "partition" or take '
            "smaller sizes.",
        )
    if laws and not (laws.target.context_free and laws.draft.context_free):
        problems.add(
            "[target] and [draft]",
            f"depend on the prefix, but a case of {shown} cells, above the bound of "
            f'{MAX_FULL_CELLS:,}, may not; give the row "" alone with extend = "repeat" in both, '
            "or take smaller sizes.",
        )


def _check_reachable(laws: Laws, *, sizes: Sizes, problems: Problems) -> None:
    if sizes.num_speculative_tokens is not None and sizes.vocab_size is not None:
        for place in missing_rows(laws, sizes.num_speculative_tokens):
            problems.add(
                place, "is missing, but its prefix can occur; add it or choose another extend."
            )
