"""`cases`, `faults`, `samplers` and `exact`."""

from __future__ import annotations

from pathlib import Path

import pytest

from audit.cli import execute
from audit.exact.catalogue import RULES
from audit.render.listing import sampler_list
from audit.resources import cases_dir
from audit.samplers.listing import list_samplers

BROKEN = """
id = "broken"
why = "Its rows are wrong."
"""


def test_every_shipped_case_is_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert execute(["cases", "list"]) == 0
    out = capsys.readouterr().out
    assert all(path.stem in out for path in cases_dir().glob("*.toml"))


def test_a_case_is_shown_in_fractions(capsys: pytest.CaptureFixture[str]) -> None:
    assert execute(["cases", "show", "article-three-tokens", "zipf-1000"]) == 0
    out = capsys.readouterr().out
    assert "1/5, 1/2, 3/10" in out
    assert "and 988 ids more" in out


def test_a_broken_case_file_exits_2_and_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "broken.toml").write_text(BROKEN)
    assert execute(["cases", "validate", str(tmp_path)]) == 2
    assert "broken.toml" in capsys.readouterr().err
    assert execute(["cases", "validate", str(cases_dir())]) == 0


def test_every_rule_is_listed_and_shown(capsys: pytest.CaptureFixture[str]) -> None:
    assert execute(["faults", "list"]) == 0
    assert set(RULES) <= set(capsys.readouterr().out.split())
    for rule in RULES.values():
        assert execute(["faults", "show", rule.id]) == 0
        assert rule.formula in " ".join(capsys.readouterr().out.split())


def test_an_unknown_fault_exits_2() -> None:
    assert execute(["faults", "show", "nothing-of-that-name"]) == 2


def test_samplers_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert execute(["samplers", "list"]) == 0
    out = capsys.readouterr().out
    assert all(name in out for name in ("reference", "rule:ratio", "transformers", "module:object"))


def test_into_a_pipe_every_sampler_takes_a_line_with_its_whole_name(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert execute(["samplers", "list"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines[1:]] == [row.name for row in list_samplers()]


def test_on_a_narrow_terminal_names_are_folded_and_not_cut() -> None:
    rows = list_samplers()
    text = sampler_list(rows, color=False, width=50)
    assert "…" not in text
    longest = max((row.name for row in rows), key=len)
    table = sampler_list([row for row in rows if row.name == longest], color=False, width=40)
    assert longest in "".join(line.split("  ")[0] for line in table.splitlines())


def test_exact_prints_the_numbers_of_the_article(capsys: pytest.CaptureFixture[str]) -> None:
    # The article's text: accepted mass .2, .3, .2; residual 0, 2/3, 1/3; output = target.
    assert execute(["exact", "article-three-tokens"]) == 0
    out = capsys.readouterr().out
    assert "0         1/5    1/2   1/5         0          0      1/5" in out
    assert "1         1/2   3/10  3/10       2/3        2/3      1/2" in out


def test_exact_exits_1_where_the_rule_is_biased(capsys: pytest.CaptureFixture[str]) -> None:
    # The article's text: with the full target as fallback the output is .26, .45, .29.
    assert execute(["exact", "article-three-tokens", "--rule", "full-target-fallback"]) == 1
    out = capsys.readouterr().out
    assert all(share in out for share in ("13/50", "9/20", "29/100"))


def test_exact_decides_a_large_case_and_refuses_what_it_cannot(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert execute(["exact", "zipf-32000"]) == 0
    assert execute(["exact", "zipf-32000", "--rule", "block"]) == 2
    assert "cells" in capsys.readouterr().err
