"""After how many recorded rounds a fault is found, each context seen once, and false alarms.

Contexts are random (audit.simulation.recorded); three drafted tokens a round, alpha 1e-6. False
alarms are counted at alpha .2, where there could be some: of traces of a correct engine, with its
own rule declared.
"""

from __future__ import annotations

from functools import partial
from itertools import islice

import numpy as np
from common import arguments, spread
from scipy.stats import binom

from audit.simulation.recorded import recorded
from audit.trace import chunks
from audit.traces.judge import trace_verdict
from audit.traces.readings import evidence_of
from audit.traces.watch import RULE_SHARE, TraceWatch
from audit.verdict import Budget, Outcome

BUDGET = Budget(alpha=1e-6, delta=1e-3, epsilon=0.05, cases=1)
LOOSE = Budget(alpha=0.2, delta=1e-3, epsilon=0.05, cases=1)
MOST_ROUNDS = 4096
ALARM_ROUNDS = 512
SIZES = (50, 1000)
CORRECT = ("ratio", "sampler-match", "point-mass", "block")
FAULTS = (
    "full-target-fallback",
    "target-without-rejected",
    "absolute-residual",
    "draft-fallback",
    "always-accept",
    "lenience",
    "target-temperature-wrong",
    "target-temperature-wrong@4/5",
    "target-temperature-wrong@5/4",
    "bonus-from-draft",
    "bonus-one-row-early",
    "shared-coin",
)


def rounds_to_fail(
    seed: int, *, rule: str, vocab_size: int, declares: tuple[str, ...]
) -> tuple[float, str]:
    """Returns the rounds after which the trace failed (infinity if never), and what led."""
    watch = TraceWatch(BUDGET, declared=declares, tolerance=None, seed=seed)
    source = islice(recorded(rule, vocab_size=vocab_size, seed=seed), MOST_ROUNDS)
    for part in chunks(source, most=16):
        watch.update(part)
        if _failed(watch):
            return watch.tally.rounds, watch.gate.leader()
    return np.inf, ""


def _failed(watch: TraceWatch) -> bool:
    excluded = watch.rule is not None and (
        watch.rule.excluded().p_value <= BUDGET.level(RULE_SHARE)
    )
    return bool(watch.biased or watch.unruly or excluded)


def adverse(seed: int, *, rule: str, vocab_size: int) -> bool:
    """Returns whether a trace of a correct engine is accused of anything."""
    watch = TraceWatch(LOOSE, declared=(rule,), tolerance=None, seed=seed)
    source = islice(recorded(rule, vocab_size=vocab_size, seed=seed), ALARM_ROUNDS)
    for part in chunks(source):
        watch.update(part)
    verdict = trace_verdict(watch, evidence_of(watch))
    return verdict.outcome in (Outcome.FAIL, Outcome.DEPENDENT)


def main() -> None:
    """Prints stopping times of faults, then false alarms of correct rules."""
    options = arguments(__doc__ or "", runs=40)
    seeds = range(options.first_seed, options.first_seed + options.runs)
    print(f"{'fault':<30}{'V':>6}{'declared':>10}{'median':>8}{'90 %':>8}{'missed':>8}")
    for fault in FAULTS:
        for vocab_size in SIZES:
            for declares in ((), ("ratio",)):
                work = partial(rounds_to_fail, rule=fault, vocab_size=vocab_size, declares=declares)
                found = spread(work, seeds, processes=options.processes)
                times = np.array([rounds for rounds, _ in found])
                middle, late = np.quantile(times, [0.5, 0.9], method="higher")
                cells = f"{middle:>8.0f}{late:>8.0f}{np.isinf(times).sum():>8}"
                print(f"{fault:<30}{vocab_size:>6}{' '.join(declares):>10}{cells}", flush=True)
    print(f"\n{'correct rule':<30}{'V':>6}{'rounds':>10}{'runs':>8}{'alarms':>8}{'P':>8}")
    for rule in CORRECT:
        seeds = range(options.first_seed, options.first_seed + 10 * options.runs)
        work = partial(adverse, rule=rule, vocab_size=SIZES[0])
        hits = sum(spread(work, seeds, processes=options.processes))
        p_value = binom.sf(hits - 1, len(seeds), LOOSE.alpha)
        cells = f"{ALARM_ROUNDS:>10}{len(seeds):>8}{hits:>8}{p_value:>8.3g}"
        print(f"{rule:<30}{SIZES[0]:>6}{cells}", flush=True)


if __name__ == "__main__":
    main()
