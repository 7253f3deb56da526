"""What the benchmark scripts share: many runs of one sampler, spread over processes."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import cache
from multiprocessing import get_context
from typing import Any

import torch

from audit.campaign import Campaign
from audit.harness.store import RunDirectory
from audit.judgement.monitor import Monitor
from audit.judgement.prepare import CaseSetup, set_up
from audit.samplers.registry import load_sampler
from audit.selection import select_cases
from audit.statistics.certificate import looks
from audit.verdict import Budget

CPU = torch.device("cpu")


def arguments(description: str, *, runs: int) -> argparse.Namespace:
    """Returns the common options: how many runs, on how many processes, from which seed."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--runs", type=int, default=runs)
    parser.add_argument("--processes", type=int, default=os.cpu_count())
    parser.add_argument("--first-seed", type=int, default=1)
    return parser.parse_args()


@cache
def setups(
    case_ids: tuple[str, ...], budget: Budget, cap: int, claims: str = ""
) -> tuple[CaseSetup, ...]:
    """Returns the setups of these cases, made once a process."""
    return tuple(
        set_up(
            case, dtype=torch.float32, budget=budget, cap=cap, seed=0, fixed=False, claims=claims
        )
        for case in select_cases(case_ids)
    )


def campaign(
    sampler: str,
    case_ids: Sequence[str],
    *,
    seed: int,
    budget: Budget,
    cap: int,
    declares: Sequence[str] = (),
    monitor: Callable[..., Monitor] = Monitor,
) -> Campaign:
    """Returns a finished campaign of one sampler on these cases."""
    prepared = setups(tuple(case_ids), budget, cap)
    torch.set_num_threads(1)
    made = Campaign(
        sampler=load_sampler(sampler),
        monitors=[monitor(s, budget, declared=declares) for s in prepared],
        looks=looks(cap),
        seed=seed,
        dtype=torch.float32,
        device=CPU,
        batch_size=None,
        store=RunDirectory(None, {}, name="benchmark"),
        phase="audit",
    )
    made.run()
    return made


def spread(work: Callable[[int], Any], seeds: Iterable[int], *, processes: int) -> list[Any]:
    """Returns work(seed) of every seed, made by several processes of one thread each."""
    os.environ["OMP_NUM_THREADS"] = "1"
    with ProcessPoolExecutor(processes, mp_context=get_context("spawn")) as pool:
        return list(pool.map(work, seeds, chunksize=8))
