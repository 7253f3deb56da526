"""Whether a sampler repeats itself, found before the first trial."""

from __future__ import annotations

import math
from collections import Counter
from itertools import combinations

import torch

from audit.harness.batches import Keys, Rows
from audit.harness.collect import Bench
from audit.harness.randomness import generator_for

_PROBES = 33  # calls, so that a generator restarted at every 2nd to 16th call repeats itself
_PROBE_ROWS = 64


def is_frozen(bench: Bench, *, level: float) -> bool:
    """Returns whether the sampler repeats itself although its generator differs.

    One row is handed over many times in one call, and that call is made again and again, at two
    sizes in turn. Rows of a call that differ, in the very same order in two calls, restart their
    random numbers. Given the outcomes of a call, independent rows repeat their order with a
    known chance; where that is above `level` for all pairs of calls, nothing is told.
    """
    _ = bench.untouched
    calls = [_probe(bench, number) for number in range(_PROBES)]
    pairs = list(combinations(calls, 2))
    return any(
        torch.equal(one, other) and _chance_of_order(one) * len(pairs) <= level
        for one, other in pairs
    )


def _probe(bench: Bench, number: int) -> torch.Tensor:
    deck = bench.deck
    rows = min(_PROBE_ROWS, bench.batch_size) - number % 2
    zeros = torch.zeros(max(rows, 1), dtype=torch.int64, device=deck.device)
    same = Rows(zeros, zeros)
    keys = Keys.of(deck, seed=bench.seed, purpose="probe")
    generator = generator_for(bench.seed, "probe", number, device=deck.device)
    return bench.play(same, keys, generator).tokens


def _chance_of_order(tokens: torch.Tensor) -> float:
    """Returns the chance that independent rows with these outcomes come in this order."""
    counts = Counter(map(tuple, tokens.tolist())).values()
    orders = math.lgamma(len(tokens) + 1) - sum(math.lgamma(n + 1) for n in counts)
    return math.exp(-orders)
