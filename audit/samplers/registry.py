"""Every way to name a sampler, and what stands behind the name.

`reference`, `rule:ID`, `fault:ID` and `transformers` are ours and run in this process;
`module:object` and `path/to/file.py:object` are the user's and run in a worker process, unless
the user accepts them here.
"""

from __future__ import annotations

import platform
import sys
from collections.abc import Mapping
from dataclasses import replace
from importlib import metadata
from pathlib import Path
from typing import Any, NamedTuple

import torch

from audit.errors import UsageError
from audit.samplers import chain, faults, rowwise, rules, transformers_adapter
from audit.samplers.client import WorkerSampler, refusal
from audit.samplers.facts import facts_from, nearest
from audit.samplers.identity import code_of_files, code_of_module
from audit.samplers.identity_of_object import code_of_object
from audit.samplers.interface import Facts, LoadedSampler, Sampler
from audit.samplers.worker.loading import RefusedError, load

HERE, APART = "the auditing process", "a worker process"
_OWN_FILES = {
    path.name: path
    for path in (
        *(Path(str(module.__file__)) for module in (chain, rowwise, rules)),
        *Path(str(faults.__file__)).parent.glob("*.py"),
    )
}


class SamplerRow(NamedTuple):
    """A line of `draftproof samplers list`; `found` is a version or how to get one."""

    name: str
    level: str
    found: str


def list_samplers() -> list[SamplerRow]:
    """Returns every sampler that can be named, and the two forms for the user's own."""
    own = [SamplerRow(name, "verify", "built in") for name in _own_names()]
    return [
        *own,
        SamplerRow("transformers", "verify", _found("transformers", transformers_adapter.INSTALL)),
        SamplerRow("module:object", "verify", "anything that can be imported from here"),
        SamplerRow("path/to/file.py:object", "verify", "a file of yours"),
    ]


def load_sampler(
    spec: str,
    *,
    device: str = "cpu",
    timeout: float = 60.0,
    in_process: bool = False,
    python: str | None = None,
) -> LoadedSampler:
    """Returns the sampler that `spec` names, ready to be called on `device`.

    timeout: seconds for one call of a worker. in_process: run a user's sampler here, without a
    worker. python: the interpreter of the worker, this one by default.

    Raises: UsageError where nothing has this name; SamplerError where it cannot be imported.
    """
    if spec in _own_names():
        return _own(spec)
    if spec == "transformers":
        return _transformers()
    if spec.endswith(".py"):
        raise UsageError(f"{spec} names a file but no function of it; write {spec}:verify, say.")
    place, _, name = spec.rpartition(":")
    if not (place and name) or place in ("rule", "fault"):
        raise UsageError(f"no sampler is named {nearest(spec, [*_own_names(), 'transformers'])}")
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
    return LoadedSampler(name, sampler, replace(facts, in_process=True), identity)


def _own_names() -> list[str]:
    own_rules = [f"rule:{id_}" for id_ in rules.RULES]
    return ["reference", *own_rules, *(f"fault:{id_}" for id_ in faults.FAULTS)]


def _own(spec: str) -> LoadedSampler:
    id_ = "ratio" if spec == "reference" else spec.partition(":")[2]
    declares = (id_,) if id_ in rules.RULES else ()
    facts = Facts(declares=declares, ragged=True, in_process=True)
    return LoadedSampler(spec, rules.SAMPLERS[id_], facts, _here(spec, code_of_files(_OWN_FILES)))


def _transformers() -> LoadedSampler:
    verifier = transformers_adapter.load_verifier()
    code = code_of_module("transformers", Path(str(sys.modules["transformers"].__file__)))
    return LoadedSampler(
        "transformers", verifier, transformers_adapter.FACTS, _here("transformers", code)
    )


def _loaded_here(spec: str) -> LoadedSampler:
    try:
        sampler, origin = load(spec)
    except RefusedError as refused:
        raise refusal(str(refused), usage=refused.usage, detail=refused.detail) from None
    facts = facts_from(getattr(sampler, "draftproof", {}), name=spec)
    return LoadedSampler(spec, sampler, replace(facts, in_process=True), _here(spec, _code(origin)))


def _loaded_apart(spec: str, *, device: str, timeout: float, python: str | None) -> LoadedSampler:
    sampler = WorkerSampler(spec, device=device, timeout=timeout, python=python or "")
    try:
        facts = facts_from(sampler.about["facts"], name=spec)
    except UsageError:
        sampler.close()
        raise
    versions = {name: sampler.about[name] for name in ("python", "torch")}
    identity = {"spec": spec, "runs in": APART, **versions, **_code(sampler.about)}
    return LoadedSampler(spec, sampler, facts, identity)


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


def _found(distribution: str, otherwise: str) -> str:
    try:
        return f"{distribution} {metadata.version(distribution)}"
    except metadata.PackageNotFoundError:
        return f"not found; {otherwise}"
