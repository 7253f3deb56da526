"""Releases that changed: every adapter with each thing that it looks up gone, or taking arguments
that it does not know. No chance is involved."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from targets import need

from audit.errors import SamplerError
from audit.samplers.adapters.listing import TARGETS
from audit.samplers.adapters.package import Package
from audit.samplers.decoders.loading import load_decoder
from audit.samplers.registry import load_sampler
from audit.samplers.stepping.loading import load_step

pytestmark = pytest.mark.heavy


class Other:
    """Stands in for a function or class whose arguments are other ones."""

    def __init__(self, *, brand_new: int) -> None:
        raise AssertionError("called although its arguments do not fit")


def loaders(name: str) -> Iterator[Callable[[str], Any]]:
    """Returns every way in which a target is loaded."""
    yield load_sampler if TARGETS[name].level == "verify" else load_decoder
    if TARGETS[name].step:
        yield load_step


def looked_up(name: str, monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str]]:
    """Returns the module and the name of all that an adapter takes from its package."""
    found, get = set(), Package.get

    def noting(self: Package, module: str, attribute: str) -> Any:
        found.add((module, attribute))
        return get(self, module, attribute)

    with monkeypatch.context() as patched:
        patched.setattr(Package, "get", noting)
        for load in loaders(name):
            load(name)
    return sorted(found)


@pytest.mark.parametrize("name", TARGETS)
def test_what_changed_is_one_sentence_with_the_release_that_works(name, monkeypatch) -> None:
    need(name)
    package = TARGETS[name].package
    found = looked_up(name, monkeypatch)
    assert found
    for module, attribute in found:
        place = importlib.import_module(module)
        right = getattr(place, attribute)
        with monkeypatch.context() as patched:
            patched.delattr(place, attribute)
            assert f"has no {module}.{attribute}, but" in refusal(name, package)
        if isinstance(right, type) or type(right).__name__ == "function":
            with monkeypatch.context() as patched:
                patched.setattr(place, attribute, Other)
                assert f"{attribute} that takes (brand_new), but" in refusal(name, package)


def refusal(name: str, package: Package) -> str:
    """Returns the sentence with which at least one way of loading a target is refused."""
    said = []
    for load in loaders(name):
        try:
            load(name)
        except SamplerError as error:
            said.append(str(error))
    assert said
    for sentence in said:
        assert sentence.startswith(f"{package.distribution} {package.found} has ")
        assert sentence.endswith(f"written for {package.version}; {package.fitting}.")
        assert "\n" not in sentence
    return said[0]
