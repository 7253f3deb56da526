"""The record of a run: what its campaigns showed, and all that it takes to repeat them."""

from __future__ import annotations

import platform
import shlex
from collections.abc import Mapping
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path

import numpy
import torch

from audit import __version__
from audit.campaign import Campaign
from audit.concluding import audit_of
from audit.config import find_config
from audit.diagnosis.results import Diagnosis
from audit.judgement.coverage import visibility
from audit.judgement.prepare import numerical_tolerance
from audit.judgement.suspicion import diagnoses_of
from audit.record import Audit, Environment, Record, RunSettings, Visibility
from audit.selection import word_for
from audit.settings import Settings, options_of
from audit.verdict import CONTROL_DID_NOT_FAIL, INTERRUPTED, Outcome, exit_code


def record_of(
    main: Campaign, beside: Campaign | None, *, settings: Settings, command: str, started: str
) -> Record:
    """Returns the record of a run: its campaign, and that of the control beside it."""
    control = None if beside is None else beside.sampler.name.removeprefix("fault:")
    alone = ["--no-config"] if find_config(Path.cwd()) else []  # a file's values would change it
    repeat = shlex.join(["draftproof", "run", main.sampler.name, *alone, *options_of(settings)])
    predict = {control: 1.0} if control else {}
    audit = audit_of(main, diagnoses=_diagnoses(main), predict=predict, repeat=repeat)
    ran = beside is not None and not main.interrupted
    control_audit = audit_of(beside) if beside is not None and ran else None
    interrupted = main.interrupted or (beside is not None and beside.interrupted)
    code = _exit_code(audit, control_audit, accepted=_accepted(audit, settings.accept_within))
    return Record(
        **dict(audit),
        draftproof=__version__,
        command=command,
        settings=_run_settings(main, settings, control),
        environment=_environment(main.sampler.identity),
        started=started,
        seconds=_seconds_since(started),
        control=control_audit,
        exit_code=INTERRUPTED if interrupted else code,
        seeds_tried=(settings.seed,),
        visibility=_visibility(main),
    )


def _visibility(campaign: Campaign) -> tuple[Visibility, ...]:
    """Returns what the cases see of each fault, to four digits."""
    found = visibility([monitor.setup for monitor in campaign.monitors])
    return tuple(
        Visibility(
            fault=fault, distances=tuple(None if d is None else float(f"{d:.4g}") for d in row)
        )
        for fault, row in found.items()
    )


def _accepted(audit: Audit, within: float | None) -> bool:
    """Whether every bias that was found is certified to be one that was accepted beforehand."""
    biased = (case for case in audit.cases if case.verdict.outcome is Outcome.WITHIN)
    return all(case.accepted(within) for case in biased)


def _seconds_since(started: str) -> float:
    return round((datetime.now(UTC) - datetime.fromisoformat(started)).total_seconds(), 3)


def _exit_code(audit: Audit, control: Audit | None, *, accepted: bool) -> int:
    code = exit_code(audit.verdict, accepted=accepted)
    if code == 0 and control is not None and control.verdict.outcome is not Outcome.FAIL:
        return CONTROL_DID_NOT_FAIL
    return code


def _run_settings(main: Campaign, settings: Settings, control: str | None) -> RunSettings:
    nulls = [monitor.setup.null for monitor in main.monitors]
    kept = {k: v for k, v in asdict(settings).items() if k not in ("device", "epsilon")}
    return RunSettings(
        **kept,
        device=str(settings.torch_device),
        cap=settings.cap,
        epsilon=settings.certify,
        tolerance=max(numerical_tolerance(null, settings.torch_dtype) for null in nulls),
        cases=tuple(word_for(monitor.setup.case) for monitor in main.monitors),
        control=control,
        limited=settings.limit is not None,
    )


def _diagnoses(campaign: Campaign) -> tuple[Diagnosis, ...]:
    """Returns what names the fault, nothing where nothing failed."""
    verdicts = (monitor.verdict().outcome for monitor in campaign.monitors)
    failed = campaign.together or Outcome.FAIL in verdicts
    return diagnoses_of(campaign.monitors) if failed else ()


def _environment(identity: Mapping[str, str]) -> Environment:
    """Returns the versions that a result depends on."""
    return Environment(
        python=platform.python_version(),
        torch=torch.__version__,
        numpy=numpy.__version__,
        platform=platform.platform(),
        sampler=dict(identity),
    )
