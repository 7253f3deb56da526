"""Runs proposers and step samplers on cases, without the campaign around them."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import torch
from simulation import budget_for

from audit.case import Case
from audit.harness.deck import deck_of
from audit.harness.schedule import chunks
from audit.harness.stepping import StepBench
from audit.judgement.prepare import CaseSetup, set_up
from audit.judgement.proposals import ProposalWatch
from audit.samplers.rules import sampler_of
from audit.samplers.stepping.drafting import DRAFTS
from audit.samplers.stepping.interface import StepSampler, halves
from audit.samplers.stepping.loading import wrap_step
from audit.selection import select_cases

CPU, DTYPE = torch.device("cpu"), torch.float32
BUDGET = budget_for()


def case_named(name: str) -> Case:
    """Returns a shipped case."""
    return select_cases([name])[0]


@lru_cache
def setup_of(case: Case) -> CaseSetup:
    """Returns what the case is compared with, made once."""
    return set_up(case, dtype=DTYPE, budget=BUDGET, cap=20_000, seed=1, fixed=False, claims="")


def proposing(name: str, *, verify: str = "ratio") -> StepSampler:
    """Returns a rule of ours behind drafts of ours."""
    return halves(DRAFTS[name], sampler_of(verify))


def watched(
    sampler: Any, *cases: Case, looks: tuple[int, ...] = (2_000, 20_000), seed: int = 1
) -> list[ProposalWatch]:
    """Returns what the proposals of a sampler show on these cases, which share every call."""
    setups = [setup_of(case) for case in cases]
    watches = [ProposalWatch(setup, BUDGET, dtype=DTYPE, device=CPU) for setup in setups]
    bench = StepBench(
        wrap_step(sampler),
        deck_of([setup.null for setup in setups], dtype=DTYPE, device=CPU),
        tuple(setup.views for setup in setups),
        seed,
        batch_size=4096,
        tallies={watch.case.id: watch.tally for watch in watches},
    )
    every = chunks(looks)
    for chunk, after in zip(every, [*every[1:], None], strict=True):
        bench.collect(chunk)
        ends = after is None or after.look > chunk.look
        for watch in watches:
            watch.update(chunk, ends_look=ends)
    return watches


def watch_over(sampler: Any, case: Case, **more: Any) -> ProposalWatch:
    """Returns what the proposals of a sampler show on one case."""
    return watched(sampler, case, **more)[0]
