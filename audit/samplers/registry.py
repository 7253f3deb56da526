"""Every way to name a sampler, and what stands behind the name.

`reference`, `rule:ID`, `fault:ID`, `transformers` and the names of docs/targets.md are ours and run
in this process;
`module:object` and `path/to/file.py:object` are the user's and run in a worker process, unless
the user accepts them here; `process:COMMAND` is a program that speaks the protocol of
docs/process.md.
"""

from __future__ import annotations

import platform
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from audit.errors import UsageError
from audit.exact.catalogue import rule
from audit.repository import path_in_repository
from audit.samplers import faults, rules, transformers_adapter
from audit.samplers.adapters.listing import TARGETS
from audit.samplers.adapters.target import Target
from audit.samplers.client import WorkerSampler, refusal
from audit.samplers.command.sampler import load_command
from audit.samplers.facts import facts_from, nearest
from audit.samplers.identity import code_of_files, code_of_module
from audit.samplers.identity_of_object import code_of_object
from audit.samplers.interface import Facts, LoadedSampler, Sampler
from audit.samplers.listing import elsewhere
from audit.samplers.worker.loading import RefusedError, load, place_of

HERE, APART = "the auditing process", "a worker process"
PROCESS = "process:"
_FOLDER = Path(__file__).parent
_OWN_FILES = {
    path.relative_to(_FOLDER).as_posix(): path
    for name in ("block", "chain", "race", "rowwise", "rules", "faults/*", "trees/*")
    for path in _FOLDER.glob(f"{name}.py")
}


def load_sampler(
    spec: str,
    *,
    device: str = "cpu",
    timeout: float = 60.0,
    in_process: bool = False,
    python: str | None = None,
) -> LoadedSampler:
    """Returns the sampler that `spec` names, ready to be called on `device`.

    One of ours that has a constant takes any other behind an @, as in `fault:lenience@3/10`.
    timeout: seconds for one call of a worker. in_process: run a user's sampler here, without a
    worker. python: the interpreter of the worker, this one by default.

    Raises: UsageError where nothing has this name; SamplerError where it cannot be imported.
    """
    if spec.partition("@")[0] in _own_names():
        return _own(spec)
    if spec == "transformers":
        return _transformers()
    if spec in TARGETS:
        return _adapted(TARGETS[spec])
    if spec.startswith(PROCESS):
        return load_command(spec.removeprefix(PROCESS), timeout=timeout)
    if spec.endswith(".py"):
        raise UsageError(f"{spec} names a file but no function of it; write {spec}:verify, say.")
    place, _, name = spec.rpartition(":")
    if not (place and name) or place in ("rule", "fault"):
        known = nearest(spec, _all_names())
        raise UsageError(elsewhere(spec, "verify") or f"no sampler is named {known}")
    if in_process:
        return _loaded_here(spec)
    return _loaded_apart(spec, device=device, timeout=timeout, python=python)


def wrap_sampler(sampler: Sampler) -> LoadedSampler:
    """Returns a callable of this process as a sampler; its `draftproof` attribute is read.

    `hashed` of its identity starts with "nothing" where its code cannot be told from other code.
    """
    name = getattr(sampler, "__qualname__", type(sampler).__qualname__)
    facts = facts_from(getattr(sampler, "draftproof", {}), name=name)
    identity = _here(name, code_of_object(sampler))
    source = _source(place_of(sampler))
    return LoadedSampler(name, sampler, replace(facts, in_process=True), identity, source)


def _own_names() -> list[str]:
    own_rules = [f"rule:{id_}" for id_ in rules.RULES]
    return ["reference", *own_rules, *(f"fault:{id_}" for id_ in faults.FAULTS)]


def _all_names() -> list[str]:
    return [*_own_names(), "transformers", *TARGETS]


def _own_id(spec: str) -> str:
    return spec.partition(":")[2] or spec.replace("reference", "ratio")


def _own(spec: str) -> LoadedSampler:
    entry = rule(_own_id(spec))
    kind, colon, _ = spec.partition(":")
    name = f"{kind}:{entry.id}" if colon else spec
    declares, trees = (entry.id,) if entry.family == "lossless" else (), entry.trees
    facts = Facts(declares=declares, trees=trees, ragged=not trees, in_process=True)
    # The listed constants stand in the catalogue, which is not among the hashed files.
    constant = {"constant": str(entry.parameter.value)} if entry.parameter else {}
    identity = _here(name, {**constant, **code_of_files(_OWN_FILES)})
    return LoadedSampler(name, rules.sampler_of(entry.id), facts, identity)


def _transformers() -> LoadedSampler:
    verifier = transformers_adapter.load_verifier()
    code = code_of_module("transformers", Path(str(sys.modules["transformers"].__file__)))
    return LoadedSampler(
        "transformers", verifier, transformers_adapter.FACTS, _here("transformers", code)
    )


def _adapted(target: Target) -> LoadedSampler:
    """Returns the sampler of an adapter. Raises UsageError where it is a decode loop."""
    if not isinstance(target.facts, Facts):
        raise UsageError(
            f"{target.name} is a decode loop with no verification step to call; audit it with "
            f"`{target.command}`."
        )
    package = target.package
    verify = package.made(target.load)
    identity = _here(target.name, code_of_module(package.module, package.file))
    return LoadedSampler(target.name, verify, target.facts, identity)


def _loaded_here(spec: str) -> LoadedSampler:
    try:
        sampler, origin = load(spec)
    except RefusedError as refused:
        raise refusal(str(refused), usage=refused.usage, detail=refused.detail) from None
    facts = facts_from(getattr(sampler, "draftproof", {}), name=spec)
    identity, source = _here(spec, _code(origin)), _source(origin["place"])
    return LoadedSampler(spec, sampler, replace(facts, in_process=True), identity, source)


def _loaded_apart(spec: str, *, device: str, timeout: float, python: str | None) -> LoadedSampler:
    sampler = WorkerSampler(spec, device=device, timeout=timeout, python=python or "")
    try:
        facts = facts_from(sampler.about["facts"], name=spec)
    except UsageError:
        sampler.close()
        raise
    versions = {name: sampler.about[name] for name in ("python", "torch")}
    identity = {"spec": spec, "runs in": APART, **versions, **_code(sampler.about)}
    return LoadedSampler(spec, sampler, facts, identity, _source(sampler.about["place"]))


def _source(place: Sequence[Any]) -> str:
    """Returns `path:line` in the user's repository, "" where the code is not there."""
    file, line = place
    path = path_in_repository(file) if file else ""
    return f"{path}:{line}" if path else ""


def _code(origin: Mapping[str, Any]) -> Mapping[str, str]:
    """Returns the hash of what was loaded, by what `load` or the worker says of it."""
    if not origin["file"]:
        return {"hashed": f"nothing, for {origin['module']} has no file"}
    files = {name: Path(path) for name, path in origin["files"].items()}
    if not origin["module"]:
        return code_of_files(files)
    return code_of_module(origin["module"], Path(origin["file"]), files)


def _here(spec: str, code: Mapping[str, str]) -> Mapping[str, str]:
    versions = {"python": platform.python_version(), "torch": torch.__version__}
    return {"spec": spec, "runs in": HERE, **versions, **code}
