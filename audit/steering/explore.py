"""Finds the map of every block: which numbers decide, in what order, and where they turn.

Level by level: every context is screened for the numbers that matter in it, one of them is
decided, and each of its outcomes is a context of the next level. Behaviour is compared by what a
row emits under a set of probes, which stand for all that is not decided yet.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from audit.steering.answers import ABSENT, UNDECIDED, Answer
from audit.steering.draws import UnsteerableError
from audit.steering.grids import Indices
from audit.steering.head_starts import head_start
from audit.steering.map import Leaf, Node
from audit.steering.probes import Probes
from audit.steering.probing import Prober
from audit.steering.racing import race
from audit.steering.searching import Context, Decision, Effort, Search, together
from audit.steering.splitting import choice, split

FEW = 5  # probes that a number is looked at with first


def explore(prober: Prober, effort: Effort, blocks: Sequence[int]) -> dict[int, Node]:
    """Returns the map of each of these blocks.

    Raises: UnsteerableError where some behaviour cannot be put down to single numbers or races.
    """
    tops: list[Node] = []
    frontier = [(tops, Context(block)) for block in blocks]
    done = 0
    while frontier:
        done += len(frontier)
        if done > effort.contexts:
            raise UnsteerableError(f"its random numbers branch in more than {effort.contexts} ways")
        searches = [decide(context, prober.probes, effort) for _, context in frontier]
        following: list[tuple[list[Node], Context]] = []
        for (siblings, _), (node, contexts) in zip(
            frontier, together(searches, prober), strict=True
        ):
            siblings.append(node)
            following += [(node.children, context) for context in contexts]
        frontier = following
    return dict(zip(blocks, tops, strict=True))


def decide(context: Context, probes: Probes, effort: Effort) -> Search[Decision]:
    """Finds the node that decides next in a context, and the contexts of its children."""
    numbers = probes.numbers(effort.probes)
    base = yield context.ask([], np.zeros((1, 0), dtype=np.int64), numbers)
    drawn = np.flatnonzero((base.coins != ABSENT).any(axis=0)).tolist()
    columns = [column for column in drawn if column not in context.decided]
    relevant = yield from _relevant(context, probes, base, columns, numbers)
    if relevant:
        found = yield from _decided(context, probes, base, relevant, effort)
        return found
    if len(set(base.codes.tolist())) > 1:
        raise UnsteerableError("its output varies, but with no single random number")
    return Leaf(code=int(base.codes[0])), []


def _decided(
    context: Context, probes: Probes, base: Answer, relevant: Sequence[int], effort: Effort
) -> Search[Decision]:
    """Finds the first relevant number, or race, whose behaviour does not hang on later ones."""
    numbers = probes.numbers(effort.probes)
    doubtful: Decision | None = None
    raced: list[range] = []
    for column in relevant:
        unit = probes.layout.by_column[column]
        group = next(group for group in unit.groups if column in group)
        if unit.choices:
            chosen = choice(context, column, base, unit)
            if chosen is not None:
                return chosen
        elif group not in raced:
            turning = yield from split(context, column, probes, effort)
            if turning is not None and turning.sure:
                return turning.decision
            if turning is not None:
                doubtful = doubtful or turning.decision
            raced.append(group)
            winner = yield from race(context, group, unit, numbers, effort)
            if winner is not None:
                return winner
    last = (yield from _started(context, probes, relevant, effort)) or doubtful
    if last is None:
        names = sorted({probes.layout.by_column[column].name for column in relevant})
        raise UnsteerableError(
            f"its output depends on several numbers of {', '.join(names)} jointly, in a way that "
            "no thresholds and no race describe"
        )
    return last


def _started(
    context: Context, probes: Probes, relevant: Sequence[int], effort: Effort
) -> Search[Decision | None]:
    """Finds a race with head starts among the relevant numbers of one operation."""
    numbers = probes.numbers(effort.probes)
    for unit in dict.fromkeys(probes.layout.by_column[column] for column in relevant):
        columns = [column for column in relevant if column in unit.columns]
        if unit.grid is not None:
            found = yield from head_start(context, columns, unit, numbers, effort)
            if found is not None:
                return found
    return None


def _relevant(
    context: Context, probes: Probes, base: Answer, columns: Sequence[int], numbers: Indices
) -> Search[list[int]]:
    """Finds the columns of which some value changes what some probe emits: few probes first."""
    looks = [
        (i, index) for i, column in enumerate(columns) for index in _looks(probes, base, column)
    ]
    if not looks:
        return []
    settings = np.full((len(looks), len(columns)), UNDECIDED)
    for row, (i, index) in enumerate(looks):
        settings[row, i] = index
    for some in (slice(FEW), slice(FEW, None)):
        if not len(numbers[some]):
            continue
        answer = yield context.ask(columns, settings, numbers[some])
        changed = (answer.codes.reshape(len(looks), -1) != base.codes[some]).any(axis=1)
        if changed.any():
            return sorted({columns[looks[row][0]] for row in np.flatnonzero(changed).tolist()})
    return []


def _looks(probes: Probes, base: Answer, column: int) -> list[int]:
    """Returns the indices at which a column is looked at."""
    grid = probes.layout.by_column[column].grid
    if grid is None:
        return np.flatnonzero((base.weights[column] > 0).all(axis=0)).tolist()
    middle = grid.at(np.array([0.25, 0.5, 0.75])).tolist()
    return sorted({grid.first, *middle, grid.last, *probes.hinted(column)})
