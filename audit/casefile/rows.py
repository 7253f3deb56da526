"""The rows of a case file: reading them, and finding the ones that are missing.

Rows are demanded for reachable prefixes only: those of positive probability under the draft, along
which a round is verified, and for the target also those of positive probability under itself,
along which a short block is completed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from audit.case import Prefix, Rows, unchanged
from audit.casefile import checks
from audit.casefile.checks import shown
from audit.casefile.generated import GeneratedRows
from audit.casefile.problems import Problems
from audit.casefile.schema import GeneratedTable, RowsTable, SamplingTable, Sizes
from audit.errors import CaseError
from audit.row import Row, integer_array

_BROKEN = Row(integer_array([]), 1)  # keeps the place of a row that is there, but wrong


class Laws(NamedTuple):
    """The rows of both models."""

    target: Rows
    draft: Rows

    def after(self, sampling: SamplingTable) -> Laws:
        """Returns the rows after the sampling rules, on the side that they are for."""
        rules = sampling.rules if sampling.sentence else unchanged
        on_target = unchanged if sampling.apply_to == "draft" else rules
        on_draft = unchanged if sampling.apply_to == "target" else rules
        return Laws(
            Rows(self.target.given, self.target.extend, on_target),
            Rows(self.draft.given, self.draft.extend, on_draft),
        )


def read_rows(document: Mapping[str, Any], *, sizes: Sizes, problems: Problems) -> Laws | None:
    """Returns the target rows and the draft rows before all sampling rules.

    A wrong row is one without tokens; None stands for tables without a usable shape. What is
    wrong is added to `problems`.
    """
    if "generated" not in document:
        target = _read_table("target", document, sizes=sizes, problems=problems)
        draft = _read_table("draft", document, sizes=sizes, problems=problems)
        return Laws(target, draft) if target and draft else None
    for name in ("target", "draft"):
        if name in document:
            problems.add(f"[{name}]", "stands beside [generated], which makes it; remove one.")
    return _generate(document["generated"], sizes=sizes, problems=problems)


def _generate(table: object, *, sizes: Sizes, problems: Problems) -> Laws | None:
    keys = problems.table(GeneratedTable, table, name="generated")
    if keys is None or sizes.vocab_size is None:
        return None
    make = GeneratedRows(keys.seed, keys.exponent, keys.draft_spread)
    made = problems.attempt("[generated] seed", partial(make, sizes.vocab_size))
    return made and Laws(Rows({(): made[0]}), Rows({(): made[1]}))


def _read_table(
    name: str, document: Mapping[str, Any], *, sizes: Sizes, problems: Problems
) -> Rows | None:
    table = document.get(name)
    if not isinstance(table, dict):
        what = "is missing; add it" if table is None else f"is {shown(table)}; make it a table"
        problems.add(f"[{name}]", f"{what}, or [generated] for a large vocabulary.")
        return None
    named = {key: table[key] for key in table if any(letter.isalpha() for letter in key)}
    keys = problems.table(RowsTable, named, name=name, also=['prefixes such as "0 1"'])
    given: dict[Prefix, Row] = {}
    for key in (key for key in table if key not in named):
        place = f"[{name}] row {shown(key)}"
        row = _read_row(table[key], place=place, sizes=sizes, problems=problems)
        prefix = _read_prefix(key, table=name, sizes=sizes, problems=problems)
        if prefix is not None:
            given[prefix] = row
    return Rows(given, keys.extend) if keys else None


def _read_prefix(key: str, *, table: str, sizes: Sizes, problems: Problems) -> Prefix | None:
    gamma = sizes.num_speculative_tokens
    longest = gamma if gamma is None or table == "target" else gamma - 1
    read = partial(checks.prefix, key, vocab_size=sizes.vocab_size, longest=longest)
    return problems.attempt(f"[{table}] row {shown(key)}", read)


def _read_row(values: object, *, place: str, sizes: Sizes, problems: Problems) -> Row:
    if not isinstance(values, list):
        problems.add(place, f'is {shown(values)}; make it an array such as ["1/5", "4/5"].')
        return _BROKEN
    # One by one and not through pydantic, whose error holds gigabytes where a long row is wrong.
    numbers = [
        problems.attempt(f"{place}, token {token},", partial(checks.rational, value))
        for token, value in enumerate(values)
    ]
    known = [number for number in numbers if number is not None]
    if len(known) < len(numbers):
        return _BROKEN
    row = problems.attempt(place, partial(checks.row, known, vocab_size=sizes.vocab_size))
    return _BROKEN if row is None else row


def reachable(rows: Rows, longest: int) -> Iterator[Prefix]:
    """Yields the prefixes of 0..longest tokens that have positive probability under `rows`."""
    prefixes: list[Prefix] = [()]
    for _ in range(longest):
        yield from prefixes
        prefixes = [(*prefix, token) for prefix in prefixes for token in _support(rows, prefix)]
    yield from prefixes


def missing_rows(laws: Laws, num_speculative_tokens: int) -> Iterator[str]:
    """Yields the place of every row that is reachable and not given."""
    drafted = set(reachable(laws.draft, num_speculative_tokens))
    verified = drafted | set(reachable(laws.target, num_speculative_tokens))
    proposed = {prefix for prefix in drafted if len(prefix) < num_speculative_tokens}
    for name, rows, needed in zip(laws._fields, laws, (verified, proposed), strict=True):
        for prefix in sorted(needed, key=lambda tokens: (len(tokens), tokens)):
            if _row(rows, prefix) is None:
                yield f'[{name}] row "{" ".join(map(str, prefix))}"'


def _support(rows: Rows, prefix: Prefix) -> list[int]:
    row = _row(rows, prefix)
    return [] if row is None else np.flatnonzero(row.numerators).tolist()


def _row(rows: Rows, prefix: Prefix) -> Row | None:
    try:
        return rows[prefix]
    except CaseError:
        return None
