"""Rows that steering needs, all probes counted, against Monte Carlo for the same certified TV.

A row is one draft block that is verified: where a sampler has no batch dimension it is a call.
Monte Carlo's certificate adds sqrt(ln(1 / delta) / (2 n)) to the total variation that it sees, so
that it needs at least the n at which this alone is epsilon. Steering's bound is the sum of what its
map and its generators are off and of the coupling's h; the rows of the coupling are fixed before.
The goals are 1,000 times fewer rows at 1e-4 and 1e5 times fewer at 1e-6.
"""

from __future__ import annotations

import argparse
import math

from audit.samplers.registry import load_sampler
from audit.selection import select_cases
from audit.steering.coupling import CHUNK, rows_needed
from audit.steering.result import NotSteerable, SteeredLaw
from audit.steering.steer import steer

DELTA = 1e-3
SHARE = 0.75  # of epsilon that the coupling is given
RUNS = (
    ("rule:ratio", "article-three-tokens", 1e-4),
    ("rule:ratio", "article-three-tokens", 1e-6),
    ("transformers", "mirrored-two", 1e-4),
)
HEAD = ("sampler", "case", "epsilon", "map", "generators", "h", "search", "proof", "rows", "calls")


def monte_carlo(epsilon: float) -> float:
    """Returns the rows without which no Monte Carlo certificate reaches epsilon."""
    return math.log(1 / DELTA) / (2 * epsilon**2)


def line(name: str, id_: str, epsilon: float) -> str:
    """Returns one line of the table, its last two columns ratios to Monte Carlo.

    Raises: SystemExit where the law is not certified to epsilon.
    """
    (case,) = select_cases([id_])
    rows = rows_needed(SHARE * epsilon, DELTA)
    found = steer(load_sampler(name), case, coupled=rows, delta=DELTA)
    if isinstance(found, NotSteerable) or found.bound > epsilon:
        raise SystemExit(f"{name} on {id_} is not certified to {epsilon}: {found}")
    return " ".join(
        [f"{name:<14}{id_:<22}{epsilon:>9.0e}", *_parts(found), *_ratios(found, epsilon)]
    )


def _parts(found: SteeredLaw) -> list[str]:
    parts = (float(found.law.to_target), found.generators, found.coupling.by_rows)
    asked = (found.search.rows, found.coupling.rows)
    return [*(f"{part:>11.1e}" for part in parts), *(f"{rows:>11,}" for rows in asked)]


def _ratios(found: SteeredLaw, epsilon: float) -> list[str]:
    """Returns Monte Carlo's rows, and its calls of as many rows as a proof's, over ours."""
    needed = monte_carlo(epsilon)
    each = 1 if found.mode == "Single" else min(CHUNK, found.coupling.rows // found.coupling.calls)
    rows = needed / (found.search.rows + found.coupling.rows)
    calls = needed / each / (found.search.calls + found.coupling.calls)
    return [f"{rows:>11,.0f}", f"{calls:>11,.0f}"]


def main() -> None:
    """Prints the parts of each bound, the rows asked for, and the ratios."""
    argparse.ArgumentParser(description=__doc__).parse_args()
    print(f"{HEAD[0]:<14}{HEAD[1]:<22}{HEAD[2]:>9}", *(f"{word:>11}" for word in HEAD[3:]))
    for name, id_, epsilon in RUNS:
        print(line(name, id_, epsilon), flush=True)


if __name__ == "__main__":
    main()
