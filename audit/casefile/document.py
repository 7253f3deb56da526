"""From the tables of one case file to its Case: whether header, rows and sampling rules fit."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from audit.case import Case
from audit.casefile.checks import cut_short
from audit.casefile.problems import Problems
from audit.casefile.rows import Laws, missing_rows, read_rows
from audit.casefile.schema import HeaderTable, SamplingTable, Sizes

MAX_FULL_CELLS = 2**22
_TABLES = ("target", "draft", "sampling", "generated")


def full_cells(vocab_size: int, num_speculative_tokens: int) -> int:
    """Returns the cells [V^gamma, gamma + 1, V^(gamma + 1)] of the table with a bin a token.

    >>> full_cells(3, 1)
    54
    """
    longest = num_speculative_tokens + 1
    cells: int = longest * vocab_size ** (2 * longest - 1)
    return cells


def is_large(document: Mapping[str, Any]) -> bool:
    """Returns whether the case has too many cells to be counted token by token.

    False where the document gives no valid sizes.
    """
    return _cells(Sizes.of(document)) > MAX_FULL_CELLS


def parse_case(document: Mapping[str, Any], *, file: str) -> Case:
    """Returns the case that the tables of a file describe.

    Raises: CaseError with every problem of the file.
    """
    problems, sizes = Problems(file), Sizes.of(document)
    keys = {key: value for key, value in document.items() if key not in _TABLES}
    header = problems.table(HeaderTable, keys, also=_TABLES)
    stated = document.get("sampling", {})
    sampling = problems.table(SamplingTable, stated, name="sampling", sizes=sizes)
    laws = read_rows(document, sizes=sizes, problems=problems)
    if laws and sampling and problems.count == 0:
        laws = laws.after(sampling)
    _check_cells(document, laws, problems=problems)
    if laws and not is_large(document):
        _check_reachable(laws, sizes=sizes, problems=problems)
    if problems.count or not (header and sampling and laws):
        raise problems.error()
    return Case(
        **header.model_dump(),
        **laws._asdict(),
        sampling=sampling.sentence,
        greedy=sampling.rules.greedy and sampling.apply_to != "draft",
        large=is_large(document),
        source=file,
    )


def _cells(sizes: Sizes) -> int:
    if sizes.vocab_size is None or sizes.num_speculative_tokens is None:
        return 0
    return full_cells(sizes.vocab_size, sizes.num_speculative_tokens)


def _check_cells(document: Mapping[str, Any], laws: Laws | None, *, problems: Problems) -> None:
    if not is_large(document):
        return
    cells = cut_short(f"{_cells(Sizes.of(document)):,}")
    if document.get("certify", "full") == "full":
        problems.add(
            "certify",
            f'is "full", but a bin a token needs V^gamma (gamma + 1) V^(gamma + 1) = {cells} '
            f'cells, above the bound of {MAX_FULL_CELLS:,}; write certify = "partition" or take '
            "smaller sizes.",
        )
    if laws and not (laws.target.context_free and laws.draft.context_free):
        problems.add(
            "[target] and [draft]",
            f"depend on the prefix, but a case of {cells} cells, above the bound of "
            f'{MAX_FULL_CELLS:,}, may not; give the row "" alone with extend = "repeat" in both, '
            "or take smaller sizes.",
        )


def _check_reachable(laws: Laws, *, sizes: Sizes, problems: Problems) -> None:
    if sizes.num_speculative_tokens is not None and sizes.vocab_size is not None:
        for place in missing_rows(laws, sizes.num_speculative_tokens):
            problems.add(
                place, "is missing, but its prefix can occur; add it or choose another extend."
            )
