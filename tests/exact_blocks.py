"""Wrong block verification as programs of the oracle, and greedy block verification done right.

They follow the prose of the algorithm page (sections 1.6, 1.7 and 3.5).
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from itertools import product

from exact_oracle import ONE, Program, Tape, Weights, clip, p, positive_part, q, scaled

from audit.case import Case

Grow = Callable[[Fraction, Fraction, Fraction], Fraction]
Height = Callable[[Case, list[int], list[Fraction], int], Fraction]
Pick = Callable[[Tape, list[Fraction]], int]
Final = Callable[[Case, list[int], list[Fraction], int], Weights]


def clamped(scale: Fraction, a: Fraction, b: Fraction) -> Fraction:
    return clip(scale * a, b)


def excess(case: Case, x: list[int], scale: Fraction, at: int) -> Weights:
    """Returns (scale p - q)+ after the first `at` drafted tokens."""
    return positive_part(scaled(case, x[:at], scale), q(case, x[:at]))


def height(case: Case, x: list[int], scales: list[Fraction], i: int, row: int = 0) -> Fraction:
    mass = sum(excess(case, x, scales[i], i + row))
    below = mass + max(1 - scales[i], Fraction(0))
    return mass / below if below else ONE


def last_pass(tape: Tape, heights: list[Fraction]) -> int:
    passed = [i for i, h in enumerate(heights, 1) if tape.coin(h)]
    return max(passed, default=0)


def first_failure(tape: Tape, heights: list[Fraction]) -> int:
    for i, h in enumerate(heights):
        if not tape.coin(h):
            return i
    return len(heights)


def one_coin(tape: Tape, heights: list[Fraction]) -> int:
    coin = tape.uniform(Fraction(0), ONE, heights)
    return max((i for i, h in enumerate(heights, 1) if coin < h), default=0)


def by_blocks(
    grow: Grow = clamped,
    test: Height = height,
    pick: Pick = last_pass,
    final: Final = lambda case, x, scales, n: excess(case, x, scales[n], n),
) -> Program:
    """Returns the program that keeps a prefix of the block by tests of whole prefixes."""

    def program(tape: Tape, case: Case, x: list[int]) -> list[int]:
        scales = [ONE]
        for i, token in enumerate(x):
            a, b = p(case, x[:i])[token], q(case, x[:i])[token]
            scales.append(grow(scales[-1], a, b))
        heights = [test(case, x, scales, i) for i in range(1, len(x))]
        n = pick(tape, [*heights, min(scales[-1], ONE)])
        return [*x[:n], tape.draw(final(case, x, scales, n) if n < len(x) else p(case, x))]

    return program


def token_residual(case: Case, x: list[int], scales: list[Fraction], n: int) -> Weights:
    return positive_part(p(case, x[:n]), q(case, x[:n]))


BLOCK_PROGRAMS: dict[str, Program] = {
    "block-token-residual": by_blocks(final=token_residual),
    "block-product-as-height": by_blocks(test=lambda case, x, scales, i: scales[i]),
    "block-first-failure-ends": by_blocks(pick=first_failure),
    "block-product-unclamped": by_blocks(grow=lambda scale, a, b: scale * a / b if b else scale),
    "block-mass-as-height": by_blocks(
        test=lambda case, x, scales, i: sum(excess(case, x, scales[i], i), Fraction(0))
    ),
    "block-residual-of-longer-prefix": by_blocks(
        final=lambda case, x, scales, n: excess(case, x, scales[n + 1], n)
    ),
    "block-token-ratio-last-wins": by_blocks(
        grow=lambda scale, a, b: clip(a, b),
        test=lambda case, x, scales, i: scales[i],
        final=token_residual,
    ),
    "block-height-row-early": by_blocks(
        test=lambda case, x, scales, i: height(case, x, scales, i, row=-1)
    ),
    "block-full-target-fallback": by_blocks(final=lambda case, x, scales, n: p(case, x[:n])),
    "block-one-coin": by_blocks(pick=one_coin),
}


def mass(case: Case, rows: Callable[[Case, list[int]], Weights], block: list[int]) -> Fraction:
    """Returns the probability of a block."""
    found = ONE
    for i, token in enumerate(block):
        found *= rows(case, block[:i])[token]
    return found


def shared(case: Case, block: list[int]) -> Fraction:
    """Returns min(p, q) of a whole block."""
    return min(mass(case, p, block), mass(case, q, block))


def following(case: Case, block: list[int], of: Callable[[list[int]], Fraction]) -> list[Fraction]:
    return [of([*block, token]) for token in range(case.vocab_size)]


def greedy_block(tape: Tape, case: Case, x: list[int]) -> list[int]:
    """Draws gamma + 1 tokens by greedy block verification with its changed target.

    Its kept prefix is found from the back: prefix i is kept with min(p, q), given that no longer
    one is. The rest of the block then follows (p - q)+ of whole blocks.
    """
    kept = next((i for i in range(len(x), 0, -1) if tape.coin(kept_given(case, x[:i], x))), 0)
    block = x[:kept]
    while len(block) < len(x):
        block = [*block, tape.draw(following(case, block, lambda b: over(case, b)))]
    return [*block, tape.draw(p(case, block))]


def over(case: Case, block: list[int]) -> Fraction:
    """Returns (p - q)+ of a block."""
    return max(mass(case, p, block) - mass(case, q, block), Fraction(0))


def kept_given(case: Case, prefix: list[int], x: list[int]) -> Fraction:
    """Returns P(the prefix is kept, given that no longer one is)."""
    longer = Fraction(0)
    if len(prefix) < len(x):
        longer = sum(following(case, prefix, lambda b: shared(case, b)), Fraction(0))
    left = mass(case, q, prefix) - longer
    return (shared(case, prefix) - longer) / left if left else Fraction(0)


def mean_kept_greedily(case: Case) -> Fraction:
    """Returns the sum of min(p, q) over all blocks of 1..gamma tokens."""
    lengths = range(1, case.num_speculative_tokens + 1)
    blocks = (b for n in lengths for b in product(range(case.vocab_size), repeat=n))
    return sum((shared(case, list(block)) for block in blocks), Fraction(0))
