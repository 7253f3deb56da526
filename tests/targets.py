"""What the tests of adapters share: the package or a skip, which is a failure in CI."""

from __future__ import annotations

import inspect
import os
import textwrap
from collections.abc import Callable
from typing import Any

import pytest

from audit.samplers.adapters.listing import TARGETS

BUILT = ("llama-cpp-python",)  # has no wheel, and CI does not build it


def need(name: str) -> None:
    """Skips where the package behind a target is missing; in CI that is a failure but for BUILT."""
    package = TARGETS[name].package
    if package.found is None:
        reason = f"{package.distribution} is not installed; {package.install}"
        expected = os.environ.get("CI") and package.distribution not in BUILT
        pytest.fail(reason) if expected else pytest.skip(reason)


def rewritten(function: Callable[..., Any], old: str, new: str) -> Callable[..., Any]:
    """Returns a function of a package with one passage of its own source replaced.

    It runs on a copy of what its module holds now.
    """
    source = textwrap.dedent(inspect.getsource(inspect.unwrap(function)))
    assert source.count(old) == 1, f"the source of {function.__name__} is another one"
    names = dict(inspect.unwrap(function).__globals__)
    exec(compile(source.replace(old, new), inspect.getfile(function), "exec"), names)
    found: Callable[..., Any] = names[function.__name__]
    return found
