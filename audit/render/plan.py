"""A plan as text and JSON: rounds that each case needs, and what it cannot see."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from audit.plan import CasePlan, Plan, Status
from audit.render.plain import clean
from audit.render.terminal import NARROW, STYLES, plain_table, rendered
from audit.render.words import fixed

NEVER = "over 1e9"
COLUMNS: Mapping[str, str] = {
    "rounds": "until a run fails the case, at the end of a chunk, 200 rounds at the earliest",
    "chi-square": "the N of a run with --samples N that fails by its chi-square",
    "declared": "until a run fails a sampler that --declares the rule behind the fault",
    "PASS at": "rounds after which a correct sampler is expected to be certified at epsilon",
}
STATUSES: Mapping[Status, tuple[str, str]] = {
    "blind": ("blind", "the fault does not change the law of this case"),
    "undefined": ("undefined", "the fault draws from nothing on this case"),
    "other drafts": ("other", "the fault verifies drafts of another shape than this case's"),
    "too large": ("large", "too many ids for a fault that an audit does not bet on"),
}
FLATTEST = (
    "The flattest bias raises blocks of about half of the mass and lowers the others in "
    "proportion: of all biases of this size a chi-square over all blocks sees it worst."
)


def plan_text(plan: Plan, *, color: bool, width: int) -> str:
    """Returns a line a case under the question, and below what the columns and words mean."""
    parts: list[RenderableType] = [
        Text(_question(plan), style="bold"),
        Text(_terms(plan), style="dim"),
        "",
        _table(plan, narrow=width < NARROW),
        "",
        _meanings(plan),
    ]
    if plan.fault is None and plan.tv is not None:
        parts.append(Text(FLATTEST, style="dim"))
    return rendered(parts, color=color, width=width)


def plan_json(plan: Plan) -> str:
    """Returns the plan as JSON."""
    cases = [asdict(case) | {"rounds": case.rounds} for case in plan.cases]
    return json.dumps(asdict(plan) | {"cases": cases}, indent=1) + "\n"


def _question(plan: Plan) -> str:
    if plan.fault is None and plan.tv is None:
        return "Rounds until the commonest public fault, the full-target fallback, is found"
    if plan.fault is None:
        return f"Rounds until the flattest bias of total variation {plan.tv:g} is found"
    weak = "" if plan.tv is None else f", so rare that its total variation is {plan.tv:g},"
    return f"Rounds until {plan.fault}{weak} is found"


def _terms(plan: Plan) -> str:
    cases = "1 case" if len(plan.cases) == 1 else f"{len(plan.cases)} cases that share alpha"
    return f"power {plan.power:g}, alpha {plan.alpha:g}, epsilon {plan.epsilon:g}, {cases}"


def _table(plan: Plan, *, narrow: bool) -> Table:
    numbers = ("TV", "rounds", "chi-square", "declared", "sees", "PASS at")
    by = () if narrow else ("by",)
    table = plain_table("case", *numbers[:2], *by, *numbers[2:], numbers=numbers)
    for case in plan.cases:
        table.add_row(
            Text(clean(case.case, 60)),
            _tv(case),
            _rounds(case, case.rounds),
            *(() if narrow else (_by(case),)),
            _rounds(case, case.chi_square),
            _rounds(case, case.declared) if case.declares else "–",
            fixed(case.smallest),
            _number(case.certified),
        )
    return table


def _tv(case: CasePlan) -> Text:
    if case.status in STATUSES:
        return Text(STATUSES[case.status][0], style=STYLES["open"])
    return Text(("" if case.status == "seen" else "≤ ") + fixed(case.tv))


def _rounds(case: CasePlan, value: int | None) -> str:
    return _number(value) if case.status == "seen" else "–"


def _number(value: int | None) -> str:
    return NEVER if value is None else f"{value:,}"


def _by(case: CasePlan) -> str:
    if case.status != "seen" or case.rounds is None:
        return ""
    return "e-process" if case.rounds == case.e_process else "impossible events"


def _meanings(plan: Plan) -> Table:
    found = {case.status for case in plan.cases}
    seen = {"sees": f"the smallest TV in this direction that {plan.samples:,} rounds find"}
    words = dict(text for status, text in STATUSES.items() if status in found)
    table = plain_table("", "")
    table.show_header = False
    for term, meaning in {**COLUMNS, **seen, **words}.items():
        table.add_row(Text(term, style="dim"), Text(meaning, style="dim"))
    return table
