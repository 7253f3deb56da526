"""How often a fault is given its name at the end of a real audit, which stops as soon as it fails.

The samplers of the catalogue are audited on the cases of `naming.py`, each until it fails or the
cap is reached. A fault whose audit did not fail is not named, and counts for nothing here.
"""

from __future__ import annotations

import argparse
import os
import secrets
from collections.abc import Sequence
from functools import partial

from common import campaign, spread
from naming import share
from naming_questions import GROUPS, QUESTIONS

from audit.judgement.suspicion import diagnoses_of
from audit.verdict import Budget

ALPHA, DELTA, EPSILON = 1e-6, 1e-3, 0.02


def outcome(number: int, *, names: Sequence[str], seed: int, runs: int, cap: int) -> str:
    """Returns "right", "listed", "wrong" or "unlisted" after a failure, "" where there is none."""
    asked = QUESTIONS[names[number // runs]]
    cases = GROUPS[asked.group]
    budget = Budget(ALPHA, DELTA, EPSILON, len(cases))
    made = campaign(f"fault:{asked.wanted}", cases, seed=seed + number, budget=budget, cap=cap)
    if made.errors or not any(monitor.failures for monitor in made.monitors):
        return ""
    (found,) = diagnoses_of(made.monitors)
    if not found.suspects:
        return "unlisted"
    if asked.wanted in found.suspects[0].ids:
        return "right"
    return "listed" if asked.wanted in found.ids else "wrong"


def main() -> None:
    """Prints a line for every fault that was not always named, and the shares by group."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=4, help="audits of each fault")
    parser.add_argument("--cap", type=int, default=50_000, help="rounds of each case at most")
    parser.add_argument("--processes", type=int, default=os.cpu_count())
    parser.add_argument("--first-seed", type=int, default=secrets.randbits(32))
    options = parser.parse_args()
    print(f"first seed {options.first_seed}")
    names = [name for name, asked in QUESTIONS.items() if asked.wanted]
    runs = options.runs
    work = partial(outcome, names=names, seed=options.first_seed, runs=runs, cap=options.cap)
    found = spread(work, range(len(names) * runs), processes=options.processes)
    shares: dict[str, list[bool]] = {}
    for place, name in enumerate(names):
        outcomes = [one for one in found[place * runs : (place + 1) * runs] if one]
        shares.setdefault(QUESTIONS[name].group, []).extend(one == "right" for one in outcomes)
        if set(outcomes) != {"right"}:
            print(f"{name}: {', '.join(outcomes) or 'no audit failed'}")
    for group, right in shares.items():
        print(f"{group:<32}{share(right)}")


if __name__ == "__main__":
    main()
