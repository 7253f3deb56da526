"""How many trials the full-target fallback survives on the article's case, at alpha 1e-6."""

from __future__ import annotations

from functools import partial

import numpy as np
from common import arguments, campaign, spread

from audit.verdict import Budget

CASE = ("article-three-tokens",)
BUDGET = Budget(alpha=1e-6, delta=1e-3, epsilon=0.02, cases=1)


def trials_to_fail(seed: int, *, declares: tuple[str, ...]) -> float:
    """Returns the trials after which the run failed; infinity where it did not."""
    made = campaign(
        "fault:full-target-fallback", CASE, seed=seed, budget=BUDGET, cap=20_000, declares=declares
    )
    (monitor,) = made.monitors
    return monitor.trials if monitor.failures else np.inf


def main() -> None:
    """Prints the stopping times with and without a declared rule, and the share in the bound."""
    options = arguments(__doc__ or "", runs=1000)
    seeds = range(options.first_seed, options.first_seed + options.runs)
    print(f"{'declared':<12}{'runs':>6}{'median':>9}{'99 %':>9}{'bound':>8}{'within':>9}")
    for declares, bound in ((("ratio",), 200), ((), 3000)):
        work = partial(trials_to_fail, declares=declares)
        times = np.array(spread(work, seeds, processes=options.processes))
        name = declares[0] if declares else "nothing"
        middle, late = np.quantile(times, [0.5, 0.99], method="higher")
        within = np.mean(times <= bound)
        print(f"{name:<12}{len(times):>6}{middle:>9.0f}{late:>9.0f}{bound:>8}{within:>9.1%}")


if __name__ == "__main__":
    main()
