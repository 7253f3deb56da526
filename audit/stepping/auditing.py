"""The audit of a step sampler, from a selection of cases to a record; the public Python API.

Nothing is printed here.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import closing
from datetime import UTC, datetime
from typing import Any

from audit.case import Case
from audit.errors import UsageError
from audit.fitting import cases_for
from audit.harness.store import RunDirectory
from audit.judgement.monitor import Monitor
from audit.judgement.prepare import CaseSetup, set_up
from audit.judgement.proposals import ProposalWatch
from audit.progress import Progress
from audit.run import one_thread
from audit.samplers.stepping.interface import LoadedStep
from audit.samplers.stepping.loading import load_step, wrap_step
from audit.settings import DEFAULTS, Settings, check
from audit.stepping.apart import taken_apart
from audit.stepping.campaign import StepCampaign
from audit.stepping.record import StepRecord
from audit.stepping.recording import record_of
from audit.verdict import Budget


def run_step(
    sampler: Any,
    *,
    cases: Sequence[str | Case] = (),
    drafts: str = "sampled",
    settings: Settings = DEFAULTS,
    progress: Callable[[Progress], None] | None = None,
    command: str = "",
) -> StepRecord:
    """Returns the audit of a sampler that proposes and verifies.

    sampler: a name that `load_step` takes, or an object of this process (docs/step-level.md).
    cases: as `run_audit` takes them, but small ones with chains alone. drafts: how a rule of ours
    drafts.

    Raises:
        UsageError: an argument is unusable, or a case is too large or drafts a tree.
        SamplerError: the sampler cannot be loaded.
    """
    _check(settings)
    started, start = datetime.now(UTC).isoformat(timespec="milliseconds"), time.monotonic()
    with one_thread(), closing(_loaded(sampler, settings, drafts)) as loaded:
        chosen = cases_for(loaded, cases)
        _refuse_large(chosen)
        deadline = None if settings.time_limit is None else start + settings.time_limit
        campaign = _campaign(loaded, chosen, settings, deadline=deadline, progress=progress)
        campaign.run()
        apart = taken_apart(campaign, loaded)
    return record_of(
        campaign, apart, settings=settings, command=command, started=started, start=start
    )


def _loaded(sampler: Any, settings: Settings, drafts: str) -> LoadedStep:
    if not isinstance(sampler, str):
        return wrap_step(sampler)
    return load_step(
        sampler,
        drafts=drafts,
        device=str(settings.torch_device),
        timeout=settings.timeout,
        in_process=settings.in_process,
        python=settings.python,
    )


def _check(settings: Settings) -> None:
    check(settings)
    if settings.method not in (None, "sampled"):
        raise UsageError(
            f"method = {settings.method!r} reads the law off a verifying sampler; at the step "
            "level rounds are sampled: leave the method out."
        )


def _refuse_large(cases: Sequence[Case]) -> None:
    for case in cases:
        if case.large:
            raise UsageError(
                f"case {case.id} has a large vocabulary ({case.vocab_size} ids); at the step level "
                "drafts are counted id by id: select small cases."
            )


def _campaign(
    loaded: LoadedStep,
    cases: Sequence[Case],
    settings: Settings,
    *,
    deadline: float | None,
    progress: Callable[[Progress], None] | None,
) -> StepCampaign:
    """Returns the campaign of a step sampler, not begun."""
    s, dtype, device = settings, settings.torch_dtype, settings.torch_device
    budget = Budget(s.alpha, s.delta, s.certify, len(cases), s.accept_within)
    setups = [_set_up(case, settings, budget, claims=loaded.facts.claims) for case in cases]
    watches = (ProposalWatch(one, budget, dtype=dtype, device=device) for one in setups)
    limited = s.limit is not None
    return StepCampaign(
        sampler=loaded,
        monitors=[Monitor(one, budget, fixed=s.fixed, limited=limited) for one in setups],
        looks=s.looks,
        seed=s.seed,
        dtype=dtype,
        device=device,
        batch_size=s.batch_size,
        store=RunDirectory(None, {}, name="step"),
        phase="step",
        small_batches=s.small_batches,
        deadline=deadline,
        progress=progress,
        watches={watch.case.id: watch for watch in watches},
    )


def _set_up(case: Case, settings: Settings, budget: Budget, *, claims: str) -> CaseSetup:
    s = settings
    return set_up(
        case,
        dtype=s.torch_dtype,
        budget=budget,
        cap=s.cap,
        seed=s.seed,
        fixed=s.fixed,
        claims=claims,
    )
