"""Every way to name a step sampler, and what stands behind the name.

`reference`, `rule:ID` and `fault:ID` are ours and run in this process: right drafts in front of a
verifying rule, or one of the faults that a drafting side can have. `module:object` and
`path/to/file.py:object` are the user's and run in a worker process, which is handed the tables of
the models, unless the user accepts them here.
"""

from __future__ import annotations

import platform
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from audit.errors import UsageError
from audit.exact.catalogue import RULES
from audit.samplers.adapters.listing import TARGETS
from audit.samplers.adapters.target import Target
from audit.samplers.client import WorkerSampler, refusal
from audit.samplers.facts import facts_from, nearest
from audit.samplers.identity import code_of_files, code_of_module
from audit.samplers.identity_of_object import code_of_object
from audit.samplers.interface import Facts
from audit.samplers.listing import elsewhere
from audit.samplers.rules import sampler_of
from audit.samplers.stepping.drafting import DRAFTS
from audit.samplers.stepping.faults import FAULTS
from audit.samplers.stepping.interface import LoadedStep, StepSampler, halves
from audit.samplers.worker.loading import RefusedError, load
from audit.samplers.worker.stepping import Halves, has_halves, unusable_step

_FOLDER = Path(__file__).parents[1]
_FILES = {
    path.relative_to(_FOLDER).as_posix(): path
    for name in ("block", "chain", "race", "rowwise", "rules", "faults/*", "stepping/*")
    for path in _FOLDER.glob(f"{name}.py")
}
_HONEST = ("sampled", "raced")


def load_step(
    spec: str,
    *,
    drafts: str = "sampled",
    device: str = "cpu",
    timeout: float = 60.0,
    in_process: bool = False,
    python: str | None = None,
) -> LoadedStep:
    """Returns the step sampler that `spec` names.

    drafts: one of DRAFTS, how a rule of ours drafts. The others are those of `load_sampler`.

    Raises: UsageError where nothing has this name; SamplerError where it cannot be imported.
    """
    place, _, name = spec.rpartition(":")
    if spec == "reference" or place in ("rule", "fault"):
        return _own(spec, drafts)
    if drafts != "sampled":
        raise UsageError(f"{spec} drafts for itself; drafts = {drafts!r} is for rules of ours.")
    if spec in TARGETS:
        return _adapted(TARGETS[spec])
    if not (place and name):
        known = nearest(spec, [*own_names(), *_adapted_names()])
        raise UsageError(elsewhere(spec, "step") or f"no step sampler is named {known}")
    if in_process:
        return _here(spec)
    return _apart(spec, device=device, timeout=timeout, python=python)


def _here(spec: str) -> LoadedStep:
    try:
        found, origin = load(spec, unusable_step)
    except RefusedError as refused:
        raise refusal(str(refused), usage=refused.usage, detail=refused.detail) from None
    files = {name: Path(path) for name, path in origin["files"].items()}
    return _loaded(spec, found, code_of_files(files) if files else code_of_object(found))


def wrap_step(sampler: Any) -> LoadedStep:
    """Returns an object of this process as a step sampler; its `draftproof` attribute is read."""
    if isinstance(sampler, LoadedStep):
        return sampler
    name = getattr(sampler, "__qualname__", type(sampler).__qualname__)
    return _loaded(name, sampler, code_of_object(sampler))


def own_names() -> list[str]:
    """Returns the names of our own step samplers."""
    chains = [entry for entry in RULES.values() if not entry.trees]
    rules = [f"rule:{entry.id}" for entry in chains if entry.family == "lossless"]
    drafting = [name for name in (*FAULTS, *DRAFTS) if name not in _HONEST]
    others = [entry.id for entry in chains if entry.family != "lossless"]
    faults = [f"fault:{name}" for name in dict.fromkeys([*drafting, *others])]
    return ["reference", *rules, *faults]


def _own(spec: str, drafts: str) -> LoadedStep:
    if spec.partition("@")[0] not in own_names():
        known = nearest(spec, own_names())
        raise UsageError(elsewhere(spec, "step") or f"no step sampler is named {known}")
    if drafts not in DRAFTS:
        raise UsageError(f"no drafts are named {nearest(drafts, DRAFTS)}")
    name = spec.partition(":")[2] or "ratio"
    if name in FAULTS:
        return _loaded(spec, FAULTS[name](), code_of_files(_FILES))
    if name in DRAFTS:
        return _loaded(spec, halves(DRAFTS[name], sampler_of("ratio")), code_of_files(_FILES))
    called = spec if drafts == "sampled" else f"{spec} with {drafts}"
    return _loaded(called, halves(DRAFTS[drafts], sampler_of(name)), code_of_files(_FILES))


def _adapted_names() -> list[str]:
    return [target.name for target in TARGETS.values() if target.step]


def _adapted(target: Target) -> LoadedStep:
    """Returns one round of an adapter. Raises UsageError where it does not draft for itself."""
    if target.step is None:
        raise UsageError(
            f"{target.name} has no round that drafts for itself; audit it with `{target.command}`."
        )
    package = target.package
    made = package.made(target.step)
    return _loaded(target.name, made, code_of_module(package.module, package.file))


def _apart(spec: str, *, device: str, timeout: float, python: str | None) -> LoadedStep:
    worker = WorkerSampler(spec, device=device, timeout=timeout, python=python or "", steps=True)
    try:
        facts = _checked(spec, worker.about["facts"])
    except UsageError:
        worker.close()
        raise
    versions = {"spec": spec, **{name: worker.about[name] for name in ("python", "torch")}}
    files = {name: Path(path) for name, path in worker.about["files"].items()}
    identity = {**versions, **code_of_files(files)}
    apart = worker.step_apart if worker.about["halves"] else None
    return LoadedStep(spec, worker, facts, identity, step=worker.step, apart=apart)


def _loaded(name: str, found: Any, code: Mapping[str, str]) -> LoadedStep:
    """Returns what was found, ready to be called. Raises UsageError where it cannot be."""
    facts = replace(_checked(name, getattr(found, "draftproof", {})), in_process=True)
    step = _step_of(name, found)
    versions = {"spec": name, "python": platform.python_version(), "torch": torch.__version__}
    call, apart = (step.verify, step.apart) if isinstance(step, Halves) else (found, None)
    return LoadedStep(name, call, facts, {**versions, **code}, step=step, apart=apart)


def _checked(name: str, given: object) -> Facts:
    """Returns the facts that a step sampler declares. Raises UsageError where they do not fit."""
    facts = facts_from(given, name=name)
    if facts.trees:
        raise UsageError(f"{name} declares draft trees; the step level audits chains.")
    return facts


def _step_of(name: str, found: Any) -> StepSampler:
    if isinstance(found, Halves):
        return found
    if has_halves(found):
        return halves(found.propose, found.verify)
    if wrong := unusable_step(found):
        raise UsageError(f"{name} {wrong}.")
    sampler: StepSampler = found
    return sampler
