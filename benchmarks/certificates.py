"""How often a certificate is issued although the true total variation exceeds epsilon.

A run may issue a wrong certificate with a chance of delta; audit/simulation/certificates.py says
how the samplers are made.
"""

from __future__ import annotations

from functools import partial

from common import arguments, spread

from audit.simulation.certificates import DELTAS, certified
from audit.statistics.binomial import upper_tail


def main() -> None:
    """Prints how many samplers were wrongly certified, at two values of delta."""
    options = arguments(__doc__ or "", runs=2000)
    seeds = range(options.first_seed, options.first_seed + options.runs)
    print(f"{'delta':>8}{'cells':>8}{'wrong':>8}{'P(this many or more)':>22}")
    for delta in DELTAS:
        wrong = sum(spread(partial(certified, delta=delta), seeds, processes=options.processes))
        p_value = upper_tail(wrong, len(seeds), delta)
        print(f"{delta:>8g}{len(seeds):>8}{wrong:>8}{p_value:>22.3g}")


if __name__ == "__main__":
    main()
