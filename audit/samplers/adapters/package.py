"""A package that an adapter calls into: found, imported, its functions looked up and checked.

Internal functions change between releases. What is not there, or takes other arguments, is told
in one sentence with the release that the adapter was written for; nothing is guessed.
"""

from __future__ import annotations

import importlib
import inspect
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar

from audit.errors import DraftproofError, SamplerError, UsageError

_Made = TypeVar("_Made")
_ANY = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)


@dataclass(frozen=True)
class Package:
    """A distribution and the release that its adapter was written for.

    module: the top-level module that it installs. options: more words for pip. instead: what else
    does. oldest: the release from which on the adapter works too, where that is known.
    """

    distribution: str
    version: str
    module: str
    options: str = ""
    instead: str = ""
    oldest: str = ""

    @property
    def install(self) -> str:
        """The command that installs it: that release, or any from the oldest on.

        >>> Package("flashspec", "0.3.1", "flashspec").install
        'pip install flashspec==0.3.1'
        """
        if self.oldest:
            return f"pip install {self.options}'{self.distribution}>={self.oldest}'"
        return self.fitting

    @property
    def fitting(self) -> str:
        """How to install the release that the adapter was written for."""
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
        """Returns a module of the package, or of ours on top of it, imported.

        Raises: UsageError where the package is not installed; SamplerError where it cannot be
        imported.
        """
        if self.found is None:
            raise UsageError(f"{self.distribution} is not installed; {self.install}.")
        try:
            return importlib.import_module(module)
        except Exception as error:
            raise self.misfit(f"cannot be imported ({_said(error)})", error) from error

    def made(self, make: Callable[[], _Made]) -> _Made:
        """Returns what an adapter makes of the package.

        Raises: as `make` does, and SamplerError for any other error.
        """
        try:
            return make()
        except DraftproofError:
            raise
        except Exception as error:
            raise self.misfit(f"cannot be set up ({_said(error)})", error) from error

    def get(self, module: str, name: str) -> Any:
        """Returns what a module of the package calls `name`. Raises as `load`, or SamplerError."""
        try:
            return getattr(self.load(module), name)
        except AttributeError:
            raise self.misfit(f"has no {module}.{name}") from None

    def function(
        self, module: str, name: str, parameters: Sequence[str] = (), keywords: Sequence[str] = ()
    ) -> Callable[..., Any]:
        """Returns a function or class of the package that can be called as `checked` says.

        Raises: as `get` and `checked`.
        """
        return self.checked(self.get(module, name), f"{module}.{name}", parameters, keywords)

    def checked(
        self,
        function: Any,
        name: str,
        parameters: Sequence[str] = (),
        keywords: Sequence[str] = (),
    ) -> Callable[..., Any]:
        """Returns the function; None is one that is missing.

        Raises: SamplerError where its parameters do not begin with these names in order, where it
        does not take these keywords, or needs more than both.
        """
        if function is None:
            raise self.misfit(f"has no {name}")
        try:
            taken = inspect.signature(function).parameters
        except (TypeError, ValueError) as error:
            raise self.misfit(f"has a {name} whose arguments cannot be read", error) from error
        if not _fits(taken, parameters, keywords):
            raise self.misfit(f"has a {name} that takes ({', '.join(taken)})")
        found: Callable[..., Any] = function
        return found

    def misfit(self, what: str, error: Exception | None = None) -> SamplerError:
        """Returns the sentence on a release that the adapter does not fit."""
        detail = "" if error is None else "".join(traceback.format_exception(error))
        releases = f"{self.oldest} to {self.version}" if self.oldest else self.version
        return SamplerError(
            f"{self.distribution} {self.found} {what}, but its adapter was written for "
            f"{releases}; {self.fitting}.",
            detail=detail,
        )

    @property
    def file(self) -> Path:
        """The file of the top-level module, which tells what code is run."""
        return Path(str(self.load(self.module).__file__))


def _said(error: Exception) -> str:
    first = str(error).partition("\n")[0].rstrip(".")
    return f"{type(error).__name__}: {first}"


def _fits(
    taken: Mapping[str, inspect.Parameter], parameters: Sequence[str], keywords: Sequence[str]
) -> bool:
    """Returns whether the parameters begin with these, have these keywords, and need no others."""
    plain = {name: one for name, one in taken.items() if one.kind not in _ANY}
    anything = any(one.kind is one.VAR_KEYWORD for one in taken.values())
    needed = {name for name, one in plain.items() if one.default is one.empty}
    begins = list(taken)[: len(parameters)] == list(parameters)
    known = anything or set(keywords) <= set(plain)
    return begins and known and needed <= {*parameters, *keywords}
