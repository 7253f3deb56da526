"""`--config` and `--no-config`: what a configuration file says becomes the defaults of a command.

A flag wins over the environment, the environment over the file, and the file over the default.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from audit.errors import UsageError

if TYPE_CHECKING:
    from audit.config import Config, Subject

SUBJECTS_OWN = ("cases", "declares", "baseline_record")  # what each sampler may have its own of
_OFF, _READ = "draftproof.no_config", "draftproof.config"
_STATED = (ParameterSource.COMMANDLINE, ParameterSource.ENVIRONMENT)


def configured(command: Callable[..., object]) -> Callable[..., object]:
    """Returns the command with the options that say which configuration file holds for it."""
    file = click.option(
        "--config",
        type=click.Path(path_type=Path),
        metavar="FILE",
        is_eager=True,
        expose_value=False,
        callback=_take_over,
        help="The configuration to read, in place of draftproof.toml or pyproject.toml here or in "
        "a folder above.",
    )
    none = click.option(
        "--no-config",
        is_flag=True,
        is_eager=True,
        expose_value=False,
        callback=_switch_off,
        help="Read no configuration file.",
    )
    return none(file(command))  # --no-config is asked first


def _switch_off(ctx: click.Context, _: click.Parameter, off: bool) -> None:
    if off and _READ in ctx.meta:
        raise click.UsageError("--config and --no-config exclude each other.", ctx)
    ctx.meta[_OFF] = off


def _take_over(ctx: click.Context, _: click.Parameter, file: Path | None) -> None:
    """Makes the general keys of the configuration file the defaults of this command."""
    if ctx.meta.get(_OFF):
        if file is not None:
            raise click.UsageError("--config and --no-config exclude each other.", ctx)
        return
    from audit.config import find_config, read_config

    path = file or find_config(Path.cwd())
    if path is not None:
        found = read_config(path if file else Path(os.path.relpath(path)))
        ctx.meta[_READ] = found
        ctx.default_map = found.general.model_dump(exclude_none=True)


def config_of(ctx: click.Context) -> Config | None:
    """Returns the configuration that a command has read, or None."""
    found: Config | None = ctx.meta.get(_READ)
    return found


def subjects(ctx: click.Context, sampler: str | None) -> list[Subject]:
    """Returns the samplers to audit with all that holds for each: the one given, else all listed.

    Raises: UsageError where there is none.
    """
    from audit.config import Subject

    config = config_of(ctx)
    listed = [Subject(sampler=sampler)] if sampler else config and config.samplers
    if not listed:
        raise UsageError(
            "no sampler is named; give one (`draftproof samplers list` has ours), or list yours "
            "under `samplers` in draftproof.toml (`draftproof init` writes one)."
        )
    return [one.model_copy(update=_own(ctx, one)) for one in listed]


def _own(ctx: click.Context, subject: Subject) -> dict[str, Any]:
    """Returns what holds for one sampler: what was stated, else its own, else the general."""
    found = {}
    for key in SUBJECTS_OWN:
        own, stated = getattr(subject, key), ctx.get_parameter_source(key) in _STATED
        found[key] = ctx.params[key] if stated or own is None else own
    return found


def distinct_names(specs: Iterable[str]) -> list[str]:
    """Returns a name for files from each sampler's, all of them different.

    >>> distinct_names(["a/b.py:verify", "fault:lenience@3/10", "a/b.py:verify"])
    ['a-b.py-verify', 'fault-lenience-3-10', 'a-b.py-verify-2']
    """
    names: list[str] = []
    for spec in specs:
        name = re.sub("[^A-Za-z0-9._]+", "-", spec).strip("-.") or "sampler"
        same = sum(one == name or one.startswith(f"{name}-") for one in names)
        names.append(f"{name}-{same + 1}" if name in names else name)
    return names
