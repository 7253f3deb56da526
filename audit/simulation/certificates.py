"""How often a certificate is issued although the true total variation exceeds epsilon.

Every sampler draws a target of 2 to 81 outcomes, an epsilon, and a law whose total variation is
between epsilon and 1.2 epsilon; it is looked at with growing counts as in a sequential run.
"""

from __future__ import annotations

import numpy as np

from audit.statistics.certificate import look_delta, looks
from audit.statistics.results import Array
from audit.statistics.total_variation import total_variation

DELTAS = (0.05, 1e-3)
CAP = 200_000
BEYOND = (1.0, 1.2)
_EPSILONS = (0.005, 0.01, 0.02, 0.05, 0.1)


def certified(seed: int, *, delta: float, beyond: tuple[float, float] = BEYOND) -> bool:
    """Returns whether any look certifies what is not true; that may happen delta of the time.

    beyond: the range of the total variation, over epsilon.
    """
    rng = np.random.default_rng(seed)
    epsilon = float(rng.choice(_EPSILONS))
    target, law = _laws(rng, epsilon * rng.uniform(*beyond))
    counts, before = np.zeros(len(law), dtype=np.int64), 0
    for look, n in enumerate(looks(CAP), start=1):
        counts += rng.multinomial(n - before, law)
        before = n
        bound = total_variation(
            counts, counts * 0, probabilities=target, delta=look_delta(delta, cases=1, look=look)
        )
        if bound.upper <= epsilon:
            return True
    return False


def _laws(rng: np.random.Generator, distance: float) -> tuple[Array, Array]:
    """Returns a target and a law at this total variation from it."""
    while True:
        cells = int(rng.integers(2, 82))
        target, other = rng.dirichlet(np.full(cells, 0.5)), rng.dirichlet(np.full(cells, 0.5))
        share = distance / (np.abs(other - target).sum() / 2)
        if share <= 1:
            return target, (1 - share) * target + share * other
