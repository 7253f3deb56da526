"""What the benchmark of steering claims: how many times fewer rows than Monte Carlo."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType

import pytest

from audit.statistics.total_variation import slack

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"


@pytest.fixture
def steered(monkeypatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    import steered

    return steered


def rows_ratio(line: str) -> int:
    return int(line.split()[-2].replace(",", ""))


def test_monte_carlo_is_asked_for_what_its_certificate_cannot_do_without(steered):
    # verdict.md 4: U = TV + sqrt(ln(1 / delta) / (2 n)), here with TV = 0.
    needed = steered.monte_carlo(1e-4)
    assert slack(int(needed), steered.DELTA) == pytest.approx(1e-4, rel=1e-6)


def test_a_thousand_times_fewer_rows_certify_1e_4(steered):
    assert rows_ratio(steered.line("rule:ratio", "article-three-tokens", 1e-4)) >= 1_000


def test_what_is_not_certified_stops_the_benchmark(steered):
    with pytest.raises(SystemExit, match="not certified"):
        steered.line("fault:full-target-fallback", "article-three-tokens", 1e-3)


@pytest.mark.heavy
def test_a_hundred_thousand_times_fewer_rows_certify_1e_6(steered):
    assert rows_ratio(steered.line("rule:ratio", "article-three-tokens", 1e-6)) >= 100_000
