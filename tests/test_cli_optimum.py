"""`optimum`: a rule beside the best possible, as text and as JSON."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from audit.cli import execute
from audit.render.words import NO_EVIDENCE
from audit.resources import cases_dir


def figures(capsys: pytest.CaptureFixture[str], *arguments: str) -> list[dict[str, Any]]:
    """Returns what the command prints as JSON."""
    assert execute(["optimum", *arguments, "--json", "-"]) == 0
    found: list[dict[str, Any]] = json.loads(capsys.readouterr().out)
    return found


def test_the_text_names_rule_best_gap_and_what_it_does_not_say(
    capsys: pytest.CaptureFixture[str],
) -> None:
    # Section 1.6 of the algorithm page, G2, gamma 2: 5/4 by the ratio rule, 13/10 by blocks.
    assert execute(["optimum", "prefix-dependent-2"]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "accepted tokens, mean 5/4 = 1.25 13/10 = 1.3 1/20 = 0.05" in text
    assert "best known by: closed form" in text
    assert "block 7/10 = 0.7 13/10 = 1.3" in text
    assert NO_EVIDENCE in text


def test_json_holds_fractions(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (found,) = figures(capsys, "tree-two-paths")
    assert found["rule"]["id"] == "recursive-rejection"
    best = found["best"]["accepted_tokens"]
    assert best["known_by"] == "linear program, rational certificate"
    assert best["value"] == best["lower"] == best["upper"]
    reached = Fraction(found["rule"]["accepted_tokens"]["fraction"])
    gap = Fraction(best["upper_less_rule"]["fraction"])
    assert reached + gap == Fraction(best["value"]["fraction"])
    path = tmp_path / "best.json"
    assert execute(["optimum", "tree-two-paths", "--json", str(path)]) == 0
    assert json.loads(path.read_text()) == [found]


def test_a_biased_rule_has_no_gap(capsys: pytest.CaptureFixture[str]) -> None:
    assert execute(["optimum", "same-argmax", "--rule", "always-accept"]) == 0
    out = capsys.readouterr().out
    assert "rule always-accept: biased" in out
    assert "–" in out


def test_every_shipped_case_has_a_best(capsys: pytest.CaptureFixture[str]) -> None:
    small = [path.stem for path in cases_dir().glob("*.toml") if path.stem != "zipf-128256"]
    for found in figures(capsys, *small):
        for best in found["best"].values():
            assert best["value"] is not None, found["case"]
        reached = [found["rule"], *found["other_lossless_rules"]]
        for figure, best in found["best"].items():
            assert (
                max(one[figure]["decimal"] for one in reached) <= best["upper"]["decimal"] + 1e-12
            )


@pytest.mark.parametrize("wrong", [["nothing"], ["same-argmax", "--rule", "nothing"], []])
def test_what_is_unknown_exits_2(wrong: list[str]) -> None:
    assert execute(["optimum", *wrong]) == 2
