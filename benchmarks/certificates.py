"""How often a certificate is issued although the true total variation exceeds epsilon.

Every cell draws a target of 2 to 81 outcomes, an epsilon, and a sampler's law whose total
variation is between epsilon and 1.2 epsilon, and looks at growing counts as a sequential run
does. A run may issue a wrong certificate with a chance of delta.
"""

from __future__ import annotations

from functools import partial

import numpy as np
from common import arguments, spread
from scipy.stats import binom

from audit.statistics.certificate import look_delta, looks
from audit.statistics.total_variation import total_variation

CAP = 200_000


def laws(rng: np.random.Generator, epsilon: float) -> tuple[np.ndarray, np.ndarray]:
    """Returns a target and a law a little more than epsilon away from it."""
    while True:
        cells = int(rng.integers(2, 82))
        target, other = rng.dirichlet(np.full(cells, 0.5)), rng.dirichlet(np.full(cells, 0.5))
        share = epsilon * rng.uniform(1.0, 1.2) / (np.abs(other - target).sum() / 2)
        if share <= 1:
            return target, (1 - share) * target + share * other


def certified(seed: int, *, delta: float) -> bool:
    """Returns whether any look of one cell certifies what is not true."""
    rng = np.random.default_rng(seed)
    epsilon = float(rng.choice([0.005, 0.01, 0.02, 0.05, 0.1]))
    target, law = laws(rng, epsilon)
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


def main() -> None:
    """Prints how many cells were wrongly certified, at two values of delta."""
    options = arguments(__doc__ or "", runs=2000)
    seeds = range(options.first_seed, options.first_seed + options.runs)
    print(f"{'delta':>8}{'cells':>8}{'wrong':>8}{'P(this many or more)':>22}")
    for delta in (0.05, 1e-3):
        wrong = sum(spread(partial(certified, delta=delta), seeds, processes=options.processes))
        p_value = binom.sf(wrong - 1, len(seeds), delta)
        print(f"{delta:>8g}{len(seeds):>8}{wrong:>8}{p_value:>22.3g}")


if __name__ == "__main__":
    main()
