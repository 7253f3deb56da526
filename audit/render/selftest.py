"""A selftest as one text that can be pasted, and as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from audit.render.terminal import NARROW, STYLES, plain_table, rendered
from audit.render.words import fixed
from audit.selftest import Rate, SelfTest

ROOM = 105  # columns that all figures of a stopping time need
QUICK = "quick: too few runs to show small errors; without --quick it takes up to 10 minutes"
RATES = "Share of runs, 99.9 % interval in brackets; the nominal level is an upper bound."
STOPS = """\
Rounds until a run fails the fault at alpha 1e-6 on the case that shows it best: half and nine \
tenths of all runs are expected to have done so by then; observed median and latest."""
PAIRS = "Nearest pairs of other entries: total variation of the law of (draft, emitted)"


def selftest_text(found: SelfTest, *, color: bool, width: int) -> str:
    """Returns rates, stopping times, aliases, and whether all is consistent."""
    parts: list[RenderableType] = [Text(_title(found), style="bold"), ""]
    parts += _section("False alarms of a correct sampler", RATES, _rates(found.alarms))
    runs = f"{found.alarms[0].runs:,} runs of the reference, {found.trials:,} rounds each"
    parts += [Text(runs, style="dim"), ""]
    samplers = "Certificates of samplers whose total variation exceeds epsilon by up to a fifth"
    parts += [*_section(samplers, RATES, _rates(found.certificates)), ""]
    parts += [*_section("Stopping times", STOPS, _stops(found, width=width)), ""]
    parts += [*_aliases(found), "", _conclusion(found)]
    return rendered(parts, color=color, width=width)


def selftest_json(found: SelfTest) -> str:
    """Returns all figures as JSON."""
    facts = asdict(found) | {"inconsistent": found.inconsistent}
    return json.dumps(facts, indent=1) + "\n"


def _title(found: SelfTest) -> str:
    kind = QUICK if found.quick else "full"
    made = f"{found.seconds:.0f} s on {found.processes} processes"
    return f"draftproof {found.version} selftest, seed {found.seed}, {made}; {kind}"


def _section(title: str, explained: str, table: Table) -> list[RenderableType]:
    return [Text(title, style="bold"), Text(explained, style="dim"), table]


def _rates(rates: Iterable[Rate]) -> Table:
    """Returns a line a test, a column a nominal level."""
    by_test: dict[str, dict[float, Rate]] = {}
    for rate in rates:
        by_test.setdefault(rate.name, {})[rate.nominal] = rate
    levels = list(next(iter(by_test.values())))
    table = plain_table("test", *(f"at {level:g}" for level in levels))
    for test, found in by_test.items():
        table.add_row(test, *(_rate(found[level]) for level in levels))
    return table


def _rate(rate: Rate) -> Text:
    share = rate.hits / rate.runs
    text = f"{fixed(share)} ({fixed(rate.low)}, {fixed(rate.high)})"
    return Text(text, style="" if rate.consistent else STYLES["bad"])


def _stops(found: SelfTest, *, width: int) -> Table:
    case = ("case",) if width >= ROOM else ()
    late = width >= NARROW
    numbers = ("TV", "half", *(("9/10",) if late else ()), "median", "latest")
    table = plain_table("fault", *case, *numbers, numbers=numbers)
    for d in found.detections:
        where = (d.case,) if case else ()
        expected = (d.expected, d.late) if late else (d.expected,)
        rounds = [f"{n:,}" for n in (*expected, d.observed)]
        latest = "missed" if d.missed else f"{d.latest:,}"
        table.add_row(d.fault, *where, fixed(d.tv), *rounds, latest)
    return table


def _aliases(found: SelfTest) -> list[RenderableType]:
    unseen = ", ".join(found.unseen) or "none"
    groups = (" = ".join(group) for group in found.aliases)
    pairs = (f"{p.joint:.4f}  {p.one} / {p.other} ({p.case})" for p in found.nearest)
    return [
        Text(f"Faults that no shipped case shows: {unseen}"),
        "",
        Text("Aliases: entries of one law on every shipped case", style="bold"),
        *map(Text, groups),
        "",
        Text(PAIRS, style="bold"),
        *map(Text, pairs),
    ]


def _conclusion(found: SelfTest) -> Text:
    if found.inconsistent:
        return Text(f"✗ NOT CONSISTENT  {'; '.join(found.inconsistent)}", style=STYLES["bad"])
    return Text(
        "✓ CONSISTENT  no rate is above its nominal level beyond chance, every fault was found",
        style=STYLES["good"],
    )
