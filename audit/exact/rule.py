"""What the catalogue says of one verification rule, right or wrong."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from audit.exact.chain import Branch
from audit.exact.paths import Rounds

Family = Literal["lossless", "lossy", "fault"]


@dataclass(frozen=True)
class Parameter:
    """The constant of an entry that is one of many alike: what it is and the value listed."""

    name: str
    value: Fraction


@dataclass(frozen=True)
class Rule:
    """One verification rule: its description and its law as a function of one round.

    reports: public reports of the same defect, or of a correct rule taken for one. lossless: the
    completed law is the target's on every case the rule is made for (for `greedy` those at
    temperature 0). gate: an audit stakes part of its start capital on this fault. code: the
    entry's number in the tables that its values are checked with.
    """

    id: str
    family: Family
    meaning: str
    formula: str
    happens: str
    law: Callable[[Rounds], list[Branch]]
    reports: tuple[str, ...] = ()
    reference: str = ""
    lossless: bool = False
    gate: bool = False
    code: str = ""
    parameter: Parameter | None = None
