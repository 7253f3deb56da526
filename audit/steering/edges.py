"""What a sampler does at the edges of its random numbers: impossible tokens, exceptions, rubbish.

What the generator can produce stands in the map, which is searched up to the ends of every grid,
with its exact probability. What it cannot (a coin of exactly 1), or only with next to no
probability (the same extreme coin at every turn), is tried here; it is a matter of robustness.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

import numpy as np

from audit.case import Case, Prefix
from audit.errors import CaseError
from audit.statistics.binomial import upper_tail
from audit.steering.answers import UNDECIDED, Request
from audit.steering.blocks import EXCEPTION
from audit.steering.coupling import Coupling, Missed
from audit.steering.freshness import ALARM
from audit.steering.grids import Indices, Uniform
from audit.steering.law import RAISED, Outcome, possible
from audit.steering.layout import Layout
from audit.steering.map import Choice, Node, Race, Split
from audit.steering.probing import Prober

Kind = Literal["impossible token", "out of range", "exception", "no token", "gap"]
Grade = Literal["FAIL", "note", "warning"]
TRIES = 4  # probes under which an extreme number is tried


@dataclass(frozen=True)
class Edge:
    """An outcome that no correct sampler has, and the number that made it.

    chance: its exact probability, 0 where the generator never gives this number. grade: FAIL above
    the numerical tolerance, note below it, warning where extremes were put in by hand.
    """

    kind: Kind
    block: Prefix
    outcome: Outcome
    number: str
    chance: Fraction
    grade: Grade


def kind_of(case: Case, outcome: Outcome) -> Kind | None:
    """Returns what is wrong with an outcome on a case, None where a correct sampler may have it."""
    if outcome == RAISED:
        return "exception"
    if not outcome:
        return "no token"
    if any(token < -1 or token >= case.vocab_size for token in outcome):
        return "out of range"
    if not possible(case, outcome):
        return "gap"
    return None if _target_mass(case, outcome) else "impossible token"


def _target_mass(case: Case, outcome: Outcome) -> bool:
    try:
        return all(case.target[outcome[:i]][token] > 0 for i, token in enumerate(outcome))
    except CaseError:  # behind a token that cannot be
        return False


def mapped_edges(prober: Prober, maps: Mapping[int, Node], *, tolerance: float) -> tuple[Edge, ...]:
    """Returns the edges that the generator reaches, the likeliest first: one an outcome and kind.

    tolerance: what arithmetic alone may do, in total over all blocks.
    """
    case, found = prober.blocks.case, dict[tuple[Kind, Outcome], Edge]()
    chances = list(prober.blocks.chances.items())
    for number, node in maps.items():
        block, weight = chances[number]
        for code, mass, path in _paths(node):
            outcome = RAISED if code == EXCEPTION else prober.blocks.outcome(code)
            kind = kind_of(case, outcome)
            if kind is None or not mass:
                continue
            before = found.get((kind, outcome))
            chance = weight * mass + (before.chance if before else 0)
            told = before.number if before else _narrowest(prober, path)
            grade: Grade = "FAIL" if chance > tolerance else "note"
            found[kind, outcome] = Edge(kind, block, outcome, told, chance, grade)
    return tuple(sorted(found.values(), key=lambda edge: -edge.chance))


def surprising_edges(
    prober: Prober, missed: Missed, coupling: Coupling, *, tolerance: float
) -> tuple[Edge, ...]:
    """Returns the edges of fresh calls for which the map foretells something else.

    What breaks the contract fails at once, an impossible token where arithmetic would give it in
    so many calls less than ALARM often. chance: the share of the rows.
    """
    by_call = min(1.0, tolerance * coupling.rows / coupling.calls)
    blocks, found = list(prober.blocks.chances), list[Edge]()
    for code, surprise in missed.surprises.items():
        outcome = RAISED if code == EXCEPTION else prober.blocks.outcome(code)
        kind = kind_of(prober.blocks.case, outcome)
        if kind is None:
            continue
        seldom = upper_tail(surprise.calls, coupling.calls, by_call) > ALARM
        grade: Grade = "note" if kind == "impossible token" and seldom else "FAIL"
        where = f"in {surprise.calls:,} of {coupling.calls:,} fresh calls, not foretold"
        share = Fraction(surprise.rows, coupling.rows)
        found.append(Edge(kind, blocks[surprise.block], outcome, where, share, grade))
    return tuple(sorted(found, key=lambda edge: -edge.chance))


Step = tuple[Node, int]


def _paths(
    node: Node, before: tuple[Step, ...] = ()
) -> Iterator[tuple[int, Fraction, tuple[Step, ...]]]:
    """Yields the code, the probability and the steps of every leaf."""
    if not node.children:
        yield next(iter(node.law)), Fraction(1), before
    for child, chance in enumerate(node.chances if node.children else ()):
        for code, mass, path in _paths(node.children[child], (*before, (node, child))):
            yield code, chance * mass, path


def _narrowest(prober: Prober, path: tuple[Step, ...]) -> str:
    """Returns the least probable number on a path, in words."""
    if not path:
        return "whatever its numbers are"
    node, child = min(path, key=lambda step: step[0].chances[step[1]])
    if isinstance(node, Split):
        unit = prober.layout.by_column[node.column]
        start, stop = node.range_of(child)
        low, high = node.grid.values(np.array([start, stop - 1])).tolist()
        place = node.column - unit.start + 1
        span = f"= {low:.9g}" if stop == start + 1 else f"from {low:.9g} to {high:.9g}"
        return f"number {place} of {unit.name} {span}"
    if isinstance(node, Choice):
        unit = prober.layout.by_column[node.column]
        return f"{unit.name} that draws {node.things[child]}"
    assert isinstance(node, Race)
    unit = prober.layout.by_column[node.columns[0]]
    return f"{unit.name} in which {node.things[child]} is first"


def tried_edges(prober: Prober) -> tuple[Edge, ...]:
    """Returns the edges at numbers beyond their grids, and at one extreme number everywhere.

    One edge a kind and number; the first block that shows it stands for all.
    """
    tries = _tries(prober.layout)
    blocks = np.arange(len(prober.blocks.chances))
    rows = np.array([(b, t, p) for b in blocks for t in range(len(tries)) for p in range(TRIES)])
    if not len(tries):
        return ()
    decided = np.stack([tries[i].decided for i in rows[:, 1]])
    codes = prober.run(Request(rows[:, 0], decided, rows[:, 2])).codes
    names = list(prober.blocks.chances)
    found: dict[tuple[Kind, str], Edge] = {}
    for (block, number, _), code in zip(rows.tolist(), codes.tolist(), strict=True):
        outcome = RAISED if code == EXCEPTION else prober.blocks.outcome(code)
        kind, tried = kind_of(prober.blocks.case, outcome), tries[number]
        if kind is not None:
            edge = Edge(kind, names[block], outcome, tried.name, tried.chance, "warning")
            found.setdefault((kind, tried.name), edge)
    return tuple(found.values())


@dataclass(frozen=True, eq=False)
class _Try:
    """Numbers that are set to an extreme: decided int64 [columns], and their probability."""

    name: str
    decided: Indices
    chance: Fraction


def _tries(layout: Layout) -> list[_Try]:
    """Returns every number alone at 1, where its grid ends there, and all numbers together."""
    grids = {c: unit.grid for c, unit in enumerate(layout.by_column) if unit.grid is not None}
    ends = {c: grid.last + 1 for c, grid in grids.items() if isinstance(grid, Uniform)}
    names = {
        c: f"number {c - layout.by_column[c].start + 1} of {layout.by_column[c].name}" for c in ends
    }
    tries = [_try(layout, f"{names[c]} = exactly 1", {c: end}) for c, end in ends.items()]
    together = {
        "the lowest": {c: grid.first for c, grid in grids.items()},
        "the next to lowest": {c: grid.first + 1 for c, grid in grids.items()},
        "the highest": {c: grid.last for c, grid in grids.items()},
        "exactly 1": ends,
    }
    return tries + [
        _try(layout, f"all numbers {name}", setting)
        for name, setting in together.items()
        if setting
    ]


def _try(layout: Layout, name: str, setting: Mapping[int, int]) -> _Try:
    decided = np.full(len(layout.by_column), UNDECIDED)
    chance = Fraction(1)
    for column, index in setting.items():
        grid = layout.by_column[column].grid
        assert grid is not None
        decided[column] = index
        chance *= grid.mass(index, index + 1) if index <= grid.last else 0
    return _Try(name, decided, chance)
