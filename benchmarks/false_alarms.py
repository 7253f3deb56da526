"""How often a correct sampler meets an adverse outcome of any kind.

Runs correct samplers at a large alpha (.01), where false alarms could be counted, and at the
default (1e-6), where there must be none. Every run goes through all 20,000 trials of every case:
no certificate stops it early, since epsilon is set out of reach.
"""

from __future__ import annotations

from functools import partial

from common import arguments, campaign, spread
from scipy.stats import binom

from audit.verdict import Budget, Outcome

CASES = ("article-three-tokens", "prefix-dependent-2", "basis-1", "basis-2", "mirrored-two")
CAP = 20_000
ADVERSE = {Outcome.FAIL, Outcome.WITHIN, Outcome.DEPENDENT, Outcome.ERROR}


def adverse(seed: int, *, sampler: str, alpha: float, declares: tuple[str, ...]) -> bool:
    """Returns whether one run accuses the sampler of anything."""
    budget = Budget(alpha=alpha, delta=1e-3, epsilon=1e-4, cases=len(CASES))
    made = campaign(sampler, CASES, seed=seed, budget=budget, cap=CAP, declares=declares)
    outcomes = {monitor.verdict().outcome for monitor in made.monitors}
    return bool(made.together or made.errors or outcomes & ADVERSE)


def main() -> None:
    """Prints one line a sampler and level."""
    options = arguments(__doc__ or "", runs=2000)
    seeds = range(options.first_seed, options.first_seed + options.runs)
    plans = [("reference", 0.01, ("ratio",))] + [
        (f"rule:{rule}", 1e-6, (rule,)) for rule in ("sampler-match", "point-mass", "block")
    ]
    print(f"{'sampler':<22}{'alpha':>9}{'runs':>8}{'adverse':>9}{'P(this many or more)':>22}")
    for sampler, alpha, declares in plans:
        work = partial(adverse, sampler=sampler, alpha=alpha, declares=declares)
        hits = sum(spread(work, seeds, processes=options.processes))
        p_value = binom.sf(hits - 1, len(seeds), alpha)
        print(f"{sampler:<22}{alpha:>9g}{len(seeds):>8}{hits:>9}{p_value:>22.3g}", flush=True)


if __name__ == "__main__":
    main()
