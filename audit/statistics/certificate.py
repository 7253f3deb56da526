"""When a certificate is looked for, and what can be certified or detected at a number of trials.

Looks are declared beforehand: 200, 500, 1000, 2000, 5000, ... up to the cap. All looks of all
selected cases share one delta, so that the best of them may be reported. With a single declared
look, delta is divided by the cases only.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from itertools import takewhile

from scipy import special

from audit.statistics.results import Array
from audit.statistics.total_variation import null_mean, slack

MOST_TRIALS = 10**9
# The estimate's standard deviation under the null is at most about this over sqrt(n): exact for
# two cells, and within 2 % of it for many (half of the standard deviation of a |normal|).
_NULL_DEVIATION = math.sqrt(1 - 2 / math.pi) / 2


def looks(cap: int) -> list[int]:
    """Returns the declared numbers of trials up to the cap, which is the last look.

    >>> looks(2500)
    [200, 500, 1000, 2000, 2500]
    """
    return [*takewhile(lambda n: n < cap, _series()), cap]


def _series() -> Iterator[int]:
    decade = 100
    while True:
        yield from (2 * decade, 5 * decade, 10 * decade)
        decade *= 10


def look_delta(delta: float, *, cases: int, look: int) -> float:
    """Returns the delta of look 1, 2, 3, ...: delta / (cases look (look + 1)).

    >>> look_delta(1e-3, cases=1, look=1)
    0.0005
    """
    return delta / (cases * look * (look + 1))


def expected_upper(probabilities: Array, n: int, delta: float, *, chance: float = 0.9) -> float:
    """Returns the bound below which a correct sampler's U stays with this chance.

    It is the exact null mean, the slack, and a normal quantile of the estimate.
    """
    spread = float(special.ndtri(chance)) * _NULL_DEVIATION / math.sqrt(n)
    return null_mean(probabilities, n) + slack(n, delta) + spread


def trials_needed(
    probabilities: Array, epsilon: float, *, delta_at: Callable[[int], float]
) -> int | None:
    """Returns the first look at which a correct sampler is expected to have U <= epsilon.

    delta_at maps the look 1, 2, 3, ... to its delta. None where more than 1e9 trials are needed.
    """
    for look, n in enumerate(looks(MOST_TRIALS), start=1):
        if expected_upper(probabilities, n, delta_at(look)) <= epsilon:
            return n
    return None


def detectable(n: int, alpha: float, *, bins: int = 16, power: float = 0.9) -> float:
    """Returns the smallest total variation that a chi-square test over n trials sees.

    It is that of the flattest bias over equally likely bins, whose chi-square distance is
    4 TV^2, at level alpha and this power; at most 1.

    >>> round(detectable(10_000, 1e-6), 3)
    0.039
    """
    degrees = max(bins - 1, 1)
    critical = special.chdtri(degrees, alpha)
    noncentrality = float(special.chndtrinc(critical, degrees, 1 - power))
    return min(math.sqrt(noncentrality / (4 * n)), 1.0)
