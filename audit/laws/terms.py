"""Under which terms the law of a case is read: all that is fixed before its proof begins."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

MOST_ROWS = 700_000  # h = 1e-5 at delta = 1e-3


@dataclass(frozen=True)
class Terms:
    """The terms for one case.

    dtype: of the rows handed over. coupled: fresh rows of the proof, None for a call each as often
    as epsilon takes, and more rows a call where `seconds` allow it. delta: how often the bound may
    be wrong. tolerance: what arithmetic may do to a whole round, None for what the dtype suggests.
    declares: rules that the sampler is said to follow, besides those that it declares. longest:
    seconds after which a case is given up.
    """

    dtype: str = "float32"
    device: str = "cpu"
    coupled: int | None = None
    seconds: float = 2.0
    epsilon: float = 5e-3
    delta: float = 1e-3
    tolerance: float | None = None
    declares: tuple[str, ...] = ()
    longest: float = math.inf
    seed: int = 0

    @property
    def needed(self) -> int:
        """The fresh calls after which h is half of epsilon if all of them are foretold.

        >>> Terms(epsilon=1e-3, delta=1e-3).needed
        14000
        """
        return _two_digits(2 * math.log(1 / self.delta) / self.epsilon, math.ceil)

    @property
    def promise(self) -> str:
        """The rows of the proof in words, before any of them.

        >>> Terms().promise
        '2,800 coupled calls, of up to 700,000 rows where 2 s allow it'
        """
        if self.coupled:
            return f"{self.coupled:,} coupled rows"
        return (
            f"{self.needed:,} coupled calls, of up to {MOST_ROWS:,} rows where "
            f"{self.seconds:g} s allow it"
        )

    def rows(self, speed: float) -> int:
        """Returns the fresh rows of the proof, by the rows a second of the search.

        >>> Terms().rows(1_000.0), Terms().rows(66_666.0), Terms(coupled=10).rows(1.0)
        (2800, 130000, 10)
        """
        possible = min(float(MOST_ROWS), max(1.0, speed * self.seconds))
        return self.coupled or max(self.needed, _two_digits(possible, math.floor))


def _two_digits(number: float, to_whole: Callable[[float], int]) -> int:
    unit = 10.0 ** max(0, math.floor(math.log10(number)) - 1)
    return int(to_whole(number / unit) * unit)
