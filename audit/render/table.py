"""A record as CSV: a row a case, for a spreadsheet or a data frame."""

from __future__ import annotations

from audit.record import CaseResult, Record
from audit.render.findings import REPEAT_LIMIT
from audit.render.numbers import Numbers, numbers, rounded
from audit.render.plain import clean

_BEFORE = ("sampler", "case", "verdict", "suspects", "vocab_size", "num_speculative_tokens")
COLUMNS = (*_BEFORE, *Numbers._fields, "law_bound", "seed", "repeat")
_FORMULA = ("=", "+", "-", "@")


def table(record: Record) -> str:
    """Returns the CSV of a record, in the order of the run; an empty field is not known."""
    import pandas as pd

    rows = [_row(case, record) for case in record.cases]
    frame = pd.DataFrame(rows, columns=list(COLUMNS), dtype=object)
    return str(frame.to_csv(index=False, lineterminator="\n"))


def _row(case: CaseResult, record: Record) -> tuple[object, ...]:
    found = numbers(case.evidence) if case.evidence else (None,) * len(Numbers._fields)
    return (
        _cell(record.sampler.name),
        _cell(case.id),
        case.verdict.word,
        _cell(" ".join(case.verdict.suspects)),
        case.vocab_size,
        case.num_speculative_tokens,
        *found,
        rounded(case.law_bound),
        record.settings.seed,
        _cell(case.repeat, REPEAT_LIMIT),
    )


def _cell(text: str, limit: int = 120) -> str:
    """Returns harmless text that no spreadsheet takes for a formula.

    >>> _cell("=1+1"), _cell("basis-1")
    ("'=1+1", 'basis-1')
    """
    text = clean(text, limit)
    return f"'{text}" if text.startswith(_FORMULA) else text
