"""Runs one of our samplers, or any callable, on cases built in a test."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import torch

from audit.campaign import Campaign
from audit.case import Case
from audit.harness.store import RunDirectory
from audit.judgement.monitor import Monitor
from audit.judgement.prepare import set_up
from audit.samplers.interface import LoadedSampler
from audit.samplers.registry import load_sampler
from audit.statistics.certificate import looks
from audit.verdict import Budget

CPU = torch.device("cpu")


def budget_for(cases: int = 1, **changes: float) -> Budget:
    """Returns a budget at the defaults of tier smoke."""
    values = {"alpha": 1e-6, "delta": 1e-3, "epsilon": 0.05} | changes
    return Budget(**values, cases=cases)  # type: ignore[arg-type]


_set_up = lru_cache(maxsize=64)(set_up)  # made alike for many samplers, and shared by them


def campaign_of(
    sampler: str | LoadedSampler,
    cases: Sequence[Case],
    *,
    cap: int = 20_000,
    seed: int = 1,
    declares: Sequence[str] = (),
    budget: Budget | None = None,
    store: RunDirectory | None = None,
    fixed: bool = False,
    claims: str = "",
    **calls: Any,
) -> Campaign:
    """Returns a finished campaign; `calls` are its batch_size and small_batches."""
    budget = budget or budget_for(len(cases))
    setups = [
        _set_up(
            case, dtype=torch.float32, budget=budget, cap=cap, seed=seed, fixed=fixed, claims=claims
        )
        for case in cases
    ]
    made = Campaign(
        sampler=load_sampler(sampler) if isinstance(sampler, str) else sampler,
        monitors=[Monitor(s, budget, declared=declares, fixed=fixed) for s in setups],
        looks=looks(cap),
        seed=seed,
        dtype=torch.float32,
        device=CPU,
        store=store or RunDirectory(None, {}, name="test"),
        phase="audit",
        **{"batch_size": None, **calls},
    )
    made.run()
    return made
