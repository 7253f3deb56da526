"""What cases show of the catalogue: the page's values, the golden file, blindness, the outputs.

golden/fault_matrix.csv is written by benchmarks/write_docs.py; that its values are right is
checked on those of golden/chain_table.csv, which was copied from the page.
"""

from __future__ import annotations

import csv
import io
import json
from fractions import Fraction
from pathlib import Path

import pandas
import pytest
from shipped import CASES, shipped_matrix

from audit.cli import execute
from audit.errors import UsageError
from audit.exact.catalogue import RULES, rules_for
from audit.exact.matrix import MEASURES, Cell, FaultMatrix, fault_matrix
from audit.render.matrix import exact_csv, matrix_csv, matrix_json, matrix_text
from audit.selection import select_cases

GOLDEN = Path(__file__).parent / "golden"
CODES = {rule.code: rule.id for rule in RULES.values() if rule.code}
with (GOLDEN / "chain_table.csv").open(encoding="utf-8", newline="") as page:
    PAGE = list(csv.DictReader(page))
# The page's X04 and X10 read a row that no verifier holds; X15, X16 and R06 count what cannot be
# seen from drafts and block alone (test_chain_table).
OTHER_ROW, OTHER_EVENTS = ("X04", "X10"), ("X15", "X16", "R06")


@pytest.fixture(scope="module")
def matrix() -> FaultMatrix:
    return shipped_matrix()


def cell(matrix: FaultMatrix, rule: str, case: str) -> Cell:
    (found,) = (one for one in matrix.of_rule(rule) if one.case == case)
    return found


def test_the_golden_matrix_is_current(matrix: FaultMatrix) -> None:
    written = (GOLDEN / "fault_matrix.csv").read_text(encoding="utf-8")
    assert written == exact_csv(matrix), "run: python benchmarks/write_docs.py"


@pytest.mark.parametrize("line", PAGE, ids=[line["code"] for line in PAGE])
def test_the_measures_are_those_of_the_page(matrix: FaultMatrix, line: dict[str, str]) -> None:
    code, rule = line["code"], CODES[line["code"]]
    if code in OTHER_ROW:
        return
    g2, i1, i2 = (cell(matrix, rule, c) for c in ("prefix-dependent-2", "basis-1", "basis-2"))
    assert [one.completed for one in (g2, i1, i2)] == [
        Fraction(line[name]) for name in ("g2_tv", "i1_tv", "i2_tv")
    ]
    assert g2.block == Fraction(line["g2_block_tv"])
    if code not in OTHER_EVENTS:
        assert g2.impossible == Fraction(line["g2_forbidden_joint"])


def test_every_case_has_a_cell_for_every_entry_of_its_shape(matrix: FaultMatrix) -> None:
    for case in CASES:
        assert tuple(one.rule for one in matrix.of_case(case.id)) == rules_for(case)


def test_lossless_entries_are_biased_nowhere_but_greedy_where_it_is_not_meant(
    matrix: FaultMatrix,
) -> None:
    biased = {one.rule for one in matrix.cells if RULES[one.rule].lossless and not one.blind}
    assert biased == {"greedy"}
    assert cell(matrix, "greedy", "greedy-argmax").blind


def test_equal_rows_are_blind_to_every_fallback_and_say_where_nothing_is_defined(
    matrix: FaultMatrix,
) -> None:
    assert cell(matrix, "full-target-fallback", "identical").blind
    never = cell(matrix, "never-accept", "identical")  # always draws from an empty residual
    assert (never.undefined, never.completed, never.impossible) == (1, 1, 0)


def test_the_best_case_is_one_on_which_everything_is_defined(matrix: FaultMatrix) -> None:
    assert matrix.best("never-accept").case == "basis-2"
    assert matrix.best("argmax-residual", "impossible").impossible == 0
    with pytest.raises(KeyError):
        matrix.best("no-such-rule")


def test_a_case_too_large_to_enumerate_is_refused() -> None:
    with pytest.raises(UsageError, match="zipf-1000"):
        fault_matrix(select_cases(["zipf-1000"]))


def test_the_spreadsheet_holds_the_same_values(matrix: FaultMatrix) -> None:
    for measure in MEASURES:
        table = pandas.read_csv(io.StringIO(matrix_csv(matrix, measure)), index_col="fault")
        assert (tuple(table.index), tuple(table.columns)) == (matrix.rules, matrix.cases)
        for one in matrix.cells:
            assert table.loc[one.rule, one.case] == float(one.measure(measure))
    assert pandas.isna(table.loc["ratio", "tree-basis"])


def test_json_holds_fractions(matrix: FaultMatrix) -> None:
    cells = json.loads(matrix_json(matrix))["cells"]
    assert len(cells) == len(matrix.cells)
    found = {(one["rule"], one["case"]): one for one in cells}
    headline = found["full-target-fallback", "prefix-dependent-2"]
    assert headline["completed"] == "79/1000"  # algorithms.md, table 3.2


def test_the_text_fits_a_terminal_and_says_blind(matrix: FaultMatrix) -> None:
    text = matrix_text(matrix, measure="completed", color=False, width=80)
    assert max(map(len, text.splitlines())) <= 80
    assert all(fault in text for fault in matrix.biased)
    one = fault_matrix(select_cases(["identical"]))
    text = matrix_text(one, measure="completed", color=False, width=80)
    (line,) = (line for line in text.splitlines() if line.startswith("full-target-fallback"))
    assert line.split() == ["full-target-fallback", "blind", "0", "0"]
    assert "draws from nothing" in text


def test_the_command_prints_or_writes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["faults", "matrix", "--cases", "disjoint", "--cases", "basis-1"]
    assert execute([*command, "--measure", "block", "--csv", "-"]) == 0
    assert capsys.readouterr().out.startswith("fault,disjoint,basis-1\nratio,0.0,0.0\n")
    places = ["--csv", str(tmp_path / "m.csv"), "--json", str(tmp_path / "m.json")]
    assert execute([*command, *places]) == 0
    assert "full-target-fallback" in capsys.readouterr().out
    assert json.loads((tmp_path / "m.json").read_text())["cells"][0]["rule"] == "ratio"
    assert execute([*command, "--csv", "-", "--json", "-"]) == 2
