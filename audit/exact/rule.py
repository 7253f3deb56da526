"""What the catalogue says of one verification rule, right or wrong."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Literal

from audit.exact.chain import Branch
from audit.exact.paths import Rounds
from audit.tree import Drafting

Family = Literal["lossless", "lossy", "fault"]
RoundLaw = Callable[[Rounds], list[Branch]]


@dataclass(frozen=True)
class Parameter:
    """The constant of an entry that is one of many alike.

    value is the one listed; law gives the rule at any in [low, high]; whole: only whole numbers
    make sense.
    """

    name: str
    value: Fraction
    low: Fraction
    high: Fraction
    law: Callable[[Fraction], RoundLaw]
    whole: bool = False

    @property
    def listed(self) -> RoundLaw:
        """The rule at the constant that is listed."""
        return self.law(self.value)


@dataclass(frozen=True)
class Rule:
    """One verification rule: its description and its law as a function of one round.

    reports: public reports of the same defect, or of a correct rule taken for one. lossless: the
    completed law is the target's on every case the rule is made for (for `greedy` those at
    temperature 0). gate: an audit stakes part of its start capital on this fault. code: the
    entry's number in the tables that its values are checked with. trees: how the siblings of a
    draft tree may be drawn for this rule, () for a rule of chains. base: the lossless rule that a
    fault departs from, which a weakened fault follows the rest of the time.
    """

    id: str
    family: Family
    meaning: str
    formula: str
    happens: str
    law: RoundLaw
    reports: tuple[str, ...] = ()
    reference: str = ""
    lossless: bool = False
    gate: bool = False
    code: str = ""
    parameter: Parameter | None = None
    trees: tuple[Drafting, ...] = ()
    base: str = "ratio"

    def at(self, value: Fraction) -> Rule:
        """Returns the entry with its constant at `value`, called `id@value`.

        Raises: ValueError where the entry has no constant, or `value` is beyond its bounds.
        """
        known = self.parameter
        if known is None:
            raise ValueError("it has no constant")
        if not known.low <= value <= known.high or (known.whole and value.denominator > 1):
            kind = "a whole number" if known.whole else "a number"
            bounds = f"from {known.low} to {known.high}"
            raise ValueError(f"its constant ({known.name}) must be {kind} {bounds}")
        return replace(
            self,
            id=f"{self.id}@{value}",
            meaning=f"{self.meaning}; here with {known.name} {value}",
            law=known.law(value),
            parameter=replace(known, value=value),
        )
