"""Who watches a call: every operation of torch, or only the functions known to be random.

Sending every operation through Python triples the time of a sampler that verifies row by row. So
the functions behind the random operations are learned first (`learn`), and only they are watched
from then on. A random operation that escapes leaves its numbers out of the record, and a row
without its numbers counts against the map: watching less can only weaken the result.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Callable, Collection, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import partial
from typing import Any

import numpy as np
import torch
from torch.overrides import TorchFunctionMode

from audit.steering.draws import Draw, Supplier
from audit.steering.grids import Indices
from audit.steering.numpy_draws import Relay
from audit.steering.torch_draws import TorchDraws, arguments_of, shown

COMPILED = (
    "torch.compile compiles it, and would compile the search with it; the function that it "
    "compiles can be read"
)


def is_compiled(call: object) -> bool:
    """Returns whether a callable is what torch.compile returned."""
    try:
        return hasattr(call, "_torchdynamo_orig_callable")
    except Exception:  # an attribute of a user's object may do anything
        return False


def compiled_frames() -> int:
    """Returns how many frames torch's compiler took on in this process so far."""
    compiler = sys.modules.get("torch._dynamo.utils")
    return 0 if compiler is None else int(compiler.counters["frames"]["total"])


class _Few(TorchFunctionMode):
    """While entered, shows the random operations of a few functions to the supplier."""

    def __init__(self, supplier: Supplier, functions: Collection[Any]) -> None:
        super().__init__()
        self._supplier, self._functions = supplier, functions

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func not in self._functions:
            return func(*args, **(kwargs or {}))
        given = arguments_of(func.__name__, args, kwargs or {})
        if given is not None:
            operation = partial(func, *args, **(kwargs or {}))
            return shown(self._supplier, func.__name__, given, operation)
        with TorchDraws(self._supplier):
            return func(*args, **(kwargs or {}))


class _Learning(TorchFunctionMode):
    """While entered, remembers the function that is running."""

    running: Any = None

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        before, self.running = self.running, func
        try:
            return func(*args, **(kwargs or {}))
        finally:
            self.running = before


@contextmanager
def own_streams(seed: int) -> Iterator[None]:
    """While entered, the global generators start at a seed; then they are as they were."""
    python, numpy = random.getstate(), np.random.get_state()
    try:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            random.seed(seed)
            np.random.seed(seed % 2**32)
            yield
    finally:
        random.setstate(python)
        np.random.set_state(numpy)


@contextmanager
def watched(
    supplier: Supplier, relay: Relay, functions: Collection[Any] | None = None
) -> Iterator[None]:
    """While entered, the supplier sees every random operation; of torch, those of `functions`."""

    def alone(draw: Draw) -> Indices | None:
        relay.supplier = None  # what the supplier itself draws is nobody's business
        try:
            return supplier(draw)
        finally:
            relay.supplier = alone

    relay.supplier = alone
    try:
        with _seeing(alone, functions):
            yield
    finally:
        relay.supplier = None


def _seeing(supplier: Supplier, functions: Collection[Any] | None) -> AbstractContextManager[Any]:
    if functions is None:
        return TorchDraws(supplier)
    return _Few(supplier, functions) if functions else nullcontext()


def learn(call: Callable[[Supplier], Any]) -> set[Any]:
    """Returns the functions behind the random operations of a call, which takes a supplier."""
    found: set[Any] = set()
    learning = _Learning()

    def supplier(draw: Draw) -> Indices | None:
        found.add(learning.running)
        return None

    with learning:
        call(supplier)
    return found - {None}
