"""The entry point of the pytest plugin; docs/ci.md tells what it offers.

pytest loads it at every start, also beside packages that have an `audit` of their own. Therefore it
is installed beside `audit`, and loads that for a test that asks for an audit and not before.
"""

from __future__ import annotations

from types import ModuleType
from typing import Any

import pytest

MARKER, CASE = "draftproof", "draftproof_case"


def pytest_configure(config: pytest.Config) -> None:
    """Registers the marker."""
    config.addinivalue_line(
        "markers",
        f"{MARKER}(sampler, *, cases, tier, ...): audit the sampler, one test a case; options as "
        "of `draftproof run`",
    )


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Makes one test a case of a marked function."""
    marker = metafunc.definition.get_closest_marker(MARKER)
    if marker is None:
        return
    if CASE not in metafunc.fixturenames:
        metafunc.fixturenames.append(CASE)
    metafunc.parametrize(CASE, _plugin().cases_of(marker, metafunc.config), indirect=True)


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> None:
    """Judges the case of a marked test before its body runs."""
    if pyfuncitem.get_closest_marker(MARKER) is not None:
        _plugin().case_of(pyfuncitem).check()


@pytest.fixture
def draftproof_case(request: pytest.FixtureRequest) -> Any:
    """Returns the audit of the case that a marked test is about, for more than its verdict."""
    return _plugin().case_of(request.node)


@pytest.fixture
def draftproof_audit(request: pytest.FixtureRequest) -> Any:
    """Returns a function (sampler, cases=..., tier=..., ...) that fails the test unless it passes.

    sampler: a name or a callable. cases: words or Case objects. It returns the AuditRun.
    """
    return _plugin().audit_by_hand(request.config)


def _plugin() -> ModuleType:
    try:
        from audit import pytest_plugin
    except ImportError as error:
        raise pytest.Collector.CollectError(
            f"draftproof cannot be loaded ({error}): a package of yours named `audit` hides its "
            "own; audit by `draftproof run` in a process of its own instead."
        ) from error
    return pytest_plugin
