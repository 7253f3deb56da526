"""Whole campaigns of one sampler, many times over, spread over processes."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from functools import cache
from multiprocessing import get_context
from typing import TypeVar

import torch

from audit.campaign import Campaign
from audit.harness.store import RunDirectory
from audit.judgement.monitor import Monitor
from audit.judgement.prepare import CaseSetup, set_up
from audit.samplers.interface import LoadedSampler
from audit.samplers.registry import load_sampler
from audit.selection import select_cases
from audit.statistics.certificate import looks
from audit.verdict import Budget

Result = TypeVar("Result")
CPU = torch.device("cpu")


@cache
def setups(case_ids: tuple[str, ...], budget: Budget, cap: int) -> tuple[CaseSetup, ...]:
    """Returns the setups of these cases, made once a process."""
    return tuple(
        set_up(case, dtype=torch.float32, budget=budget, cap=cap, seed=0, fixed=False, claims="")
        for case in select_cases(case_ids)
    )


def campaign(
    sampler: str | LoadedSampler,
    case_ids: Sequence[str],
    *,
    seed: int,
    budget: Budget,
    cap: int,
    declares: Sequence[str] = (),
    monitor: Callable[..., Monitor] = Monitor,
) -> Campaign:
    """Returns a finished campaign of one sampler on these cases; `monitor` makes the monitors."""
    prepared = setups(tuple(case_ids), budget, cap)
    torch.set_num_threads(1)
    made = Campaign(
        sampler=load_sampler(sampler) if isinstance(sampler, str) else sampler,
        monitors=[monitor(setup, budget, declared=declares) for setup in prepared],
        looks=looks(cap),
        seed=seed,
        dtype=torch.float32,
        device=CPU,
        batch_size=None,
        store=RunDirectory(None, {}, name="simulation"),
        phase="audit",
    )
    made.run()
    return made


@contextmanager
def workers(processes: int) -> Iterator[ProcessPoolExecutor]:
    """Yields a pool of processes of one thread each; on an error what is not begun is dropped."""
    os.environ["OMP_NUM_THREADS"] = "1"
    pool = ProcessPoolExecutor(processes, mp_context=get_context("spawn"))
    try:
        yield pool
    finally:
        pool.shutdown(cancel_futures=True)


def spread(work: Callable[[int], Result], seeds: Iterable[int], *, processes: int) -> list[Result]:
    """Returns work(seed) of every seed in order, made by several processes."""
    with workers(processes) as pool:
        return list(pool.map(work, seeds, chunksize=8))
