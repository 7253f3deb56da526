"""A package that an adapter calls into: found, imported, its functions looked up and checked.

Internal functions change between releases. What is not there, or takes other arguments, is told
in one sentence with the release that the adapter was written for; nothing is guessed.
"""

from __future__ import annotations

import importlib
import inspect
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from types import ModuleType
from typing import Any

from audit.errors import SamplerError, UsageError

_ANY = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)


@dataclass(frozen=True)
class Package:
    """A distribution and the release that its adapter was written for.

    module: the top-level module that it installs. options: more words for pip. instead: what else
    does.
    """

    distribution: str
    version: str
    module: str
    options: str = ""
    instead: str = ""

    @property
    def install(self) -> str:
        """The command that installs it.

        >>> Package("flashspec", "0.3.1", "flashspec").install
        'pip install flashspec==0.3.1'
        """
        command = f"pip install {self.options}{self.distribution}=={self.version}"
        return f"{command}, or {self.instead}" if self.instead else command

    @property
    def found(self) -> str | None:
        """The installed version, None where it is not installed."""
        try:
            return metadata.version(self.distribution)
        except metadata.PackageNotFoundError:
            return None

    @property
    def state(self) -> str:
        """The installed version in words, or how to install it."""
        if self.found is None:
            return f"not found; {self.install}"
        return f"{self.distribution} {self.found}"

    def load(self, module: str) -> ModuleType:
        """Returns a module of the package, imported.

        Raises: UsageError where the package is not installed; SamplerError where it cannot be
        imported.
        """
        if self.found is None:
            raise UsageError(f"{self.distribution} is not installed; {self.install}.")
        try:
            return importlib.import_module(module)
        except Exception as error:
            said = str(error).partition("\n")[0].rstrip(".")
            raise self.misfit(
                f"cannot be imported ({type(error).__name__}: {said})", error
            ) from error

    def get(self, module: str, name: str) -> Any:
        """Returns what a module of the package calls `name`. Raises as `load`, or SamplerError."""
        try:
            return getattr(self.load(module), name)
        except AttributeError:
            raise self.misfit(f"has no {module}.{name}") from None

    def function(self, module: str, name: str, parameters: Sequence[str]) -> Callable[..., Any]:
        """Returns a function of the package whose parameters begin with these names, in order.

        Raises: as `get`; SamplerError where it begins with others or needs more.
        """
        return self.checked(self.get(module, name), f"{module}.{name}", parameters)

    def checked(self, function: Any, name: str, parameters: Sequence[str]) -> Callable[..., Any]:
        """Returns the function. Raises SamplerError where it does not take these parameters."""
        try:
            taken = inspect.signature(function).parameters
        except (TypeError, ValueError) as error:
            raise self.misfit(f"has a {name} whose arguments cannot be read", error) from error
        needed = [key for key, one in taken.items() if one.default is one.empty]
        needed = [key for key in needed if taken[key].kind not in _ANY]
        fits = list(taken)[: len(parameters)] == list(parameters)
        if not fits or not set(needed) <= set(parameters):
            raise self.misfit(f"has a {name} that takes ({', '.join(taken)})")
        found: Callable[..., Any] = function
        return found

    def misfit(self, what: str, error: Exception | None = None) -> SamplerError:
        """Returns the sentence on a release that the adapter does not fit."""
        detail = "" if error is None else "".join(traceback.format_exception(error))
        return SamplerError(
            f"{self.distribution} {self.found} {what}, but its adapter was written for "
            f"{self.version}; {self.install}.",
            detail=detail,
        )

    @property
    def file(self) -> Path:
        """The file of the top-level module, which tells what code is run."""
        return Path(str(self.load(self.module).__file__))
