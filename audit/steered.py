"""What was read off the code on one case by taking over its random numbers: values, no judgement.

Every class here is a plain frozen value; records store them as they are. Probabilities are the
float64 next to the exact ones.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from audit.statistics.binomial import upper_limit
from audit.statistics.results import Result

Tokens = tuple[int, ...]
EdgeKind = Literal["impossible token", "out of range", "exception", "no token", "gap"]
Grade = Literal["FAIL", "note", "warning"]


@dataclass(frozen=True)
class CodeEdge(Result):
    """An outcome that no correct sampler has, and the random number that made it.

    chance: its probability, 0 where the generator never gives this number. grade: FAIL above the
    numerical tolerance, note below it, warning where extremes were put in by hand. block: the
    draft; outcome: the emitted ids.
    """

    kind: EdgeKind
    block: Tokens
    outcome: Tokens
    number: str
    chance: float
    grade: Grade


@dataclass(frozen=True)
class CodeReading(Result):
    """One thing that the law tells of the code; size: its constant, or what it does."""

    name: str
    says: str
    size: float


@dataclass(frozen=True)
class Agreement(Result):
    """Whether sampled rounds may come from the law that was read off: what departs most from it.

    event: that of a round, `seen` times in `trials` rounds where `expected` were due. p_value:
    exact tail, whatever the coupling left open, adjusted over all events and numbers of rounds.
    level: what it must be above.
    """

    trials: int
    event: str
    seen: int
    expected: float
    p_value: float
    level: float

    @property
    def agrees(self) -> bool:
        """Whether nothing contradicts it."""
        return self.p_value > self.level


@dataclass(frozen=True)
class NotSteered(Result):
    """Why the law of the code could not be read off, and after how many calls and rows."""

    reason: str
    calls: int = 0
    rows: int = 0


@dataclass(frozen=True)
class SteeredEvidence(Result):
    """The law of the code on one case, and how sure it is.

    map: the total variation of the completed law that the found map amounts to, to the law that
    judges: that of the rows handed over, or the declared one. generators: how far the laws of the
    random numbers may be from those that the map is read with. rows, mismatches: of the coupling,
    fresh rows that were compared with the map; calls, broken_calls: those they came in, and those
    with a mismatch. delta: how often a bound may be wrong. to_declared: the total variation of
    draft and emitted block to the nearest declared rule. tolerance: what arithmetic may do to a
    whole round. mode: how rows were told apart: "Batched", "Looped", or "Single" for calls of one
    row. agreement: with sampled rounds, None without any.
    """

    map: float
    generators: float
    rows: int
    mismatches: int
    calls: int
    broken_calls: int
    delta: float
    tolerance: float
    mode: str
    search_calls: int
    search_rows: int
    edges: tuple[CodeEdge, ...]
    readings: tuple[CodeReading, ...]
    to_declared: float | None = None
    agreement: Agreement | None = None

    @property
    def coupling(self) -> float:
        """The most that the code differs from its map, whatever ties the rows of a call: h."""
        return upper_limit(self.broken_calls, self.calls, self.delta)

    @property
    def by_rows(self) -> float:
        """The same where the rows of a call are independent, as the contract demands."""
        return upper_limit(self.mismatches, self.rows, self.delta)

    @property
    def bound(self) -> float:
        """The most that the code is from the law that judges, at delta."""
        return min(1.0, self.map + self.generators + self.coupling)

    def least(self, distance: float, level: float) -> float:
        """Returns what is left of a distance of the map for the code, wrong at most level often."""
        return max(0.0, distance - self.generators - self.reach(level))

    def reach(self, level: float) -> float:
        """Returns `by_rows` at another level: what is left of a bias rests on the contract."""
        return upper_limit(self.mismatches, self.rows, level)


Steered = SteeredEvidence | NotSteered


@dataclass(frozen=True)
class AcceptTest(Result):
    """How often `token` passes its test after the accepted tokens `prefix`.

    reached: the probability that this test is made. ideal: min(1, p / q).
    """

    prefix: Tokens
    token: int
    reached: float
    chance: float
    ideal: float


@dataclass(frozen=True)
class LastToken(Result):
    """The law of the last token of a round after the accepted tokens `prefix`, by token.

    rejected: the drafted token that failed its test, None for the bonus token. reached: the
    probability of getting here. ideal: max(p - q, 0) normalised, or p for the bonus token; () where
    p = q. distance: the total variation between the two.
    """

    prefix: Tokens
    rejected: int | None
    reached: float
    law: tuple[float, ...]
    ideal: tuple[float, ...]
    distance: float


@dataclass(frozen=True)
class CodeLaw(Result):
    """The law itself: every acceptance test, every last token, and the emitted blocks.

    emitted: probability by block, its ids joined by spaces. tests and last are () for a tree.
    """

    tests: tuple[AcceptTest, ...]
    last: tuple[LastToken, ...]
    emitted: dict[str, float]


@dataclass(frozen=True)
class Found:
    """What reading a case gave: evidence, and the law behind it where there is one."""

    evidence: Steered
    law: CodeLaw | None = None
