"""What every search of the map shares: contexts, questions, and many searches at once.

A search is a generator: it yields the rows that it wants to see and is sent what they emit, and it
returns its finding. `together` runs many of them side by side, all their rows in one request.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

import numpy as np

from audit.steering.answers import UNDECIDED, Answer, Request
from audit.steering.grids import Indices
from audit.steering.map import Node
from audit.steering.probing import Prober

Found = TypeVar("Found")


@dataclass(frozen=True, eq=False)
class Question:
    """Rows of one block: decided int64 [rows, columns] and the number of each row's probe."""

    block: int
    decided: Indices
    probes: Indices


Search = Generator[Question, Answer, Found]


@dataclass(frozen=True)
class Effort:
    """How much a search asks: probes, first looks at a number, parts of a bisection, contexts.

    compared: the probes that a turning point is at least held against; inside: indices of a range
    that all probes are held against. lonely: turning points seen
    by one probe each that make a number no threshold. lanes: parts of a bisection in a race;
    paces: how often it is held; fresh: fresh races that must be foretold.
    """

    probes: int = 24
    compared: int = 4
    lonely: int = 6
    looks: int = 33
    inside: int = 6
    arity: int = 16
    lanes: int = 4
    paces: int = 6
    fresh: int = 256
    contexts: int = 20_000


# Where every row costs a call, few rows are worth more than few rounds.
LEAN = Effort(
    probes=8, compared=2, lonely=3, looks=17, inside=1, arity=2, lanes=2, paces=2, fresh=64
)


@dataclass(frozen=True, eq=False)
class Context:
    """A block and the numbers decided so far, an index by column."""

    block: int
    decided: Mapping[int, int] = field(default_factory=dict)

    def ask(self, columns: Sequence[int], settings: Indices, probes: Indices) -> Question:
        """Returns rows for every setting int64 [settings, columns] under every probe in turn."""
        width = max([*columns, *self.decided, -1]) + 1
        row = np.full(width, UNDECIDED)
        row[list(self.decided)] = list(self.decided.values())
        rows = np.tile(row, (len(settings), 1))
        rows[:, list(columns)] = settings
        return Question(
            self.block, np.repeat(rows, len(probes), axis=0), np.tile(probes, len(rows))
        )

    def deciding(self, columns: Sequence[int], indices: Sequence[int]) -> Context:
        """Returns the context in which these numbers are decided too."""
        more = {int(c): int(i) for c, i in zip(columns, indices, strict=True)}
        return Context(self.block, {**self.decided, **more})


Decision = tuple[Node, list[Context]]  # what decides next, and a context for each child


def together(searches: Sequence[Search[Found]], prober: Prober) -> list[Found]:
    """Returns what each search finds; all take their turns at once."""
    found: dict[int, Found] = {}
    answers: dict[int, Answer | None] = dict.fromkeys(range(len(searches)))
    while answers:
        asked: dict[int, Question] = {}
        for number, answer in answers.items():
            try:
                asked[number] = searches[number].send(answer)  # type: ignore[arg-type]
            except StopIteration as done:
                found[number] = done.value
        answers = dict(zip(asked, _answered(list(asked.values()), prober), strict=True))
    return [found[number] for number in range(len(searches))]


def _answered(questions: Sequence[Question], prober: Prober) -> list[Answer]:
    if not questions:
        return []
    width = max(q.decided.shape[1] for q in questions)
    decided = [
        np.pad(q.decided, ((0, 0), (0, width - q.decided.shape[1])), constant_values=UNDECIDED)
        for q in questions
    ]
    answer = prober.run(
        Request(
            np.concatenate([np.full(len(q.probes), q.block) for q in questions]),
            np.concatenate(decided),
            np.concatenate([q.probes for q in questions]),
        )
    )
    ends = np.cumsum([len(q.probes) for q in questions]).tolist()
    return [answer[slice(a, b)] for a, b in zip([0, *ends], ends, strict=False)]
