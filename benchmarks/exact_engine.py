"""What the exact engine takes, and its ratio to plain Fractions, all timed in this run.

The plain side is the textbook loop over all draft blocks and over all ways each can end, one
Fraction operation after another, from rows that stand ready as lists of Fractions; the engine
starts from its own ready rows. Both give the block law of the ratio rule, or the answer of the
one-step check, and the script compares them before it prints. Times are CPU seconds.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from fractions import Fraction
from itertools import product

import numpy as np

from audit.case import Case, Prefix, Rows
from audit.exact.catalogue import RULES, rules_for
from audit.exact.engine import block_law, branches_of, completed_law, rounds_of_case
from audit.exact.matrix import fault_matrix
from audit.exact.onestep import one_step
from audit.row import Row
from audit.selection import select_cases

Table = dict[Prefix, list[Fraction]]
SIZES = ((3, 2), (3, 4), (3, 6), (3, 8), (8, 3), (8, 4), (32, 2))
BITS = (0, 40)  # of the numerators; 0: rows in hundredths
LARGE_VOCABULARY = 128_000
ZERO, ONE = Fraction(0), Fraction(1)


def main() -> None:
    """Prints the time of the catalogue and of the matrix, then the ratios."""
    print(*catalogue_lines(), sep="\n")
    print("\nV  gamma  numerators  plain / engine")
    for bits, (vocab_size, gamma) in product(BITS, SIZES):
        ratio = block_law_ratio(random_case(vocab_size, gamma, bits))
        shown = f"{bits} bits" if bits else "hundredths"
        print(f"{vocab_size:<3}{gamma:<7}{shown:<12}{ratio:.0f}")
    print(f"\none-step check, V = {LARGE_VOCABULARY}, plain / engine: {one_step_ratio():.0f}")


def catalogue_lines() -> Iterator[str]:
    """Yields how long all chain entries on one case take, and the matrix of all but large cases."""
    (case,) = select_cases(["prefix-dependent-2"])
    taken = seconds(lambda: enumerate_catalogue(case))
    yield f"{len(rules_for(case))} chain entries at V = 3, gamma = 2: {taken:.2f} s"
    forget()
    cases = select_cases(["small", "trees"])
    taken = seconds(lambda: fault_matrix(cases))
    yield f"matrix of {len(RULES)} entries and {len(cases)} cases: {taken:.1f} s"


def enumerate_catalogue(case: Case) -> None:
    """Computes the block law and the completed law of every entry of the case's shape."""
    forget()
    for name in rules_for(case):
        block_law(case, name)
        completed_law(case, name)


def block_law_ratio(case: Case) -> float:
    """Returns how much longer the plain loop takes for the block law of the ratio rule."""
    target, draft = tables(case)
    law = plain_block_law(target, draft, case)
    rounds_of_case(case)  # the engine's rows stand ready too
    if law != dict(block_law(case, "ratio")):
        raise SystemExit("the two laws differ")

    def engine() -> None:
        branches_of.cache_clear()
        block_law.cache_clear()
        block_law(case, "ratio")

    slow = min(seconds(lambda: plain_block_law(target, draft, case)) for _ in range(2))
    return slow / min(seconds(engine) for _ in range(5))


def plain_block_law(target: Table, draft: Table, case: Case) -> dict[Prefix, Fraction]:
    """Returns the block law of the ratio rule, one Fraction operation after another."""
    law: dict[Prefix, Fraction] = defaultdict(Fraction)
    for block in case.prefixes(case.num_speculative_tokens):
        weight = accepted = ONE
        for i, token in enumerate(block):
            weight *= draft[block[:i]][token]
        for i, token in enumerate(block):
            p, q = target[block[:i]], draft[block[:i]]
            accept = min(ONE, p[token] / q[token])
            excess = [max(a - b, ZERO) for a, b in zip(p, q, strict=True)]
            total, stop = sum(excess), weight * accepted * (1 - accept)
            if stop:
                for recovered, mass in enumerate(excess):
                    law[(*block[:i], recovered)] += stop * mass / total
            accepted *= accept
        for bonus, mass in enumerate(target[block]):
            law[(*block, bonus)] += weight * accepted * mass
    return {outcome: mass for outcome, mass in law.items() if mass}


def one_step_ratio() -> float:
    """Returns how much longer the plain loop takes to check one step of the ratio rule."""
    rng = np.random.default_rng(1)
    p, q = (dyadic_row(rng) for _ in range(2))
    lists = list(p), list(q)
    if not (plain_one_step(*lists) and one_step("ratio", p, q).emits(p)):
        raise SystemExit("a step of the ratio rule does not emit the target")
    slow = min(seconds(lambda: plain_one_step(*lists)) for _ in range(2))
    return slow / min(seconds(lambda: one_step("ratio", p, q).emits(p)) for _ in range(9))


def plain_one_step(p: list[Fraction], q: list[Fraction]) -> bool:
    """Returns whether q a + R r = p, one Fraction operation after another."""
    kept, excess, rejected = [], [], ZERO
    for a, b in zip(p, q, strict=True):
        accept = min(ONE, a / b)
        kept.append(b * accept)
        rejected += b * (1 - accept)
        excess.append(max(a - b, ZERO))
    total = sum(excess)
    rows = zip(kept, excess, p, strict=True)
    return all(mass + rejected * more / total == wanted for mass, more, wanted in rows)


def dyadic_row(rng: np.random.Generator) -> Row:
    """Returns a row with numerators over 2 ** 30, all positive."""
    shares = rng.exponential(size=LARGE_VOCABULARY)
    numerators = np.floor(shares / shares.sum() * 2**29).astype(np.int64) + 1
    numerators[0] += 2**30 - numerators.sum()
    return Row(numerators, 2**30)


def random_case(vocab_size: int, gamma: int, bits: int) -> Case:
    """Returns a case whose every prefix has its own rows, in hundredths or of so many bits."""
    rng = np.random.default_rng(vocab_size * gamma)

    def row() -> Row:
        if bits:
            return Row.normalised(rng.integers(1, 2**bits, vocab_size))
        cuts = np.sort(rng.choice(np.arange(1, 100), vocab_size - 1, replace=False))
        return Row.normalised(np.diff([0, *cuts, 100]))

    def rows(longest: int) -> Rows:
        prefixes = (u for n in range(longest + 1) for u in np.ndindex(*[vocab_size] * n))
        return Rows({u: row() for u in prefixes})

    return Case("benchmark", "", vocab_size, gamma, rows(gamma), rows(gamma - 1))


def tables(case: Case) -> tuple[Table, Table]:
    """Returns the target and draft rows by prefix, as lists of Fractions."""
    gamma = case.num_speculative_tokens
    target = {u: list(case.target[u]) for n in range(gamma + 1) for u in case.prefixes(n)}
    draft = {u: list(case.draft[u]) for n in range(gamma) for u in case.prefixes(n)}
    return target, draft


def forget() -> None:
    """Empties what the engine keeps."""
    for kept in (rounds_of_case, branches_of, block_law, completed_law):
        kept.cache_clear()


def seconds(work: Callable[[], object]) -> float:
    """Returns the CPU seconds of one call."""
    start = time.process_time()
    work()
    return time.process_time() - start


if __name__ == "__main__":
    main()
