"""Rounds until a failure, as `draftproof plan` foresees them and as simulated runs need them.

Every run feeds rounds drawn from an exact law to the monitor of a run. The chi-square is asked at
the n that is foreseen for it, and should fail there with the power that was asked for.
"""

from __future__ import annotations

from functools import partial

import numpy as np
from common import arguments, spread

from audit.judgement.bias import Bias
from audit.judgement.prepare import CaseSetup
from audit.judgement.preservation import chi_square_level
from audit.plan import Planner
from audit.simulation.detection import BUDGET, prepared
from audit.simulation.drawn import followed
from audit.statistics.certificate import looks
from audit.statistics.chi_square import cressie_read

POWER = 0.9
QUESTIONS = (
    ("article-three-tokens", "full-target-fallback", None),
    ("article-three-tokens", "full-target-fallback", 0.02),
    ("article-three-tokens", None, 0.02),
    ("mirrored-two", None, 0.01),
    ("basis-1", "residual-of-top-2", None),
    ("basis-2", "shared-coin", None),
    ("basis-2", "drafting-noise-reused", None),
    ("prefix-dependent-3", "cumulative-ratio", 0.05),
    ("peaked-32", "full-target-fallback", None),
    ("peaked-32", None, 0.05),
    ("one-hot-target", None, 0.01),
    ("tree-basis", "siblings-one-coin", None),
)
Question = tuple[str, str | None, float | None]


def laws_of(question: Question) -> tuple[CaseSetup, list[np.ndarray]]:
    """Returns the case and the laws of its completed blocks that a question is about."""
    case, fault, tv = question
    setup = prepared(case)
    bias = Bias.of(setup, fault)
    return setup, bias.laws((tv or bias.most) / bias.most)


def observed(seed: int, *, question: Question, n: int) -> tuple[int, bool]:
    """Returns the rounds until one run failed, and whether the chi-square fails n rounds."""
    rng = np.random.default_rng(seed)
    setup, laws = laws_of(question)
    stop = followed(setup, laws, BUDGET, looks=looks(10**7), rng=rng).trials
    counts = rng.multinomial(n, laws[0] / laws[0].sum())
    fit = cressie_read(counts, setup.laws[0], n=n, tolerance=setup.tolerance)
    return stop, fit.p_value <= chi_square_level(setup, BUDGET)


def main() -> None:
    """Prints a line a question."""
    options = arguments(__doc__ or "", runs=200)
    seeds = range(options.first_seed, options.first_seed + options.runs)
    heads = f"{'TV':>8}{'foreseen':>10}{'90 %':>9}{'chi-square n':>14}{'fails':>8}"
    print(f"{'case':<22}{'fault':<24}{heads}")
    for question in QUESTIONS:
        case, fault, tv = question
        setup = prepared(case)
        plan = Planner(BUDGET, fault=fault, tv=tv, power=POWER).of(setup)
        n = plan.chi_square or 1000
        made = spread(partial(observed, question=question, n=n), seeds, processes=options.processes)
        stops, fails = zip(*made, strict=True)
        late = np.quantile(stops, POWER, method="higher")
        power = f"{np.mean(fails):.1%}" if plan.chi_square else "–"
        print(
            f"{case:<22}{fault or 'flattest bias':<24}{plan.tv:>8.4f}{plan.rounds:>10,}"
            f"{late:>9,.0f}{plan.chi_square or '–':>14}{power:>8}",
            flush=True,
        )


if __name__ == "__main__":
    main()
