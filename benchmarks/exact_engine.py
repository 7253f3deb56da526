"""Ratio of a naive enumeration in Fractions to the exact engine, both timed in this run.

The naive side multiplies and adds one Fraction at a time over all draft blocks; both give the
block law of the ratio rule, which the script compares before it prints.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable
from fractions import Fraction

import numpy as np

from audit.case import Case, Prefix, Rows
from audit.exact.engine import block_law, branches_of, rounds_of_case
from audit.exact.law import Law
from audit.row import Row

SIZES = ((3, 2), (3, 4), (3, 6), (8, 3), (16, 1), (32, 1), (32, 2))
BITS = (7, 40)


def random_case(vocab_size: int, gamma: int, bits: int) -> Case:
    """Returns a case whose every prefix has its own rows, with numerators of so many bits."""
    rng = np.random.default_rng(vocab_size * gamma * bits)

    def rows(longest: int) -> Rows:
        prefixes = (u for n in range(longest + 1) for u in np.ndindex(*[vocab_size] * n))
        return Rows({u: Row.normalised(rng.integers(1, 2**bits, vocab_size)) for u in prefixes})

    return Case("benchmark", "", vocab_size, gamma, rows(gamma), rows(gamma - 1))


def naive_law(case: Case) -> dict[Prefix, Fraction]:
    """Returns the block law of the ratio rule, one Fraction operation after another."""
    law: dict[Prefix, Fraction] = defaultdict(Fraction)
    for block in case.prefixes(case.num_speculative_tokens):
        weight = accepted = Fraction(1)
        for i, token in enumerate(block):
            weight *= case.draft[block[:i]][token]
        for i, token in enumerate(block):
            p, q = list(case.target[block[:i]]), list(case.draft[block[:i]])
            accept = min(Fraction(1), p[token] / q[token])
            excess = [max(a - b, Fraction(0)) for a, b in zip(p, q, strict=True)]
            stop = weight * accepted * (1 - accept)
            if stop:
                for recovered, mass in enumerate(excess):
                    law[(*block[:i], recovered)] += stop * mass / sum(excess)
            accepted *= accept
        for bonus, mass in enumerate(case.target[block]):
            law[(*block, bonus)] += weight * accepted * mass
    return {outcome: mass for outcome, mass in law.items() if mass}


def uncached_law(case: Case) -> Law:
    """Returns the block law of the ratio rule, computed anew from the rows."""
    for kept in (rounds_of_case, branches_of, block_law):
        kept.cache_clear()
    return block_law(case, "ratio")


def seconds(law: Callable[[Case], object], case: Case) -> float:
    """Returns the CPU seconds of one call."""
    start = time.process_time()
    law(case)
    return time.process_time() - start


def main() -> None:
    """Prints one line a size."""
    print("V  gamma  bits  naive / engine")
    for bits in BITS:
        for vocab_size, gamma in SIZES:
            case = random_case(vocab_size, gamma, bits)
            naive = naive_law(case)  # also makes both sides find their rows prepared
            if naive != dict(block_law(case, "ratio")):
                raise SystemExit("the two laws differ")
            fast = min(seconds(uncached_law, case) for _ in range(5))
            slow = min(seconds(naive_law, case) for _ in range(2))
            print(f"{vocab_size:<3}{gamma:<7}{bits:<6}{slow / fast:.0f}")


if __name__ == "__main__":
    main()
