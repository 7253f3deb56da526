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
    marker = _only_marker(metafunc.definition)
    if marker is None:
        return
    if CASE not in metafunc.fixturenames:
        metafunc.fixturenames.append(CASE)
    metafunc.parametrize(CASE, _plugin().cases_of(marker, metafunc.config), indirect=True)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Fails a marked test that no case was given to, and that would pass without an audit."""
    given = getattr(getattr(item, "callspec", None), "params", {})
    if item.get_closest_marker(MARKER) is not None and CASE not in given:
        pytest.fail(
            f"@pytest.mark.{MARKER} audits nothing here: mark a test function, or a class that is "
            "no unittest.TestCase, and no single parameter",
            pytrace=False,
        )


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


def _only_marker(definition: pytest.Item) -> pytest.Mark | None:
    """Returns the closest marker of a function, or None. Raises CollectError for two in a place."""
    found = list(definition.iter_markers_with_node(MARKER))
    if len(found) > 1 and found[0][0] is found[1][0]:
        raise pytest.Collector.CollectError(
            f"{definition.nodeid} has @pytest.mark.{MARKER} twice, and only one would be audited; "
            "write a test for each."
        )
    return found[0][1] if found else None


def _plugin() -> ModuleType:
    try:
        from audit import pytest_plugin
    except ImportError as error:
        raise pytest.Collector.CollectError(
            f"draftproof cannot be loaded ({error}): a package of yours named `audit` hides its "
            "own; audit by `draftproof run` in a process of its own instead."
        ) from error
    return pytest_plugin
