"""What the tests of adapters share: the package or a skip, which is a failure in CI."""

from __future__ import annotations

import os

import pytest

from audit.samplers.adapters.listing import TARGETS


def need(name: str) -> None:
    """Skips where the package behind a target is missing; in CI that is a failure."""
    package = TARGETS[name].package
    if package.found is None:
        reason = f"{package.distribution} is not installed; {package.install}"
        pytest.fail(reason) if os.environ.get("CI") else pytest.skip(reason)
