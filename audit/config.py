"""The configuration file: `draftproof.toml`, or `[tool.draftproof]` in pyproject.toml.

The nearest folder counts that has one of them, from the current folder upwards; in one folder the
file of its own wins. Keys are named as the options of `draftproof run`. Paths are relative to the
file; they are kept relative to the current folder.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, PlainValidator, ValidationInfo

from audit.casefile.problems import Problems
from audit.casefile.reading import shown_path
from audit.casefile.schema import Table
from audit.errors import UsageError, unparsed
from audit.exact.catalogue import rule

FILE, PROJECT, TOOL = "draftproof.toml", "pyproject.toml", "draftproof"


def _file(path: str, info: ValidationInfo) -> str:
    """Returns a path beside the configuration file, as seen from the current folder.

    The context is the folder of that file, None where there is no file.
    """
    if info.context is None:
        return path
    return os.path.normpath(os.path.join(os.path.relpath(info.context), path))


def _case_word(word: str, info: ValidationInfo) -> str:
    return _file(word, info) if word.endswith(".toml") or "/" in word else word


def _program(name: str, info: ValidationInfo) -> str:
    return _file(name, info) if "/" in name else name


def _sampler(spec: str, info: ValidationInfo) -> str:
    path, colon, name = spec.rpartition(":")
    return f"{_file(path, info)}:{name}" if colon and path.endswith(".py") else spec


def _sampler_or_callable(value: object, info: ValidationInfo) -> object:
    if isinstance(value, str):
        return _sampler(value, info)
    if not callable(value):
        raise ValueError("must be the name of a sampler or a function; correct it.")
    return value


def _rule(name: str) -> str:
    try:
        rule(name)
    except UsageError as error:
        raise ValueError(f"is wrong: {error}") from None
    return name


def _control(name: str) -> str:
    return _rule(name.removeprefix("fault:"))


def _expected(value: str) -> str:
    kind, colon, fault = value.partition(":")
    if kind not in ("pass", "fail") or (colon and (kind == "pass" or not fault)):
        raise ValueError(f'is "{value}", but must be "pass", "fail" or "fail:FAULT"; correct it.')
    if fault:
        _rule(fault)
    return value


File = Annotated[str, AfterValidator(_file)]
Cases = list[Annotated[str, AfterValidator(_case_word)]]
RuleId = Annotated[str, AfterValidator(_rule)]
FaultId = Annotated[str, AfterValidator(_control)]
Share = Annotated[float, Field(gt=0, lt=1)]
Seconds = Annotated[float, Field(gt=0, allow_inf_nan=False)]
Positive = Annotated[int, Field(ge=1)]


class Options(Table):
    """The keys that say how to audit, named as the options of `run`; None: not given."""

    cases: Cases | None = None
    control: FaultId | None = None
    declares: list[RuleId] | None = None
    tier: Literal["smoke", "ci", "audit", "deep"] | None = None
    method: Literal["sampled", "steered", "both"] | None = None
    samples: Positive | None = None
    epsilon: Share | None = None
    accept_within: Share | None = None
    alpha: Share | None = None
    delta: Share | None = None
    time_limit: Seconds | None = None
    timeout: Seconds | None = None
    seed: Annotated[int, Field(ge=0)] | None = None
    device: Literal["auto", "cpu", "cuda"] | None = None
    dtype: Literal["float32", "float64", "bfloat16"] | None = None
    batch_size: Positive | None = None
    small_batches: bool | None = None
    in_process: bool | None = None
    python: Annotated[str, AfterValidator(_program)] | None = None


class General(Options):
    """The keys for all samplers."""

    baseline_record: File | None = None


class Subject(Table):
    """A sampler to audit, and what holds for it in place of the general keys.

    expect: "pass", or "fail" or "fail:FAULT" for a known defect.
    """

    sampler: Annotated[str, AfterValidator(_sampler)]
    cases: Cases | None = None
    declares: list[RuleId] | None = None
    expect: Annotated[str, AfterValidator(_expected)] = "pass"
    baseline_record: File | None = None


class Asked(Options):
    """An audit that Python code asks for. sampler: its name, or the callable itself."""

    sampler: Annotated[Any, PlainValidator(_sampler_or_callable)]


@dataclass(frozen=True)
class Config:
    """What a configuration file says. path: that file."""

    path: Path
    general: General
    samplers: tuple[Subject, ...]


def asked(values: Mapping[str, object], *, place: str, folder: Path) -> Asked:
    """Returns an audit that Python code asks for at `place`; paths are relative to `folder`.

    Raises: UsageError with every problem, a sentence each.
    """
    problems = Problems(place)
    lists = {key: list(value) for key, value in values.items() if isinstance(value, tuple)}
    found = problems.table(Asked, {**values, **lists}, context=folder)
    if found is None:
        raise problems.error()
    return found


def find_config(start: Path) -> Path | None:
    """Returns the configuration file of the nearest folder from `start` upwards, or None."""
    for folder in (start, *start.parents):
        if os.path.lexists(folder / FILE):  # a folder or a dead link is told when it is read
            return folder / FILE
        project = folder / PROJECT
        if project.is_file() and _has_table(project):
            return project
    return None


def _has_table(project: Path) -> bool:
    try:
        return _tool_table(project) is not None
    except UsageError:  # to read it will say what is wrong
        return True


def read_config(path: Path) -> Config:
    """Returns what a configuration file says.

    Raises: UsageError with every problem of the file, a sentence each.
    """
    values = _tool_table(path) if path.name == PROJECT else _tables(path)
    if values is None:
        raise UsageError(f"{shown_path(path)} has no table [tool.{TOOL}]; add it.")
    table = f"tool.{TOOL}" if path.name == PROJECT else ""
    problems, folder = Problems(shown_path(path)), path.absolute().parent
    samplers = [
        problems.table(Subject, entry, name=f"samplers {number}", context=folder)
        for number, entry in enumerate(_entries(values, problems), start=1)
    ]
    rest = {key: value for key, value in values.items() if key != "samplers"}
    general = problems.table(General, rest, name=table, also=["samplers"], context=folder)
    if problems.count or general is None:
        raise problems.error()
    return Config(path, general, tuple(one for one in samplers if one is not None))


def _entries(values: Mapping[str, Any], problems: Problems) -> list[object]:
    """Returns the entries of `samplers`, a mere name as the table that it stands for."""
    found = values.get("samplers", [])
    if not isinstance(found, list) or not all(isinstance(one, str | dict) for one in found):
        problems.add("samplers", "must be a list of names or tables; correct it.")
        return []
    return [{"sampler": one} if isinstance(one, str) else one for one in found]


def _tables(path: Path) -> dict[str, Any]:
    file = shown_path(path)
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UsageError(f"{file} cannot be read: {error.strerror}; check the path.") from None
    except (ValueError, RecursionError) as error:
        raise UsageError(
            f"{file} is not valid TOML: {unparsed(error)}; correct that place."
        ) from None


def _tool_table(path: Path) -> dict[str, Any] | None:
    """Returns `[tool.draftproof]`, None where there is none; files of others are left alone."""
    try:
        if TOOL not in path.read_text(encoding="utf-8"):
            return None
    except (OSError, ValueError):
        return None
    tool = _tables(path).get("tool", {})
    found = tool.get(TOOL) if isinstance(tool, dict) else None
    if found is not None and not isinstance(found, dict):
        raise UsageError(f"{shown_path(path)}: tool.{TOOL} must be a table; correct it.")
    return found
