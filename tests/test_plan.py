"""What is foreseen of a run, against runs: rounds agree within a factor of two.

Each comparison has a false-alarm rate of 1e-6 (exact binomial); a plan for a much smaller or a
much larger bias must be refuted by the same runs.
"""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from frequencies import FALSE_ALARM, at_most
from scipy.stats import binom

from audit.cli import execute
from audit.errors import UsageError
from audit.judgement.bias import Bias
from audit.plan import CasePlan, Planner, make_plan
from audit.render.plan import STATUSES, plan_json, plan_text
from audit.selection import select_cases
from audit.settings import Settings
from audit.simulation.detection import BUDGET, prepared
from audit.simulation.drawn import followed
from audit.statistics.certificate import looks
from tests.simulation import budget_for, campaign_of
from tests.worlds import article, identical, prefix_dependent

HEADLINE = "full-target-fallback"
POWER, RUNS = 0.8, 75
QUESTIONS = [
    ("article-three-tokens", HEADLINE, None),
    ("basis-1", "residual-of-top-2", None),
    ("one-hot-draft", None, 0.1),
    ("tree-basis", "siblings-full-target-fallback", None),
    ("one-hot-target", None, 0.02),
]


def planned(case: str, fault: str | None, tv: float | None, power: float = POWER) -> CasePlan:
    return Planner(BUDGET, fault=fault, tv=tv, power=power).of(prepared(case))


def stops(case: str, fault: str | None, tv: float | None) -> list[int]:
    """Returns the rounds after which simulated runs have failed."""
    setup, rng = prepared(case), np.random.default_rng(11)
    bias = Bias.of(setup, fault)
    laws = bias.laws((tv or bias.most) / bias.most)
    made = [followed(setup, laws, BUDGET, looks=looks(10**6), rng=rng) for _ in range(RUNS)]
    assert all(monitor.failures for monitor in made)
    return [monitor.trials for monitor in made]


def within_a_factor_of_two(rounds: int, observed: list[int]) -> bool:
    """Whether POWER of the runs may fail between half and twice the rounds."""
    early = sum(n <= rounds // 2 for n in observed)
    late = sum(n <= 2 * rounds for n in observed)
    return at_most(early, RUNS, rate=POWER) and bool(binom.cdf(late, RUNS, POWER) > FALSE_ALARM)


@pytest.mark.parametrize(("case", "fault", "tv"), QUESTIONS)
def test_runs_fail_when_it_is_foreseen(case: str, fault: str | None, tv: float | None) -> None:
    plan, observed = planned(case, fault, tv), stops(case, fault, tv)
    assert plan.rounds is not None
    assert within_a_factor_of_two(plan.rounds, observed)
    weaker = planned(case, fault, plan.tv / 10)
    assert not within_a_factor_of_two(weaker.rounds, observed)


def test_a_real_sampler_is_refuted_when_it_is_foreseen() -> None:
    # Half of the runs fail within twice the rounds of half the power, none in half of them.
    planner = Planner(budget_for(), fault="shared-coin", power=0.5)
    plan = planner.of(planner.prepared(prefix_dependent(2)))
    assert plan.declares == "ratio"
    assert plan.declared < plan.rounds
    found = {}
    for declares in ((), ("ratio",)):
        made = [
            campaign_of("fault:shared-coin", [prefix_dependent(2)], declares=declares, seed=seed)
            for seed in range(7)
        ]
        found[declares] = np.median([run.monitors[0].trials for run in made])
    assert plan.rounds / 2 <= found[()] <= 2 * plan.rounds
    assert plan.declared / 2 <= found["ratio",] <= 2 * plan.declared


def test_what_is_seen_at_a_number_of_rounds_is_the_inverse_of_the_rounds_needed() -> None:
    settings = Settings(samples=20_000)
    planner = Planner(budget_for(), settings, fault=HEADLINE)
    setup = planner.prepared(article(2))
    plan = planner.of(setup)
    assert plan.rounds < 20_000
    barely = replace(planner, tv=plan.smallest * 1.001).of(setup)
    assert barely.rounds <= 20_000
    assert replace(planner, tv=plan.smallest / 1.3).of(setup).rounds > 20_000


def test_smaller_levels_smaller_biases_and_more_cases_need_more_rounds() -> None:
    def rounds(**changes: object) -> int:
        given = {"fault": HEADLINE, "settings": Settings()} | changes
        found = make_plan([article(2)], **given).cases[0]
        return found.e_process + found.chi_square

    usual = rounds()
    assert rounds(settings=Settings(alpha=1e-3)) < usual < rounds(settings=Settings(alpha=1e-12))
    assert rounds(power=0.5) < usual < rounds(power=0.999)
    assert usual < rounds(tv=0.01)


def test_cases_that_cannot_answer_say_why() -> None:
    cases = ["identical", "tree-basis", "zipf-1000", "disjoint"]
    never = {c.case: c.status for c in make_plan(cases, fault="never-accept").cases}
    assert never == {
        "identical": "undefined",
        "tree-basis": "other drafts",
        "zipf-1000": "too large",
        "disjoint": "blind",
    }
    (beyond,) = make_plan([article(2)], fault=HEADLINE, tv=0.3).cases
    assert (beyond.status, beyond.tv) == ("out of reach", pytest.approx(0.078, abs=1e-6))


def test_without_a_question_the_commonest_fault_of_each_shape_is_meant() -> None:
    chain, tree, blind = make_plan(["article-three-tokens", "tree-basis", "identical"]).cases
    assert chain.fault == HEADLINE
    assert tree.fault == "siblings-full-target-fallback"
    assert blind.status == "blind"
    large = make_plan(["zipf-1000"]).cases[0]
    assert large.rounds < 5_000


def test_a_fault_of_trees_is_planned_on_trees() -> None:
    assert [c.case for c in make_plan(fault="distinct-one-coin").cases] == [
        case.id for case in select_cases(["trees"], drafts=["distinct"])
    ]


def test_a_constant_of_ones_own_can_be_asked_about() -> None:
    mild, strong = (
        make_plan([article(2)], fault=f"lenience@{x}").cases[0] for x in ("9/10", "1/2")
    )
    assert mild.rounds > strong.rounds


@pytest.mark.parametrize("wrong", [{"tv": 0.0}, {"power": 1.0}, {"tv": float("nan")}])
def test_numbers_out_of_bounds_are_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(UsageError, match="between 0 and 1"):
        make_plan([article(2)], **wrong)


def test_the_text_fits_a_terminal_and_explains_itself() -> None:
    plan = make_plan(["article-three-tokens", "identical", "prefix-dependent-3"])
    for width in (80, 110):
        text = plan_text(plan, color=False, width=width)
        assert max(map(len, text.splitlines())) <= width
        assert all(case.case in text for case in plan.cases)
        assert STATUSES["blind"][1] in text
    assert "flattest bias" in plan_text(make_plan([identical()], tv=0.05), color=False, width=80)


def test_json_holds_every_figure() -> None:
    plan = make_plan([article(2)], fault=HEADLINE)
    data = json.loads(plan_json(plan))
    assert data["cases"][0]["rounds"] == plan.cases[0].rounds
    assert data["power"] == 0.9


def test_the_command_plans(capsys: pytest.CaptureFixture[str]) -> None:
    command = ["plan", "--cases", "article-three-tokens"]
    assert execute([*command, "--json", "-", "--tv", "0.02", "--samples", "1000"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert (data["samples"], data["tv"], data["fault"]) == (1_000, 0.02, None)
    assert data["cases"][0]["smallest"] > 0.02
    assert execute([*command, "--fault", HEADLINE]) == 0
    assert execute([*command, "--fault", "no-such-fault"]) == 2
    assert execute([*command, "--tv", "2"]) == 2
