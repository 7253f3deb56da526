"""How often a correct sampler meets an adverse outcome of any kind.

The reference runs at a large alpha (.01), where false alarms could be counted; the other lossless
rules at the default (1e-6), where there must be none. Every run goes through all trials of every
case: no certificate stops it early, since epsilon is set out of reach.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from common import arguments, campaign, spread
from scipy.stats import binom

from audit.verdict import Budget, Outcome

ADVERSE = {Outcome.FAIL, Outcome.WITHIN, Outcome.DEPENDENT, Outcome.ERROR}
CASES = ("prefix-dependent-2", "basis-1", "article-three-tokens", "basis-2", "mirrored-two")


@dataclass(frozen=True)
class Plan:
    """One sampler, declaring its own rule, at one level, on the first of CASES."""

    rule: str
    alpha: float
    cases: int
    trials: int


PLANS = (
    Plan("ratio", 0.01, cases=5, trials=20_000),
    Plan("sampler-match", 1e-6, cases=2, trials=5_000),
    Plan("point-mass", 1e-6, cases=2, trials=5_000),
    Plan("block", 1e-6, cases=2, trials=5_000),
)


def adverse(seed: int, *, plan: Plan) -> bool:
    """Returns whether one run accuses the sampler of anything."""
    budget = Budget(alpha=plan.alpha, delta=1e-3, epsilon=1e-4, cases=plan.cases)
    made = campaign(
        f"rule:{plan.rule}",
        CASES[: plan.cases],
        seed=seed,
        budget=budget,
        cap=plan.trials,
        declares=(plan.rule,),
    )
    outcomes = {monitor.verdict().outcome for monitor in made.monitors}
    return bool(made.together or made.errors or outcomes & ADVERSE)


def main() -> None:
    """Prints one line a sampler and level."""
    options = arguments(__doc__ or "", runs=2000)
    seeds = range(options.first_seed, options.first_seed + options.runs)
    heads = ("cases", "trials", "alpha", "runs", "adverse", "P(this many or more)")
    print(f"{'rule':<16}" + "".join(f"{head:>{len(head) + 3}}" for head in heads))
    for plan in PLANS:
        hits = sum(spread(partial(adverse, plan=plan), seeds, processes=options.processes))
        p_value = binom.sf(hits - 1, len(seeds), plan.alpha)
        cells = (plan.cases, plan.trials, plan.alpha, len(seeds), hits, f"{p_value:.3g}")
        row = (f"{cell:>{len(head) + 3}}" for cell, head in zip(cells, heads, strict=True))
        print(f"{plan.rule:<16}" + "".join(row), flush=True)


if __name__ == "__main__":
    main()
