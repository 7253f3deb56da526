"""What steering gives: the law of a sampler with how sure it is, or why there is none."""

from __future__ import annotations

from dataclasses import dataclass

from audit.steering.coupling import Coupling
from audit.steering.edges import Edge
from audit.steering.law import JointLaw
from audit.steering.reading import Reading


@dataclass(frozen=True)
class Asked:
    """Calls and rows that were asked for."""

    calls: int
    rows: int


@dataclass(frozen=True)
class NotSteerable:
    """Why the law of a sampler cannot be read off; sampling must tell."""

    reason: str
    asked: Asked


@dataclass(frozen=True, eq=False)
class SteeredLaw:
    """The law of a sampler on a case, with how sure it is.

    law: what the map amounts to. generators: how far the laws of its random numbers may be from
    those that the map is read with. coupling: how far the sampler may be from its map. search:
    what finding the map took. mode: how the numbers of a call's rows were told apart, "Batched",
    "Looped" or "Single". edges: outcomes that no correct sampler has. readings: what the law tells
    of the code.
    """

    law: JointLaw
    generators: float
    coupling: Coupling
    search: Asked
    mode: str
    edges: tuple[Edge, ...]
    readings: tuple[Reading, ...]

    @property
    def bound(self) -> float:
        """The most that the completed law of the sampler is from the target, at coupling.delta.

        It takes the rows of a call for independent.
        """
        return min(1.0, float(self.law.to_target) + self.generators + self.coupling.by_rows)
