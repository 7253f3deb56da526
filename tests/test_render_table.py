"""The CSV: golden file, read back by pandas, no formula, and the numbers behind it."""

from __future__ import annotations

import io
import math

import browser_records
import golden_reports
import pandas as pd
import pytest
import sample_record as sample

from audit.record import Record
from audit.render.markdown import markdown
from audit.render.numbers import numbers
from audit.render.table import COLUMNS, table


def read_back(record: Record) -> pd.DataFrame:
    return pd.read_csv(io.StringIO(table(record)))


def test_the_golden_file() -> None:
    text = table(golden_reports.every_outcome())
    assert golden_reports.golden("table.csv", text) == text


def test_a_row_a_case_in_the_order_of_the_run() -> None:
    record = golden_reports.every_outcome()
    frame = read_back(record)
    assert tuple(frame.columns) == COLUMNS
    assert list(frame["case"]) == [case.id for case in record.cases]
    assert list(frame["verdict"])[-1] == "ERROR"
    assert frame["trials"].isna().sum() == 1


def test_the_numbers_are_those_of_the_evidence() -> None:
    # token 0: 26 % instead of 20 %; TV: (0.06 + 0.05 + 0.01) / 2
    row = read_back(sample.record(sample.audit("s", sample.bad()))).iloc[0]
    assert (row["token"], row["intended"], row["measured"], row["tv"]) == (0, 0.2, 0.26, 0.06)


def test_a_ratio_bin_of_a_large_vocabulary_is_not_called_a_token() -> None:
    row = read_back(browser_records.large()).iloc[0]
    assert (row["ratio_bin"], row["intended"], row["measured"]) == (0, 0.2, 0.26)
    assert math.isnan(row["token"])
    assert "ratio bin 0: 0.2000, 0.2600" in markdown(browser_records.large())


def test_numbers_have_six_digits() -> None:
    found = numbers(sample.evidence(sample.NEAR_TARGET, log_e=1 / 3))
    assert found.log10_e_value == 0.144765  # 1 / (3 ln 10)
    assert found.measured == 0.4956


def test_no_name_becomes_a_formula_or_another_cell() -> None:
    frame = read_back(golden_reports.hostile())
    assert len(frame) == len(golden_reports.HOSTILE_NAMES)
    text = frame.astype(str)
    for column in ("sampler", "case", "suspects", "repeat"):
        assert not text[column].str.match(r"^[=+@\t\r-]").any()
        assert not text[column].str.contains("[\x00-\x1f\u202e]").any()


@pytest.mark.parametrize("name", ["=1+1", "+1", "-1", "@x"])
def test_a_formula_is_quoted(name: str) -> None:
    assert read_back(sample.record(sample.audit("s", sample.bad(name))))["case"][0] == f"'{name}"
