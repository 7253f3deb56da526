"""Makes the helpers beside the tests importable from the folders below."""

from __future__ import annotations

import os

import pytest
from hypothesis import settings

# transformers imports triton where it finds it; vLLM's kernels then need it to interpret already.
os.environ.setdefault("TRITON_INTERPRET", "1")

# How long one example takes says how busy the machine is, and nothing of the code.
settings.register_profile("draftproof", deadline=None)
settings.load_profile("draftproof")


@pytest.fixture(autouse=True)
def _outside_of_github_actions(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keeps annotations and step summaries out of every test that does not ask for them."""
    for name in ("GITHUB_ACTIONS", "GITHUB_STEP_SUMMARY"):
        monkeypatch.delenv(name, raising=False)
