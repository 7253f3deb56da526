"""What the harness adds to a sampler's own time, and what it saves over the usual test loop.

Both are ratios of CPU time, measured in one run with calls in turn: (harness + sampler) over the
sampler alone, and the loop that repeats p and q for every trial, draws drafts with
torch.multinomial and counts with bincount, over the harness around the same sampler.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import torch

from audit.case import Case, Rows
from audit.harness.collect import Bench
from audit.harness.deck import deck_of
from audit.harness.null import handed_over
from audit.harness.schedule import Chunk, automatic_batch_size
from audit.harness.views import head_of, views_of
from audit.row import Row
from audit.samplers.interface import Facts, LoadedSampler, StepBatch
from audit.samplers.rules import SAMPLERS

CPU = torch.device("cpu")


def world(vocab_size: int, gamma: int) -> Case:
    """Returns a context-free case: softmax of normal logits, draft logits a little off."""
    generator = torch.Generator().manual_seed(vocab_size)
    logits = 2 * torch.randn(vocab_size, generator=generator, dtype=torch.float64)
    noise = 0.75 * torch.randn(vocab_size, generator=generator, dtype=torch.float64)
    rows = [
        Row.normalised((torch.softmax(x, 0) * 2**40).long().clamp(min=1).tolist())
        for x in (logits, logits + noise)
    ]
    target, draft = (Rows({(): row}) for row in rows)
    large = vocab_size > 64
    return Case("world", "A world.", vocab_size, gamma, target, draft, "partition", large=large)


@dataclass
class Timed:
    """A sampler that keeps the CPU time spent in it."""

    seconds: float = 0.0

    def __call__(self, batch: StepBatch, generator: torch.Generator) -> torch.Tensor:
        """Runs the ratio rule."""
        start = time.process_time()
        tokens = SAMPLERS["ratio"](batch, generator)
        self.seconds += time.process_time() - start
        return tokens


def materialised(case: Case, trials: int, generator: torch.Generator) -> None:
    """The usual test loop: everything repeated for every trial, one sampler call."""
    gamma = case.num_speculative_tokens
    p = torch.tensor(case.target[()].floats()).float().repeat(trials, gamma + 1, 1)
    q = torch.tensor(case.draft[()].floats()).float().repeat(trials, gamma, 1)
    drafts = torch.multinomial(q.flatten(0, 1), 1, generator=generator).view(trials, gamma)
    batch = StepBatch(drafts, q, p, torch.full((trials,), gamma))
    tokens = SAMPLERS["ratio"](batch, generator)
    torch.bincount(tokens[:, 0], minlength=case.vocab_size)


def cpu_seconds(work: Callable[[], object]) -> float:
    """Returns the CPU time of one call."""
    start = time.process_time()
    work()
    return time.process_time() - start


def ratios(vocab_size: int, gamma: int, *, rounds: int) -> tuple[float, float]:
    """Returns the medians of the two ratios."""
    case, timed = world(vocab_size, gamma), Timed()
    null = handed_over(case, torch.float32)
    deck = deck_of([null], dtype=torch.float32, device=CPU)
    size = automatic_batch_size(vocab_size, gamma)
    loaded = LoadedSampler("ratio", timed, Facts(in_process=True))
    views = views_of(null.case, key=b"k") + ((head_of(null.case),) if case.large else ())
    bench = Bench(loaded, deck, (views,), seed=1, batch_size=size)
    overhead, saving = [], []
    for turn in range(rounds + 1):
        timed.seconds = 0.0
        chunk = Chunk(look=1, part=1, first=turn * 8 * size, trials=8 * size)
        whole = cpu_seconds(partial(bench.collect, chunk))
        generator = torch.Generator().manual_seed(turn)
        usual = sum(cpu_seconds(partial(materialised, case, size, generator)) for _ in range(8))
        overhead.append(whole / timed.seconds)
        saving.append(usual / whole)
    return statistics.median(overhead[1:]), statistics.median(saving[1:])


def main() -> None:
    """Prints one line a vocabulary size and draft length."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=7)
    options = parser.parse_args()
    torch.set_num_threads(1)
    print(f"{'vocabulary':>10}{'gamma':>7}{'with harness / alone':>22}{'usual loop / harness':>22}")
    for vocab_size, gamma in ((3, 1), (3, 4), (32, 1), (1000, 1), (32_000, 1), (128_256, 1)):
        whole, usual = ratios(vocab_size, gamma, rounds=options.rounds)
        print(f"{vocab_size:>10}{gamma:>7}{whole:>22.2f}{usual:>22.2f}", flush=True)


if __name__ == "__main__":
    main()
