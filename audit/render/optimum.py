"""How far a rule is from the best possible sampler, as text and as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterable
from fractions import Fraction
from typing import Any

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from audit.exact.comparison import Comparison, Standing
from audit.exact.optimum import Optimum
from audit.render.exact import number
from audit.render.plain import clean
from audit.render.terminal import STYLES, plain_table, rendered
from audit.render.words import NO_EVIDENCE


def optimum_text(found: Iterable[Comparison], *, color: bool, width: int) -> str:
    """Returns the comparison of each case, one below the other, and what none of them says."""
    parts = [part for one in found for part in (*_case(one), "")]
    return rendered([*parts, Text(NO_EVIDENCE, style="dim")], color=color, width=width)


def optimum_json(found: Iterable[Comparison]) -> str:
    """Returns the comparisons as a JSON list, every number as a fraction and as a decimal."""
    return json.dumps([_plain(one) for one in found], indent=2, allow_nan=False)


def _case(one: Comparison) -> list[RenderableType]:
    word, tone = ("lossless", "good") if one.rule.lossless else ("biased", "bad")
    title = Text.assemble(
        (clean(one.case_id, 60), "bold"), f", rule {one.rule.rule_id}: ", (word, STYLES[tone])
    )
    ways = dict.fromkeys((one.best_acceptance.how, one.best_accepted.how))
    return [title, _figures(one), Text(f"  best known by: {'; '.join(ways)}"), *_others(one)]


def _figures(one: Comparison) -> Table:
    table = plain_table("  a round", one.rule.rule_id, "best lossless", "gap")
    for name, value, best in (
        ("accepts at least one draft", one.rule.acceptance, one.best_acceptance),
        ("accepted tokens, mean", one.rule.accepted, one.best_accepted),
    ):
        gap = _gap(best, value) if one.rule.lossless else "–"
        shown = number(value, one.rule.slack)
        table.add_row(f"  {name}", shown, _best(best), gap)
    return table


def _best(best: Optimum) -> str:
    if best.value is not None:
        return number(best.value)
    return f"{float(best.lower):.6g} to {float(best.upper):.6g}"


def _gap(best: Optimum, value: Fraction) -> str:
    if best.value is not None:
        return number(best.value - value)
    return f"at most {float(best.upper - value):.6g}"


def _others(one: Comparison) -> list[RenderableType]:
    if not one.others and not one.not_computed:
        return []
    table = plain_table("  other lossless rules", "at least one", "accepted tokens, mean")
    for other in one.others:
        table.add_row(
            f"  {other.rule_id}",
            number(other.acceptance, other.slack),
            number(other.accepted, other.slack),
        )
    for name in one.not_computed:
        table.add_row(f"  {name}", "not computed: the law is too large", "")
    return [table]


def _plain(one: Comparison) -> dict[str, Any]:
    return {
        "case": one.case_id,
        "rule": {"id": one.rule.rule_id, **_standing(one.rule)},
        "best": {
            "acceptance": _plain_best(one.best_acceptance, one.rule.acceptance),
            "accepted_tokens": _plain_best(one.best_accepted, one.rule.accepted),
        },
        "other_lossless_rules": [{"id": o.rule_id, **_standing(o)} for o in one.others],
        "not_computed": list(one.not_computed),
        "note": NO_EVIDENCE,
    }


def _standing(standing: Standing) -> dict[str, Any]:
    return {
        "lossless": standing.lossless,
        "acceptance": _exact(standing.acceptance),
        "accepted_tokens": _exact(standing.accepted),
        "error_bound": float(standing.slack),
    }


def _plain_best(best: Optimum, reached: Fraction) -> dict[str, Any]:
    return {
        "value": None if best.value is None else _exact(best.value),
        "lower": _exact(best.lower),
        "upper": _exact(best.upper),
        "upper_less_rule": _exact(best.upper - reached),
        "known_by": best.how,
    }


def _exact(value: Fraction) -> dict[str, Any]:
    return {"fraction": str(value), "decimal": float(value)}
