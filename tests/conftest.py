"""Makes the helpers beside the tests importable from the folders below."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def _outside_of_github_actions(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keeps annotations and step summaries out of every test that does not ask for them."""
    for name in ("GITHUB_ACTIONS", "GITHUB_STEP_SUMMARY"):
        monkeypatch.delenv(name, raising=False)
