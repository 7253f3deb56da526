"""Takes over the random numbers of numpy and of Python's `random`.

Neither has a switch, so `Relay.installed` replaces their entry points, and the generators that the
sampler already holds, by ones that show every draw to the relay's supplier; while there is none,
they do what they always did. Everything is put back at the end. `SystemRandom`, os.urandom and the
methods that are not listed here stay unseen: the search notices what they do.
"""

from __future__ import annotations

import pickle
import random
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from functools import partial
from types import BuiltinMethodType, MethodType
from typing import Any

import numpy as np
import torch

from audit.steering.continuous import Continuous
from audit.steering.draws import Draw, Supplier, Weights, site_of
from audit.steering.grids import Grid, Uniform, Whole
from audit.steering.holders import replaced

Law = Grid | Weights | None
Spec = Callable[..., Law]
Entry = tuple[Any, str, Any]  # an object, its attribute, and what to put there
_LARGEST = 2**62


class Relay:
    """Stands between numpy, `random` and whoever supplies the numbers of the current call."""

    def __init__(self) -> None:
        self.supplier: Supplier | None = None

    def drawn(self, name: str, law: Law, owner: Any, draw: Callable[[], Any]) -> Any:
        """Returns what `draw` returns, its values as the supplier wants them.

        owner: the generator that it draws from.
        """
        supplier, self.supplier = self.supplier, None  # draws within draws are not its own
        try:
            state = None if supplier is None else _state_of(owner)
            own = draw()
            if supplier is None or own is None:
                return own
            return _given(supplier, name, law, own, state)
        finally:
            self.supplier = supplier

    @contextmanager
    def installed(self, sampler: object) -> Iterator[None]:
        """While entered, numpy, `random` and what `sampler` holds of them show their draws."""
        entries = _entries(self)
        before = [(place, name, getattr(place, name)) for place, name, _ in entries]
        known = {id(old): new for (*_, old), (*_, new) in zip(before, entries, strict=True)}
        with ExitStack() as stack:
            for entry in before:
                stack.callback(setattr, *entry)
            for entry in entries:
                setattr(*entry)
            stack.enter_context(replaced(sampler, lambda held: _stand_in(held, self, known)))
            yield


def _state_of(owner: Any) -> int | None:
    """Returns the state of a generator of numpy or `random`, hashed, None where it has none."""
    if isinstance(owner, random.SystemRandom):
        return None
    if isinstance(owner, random.Random):
        return hash(owner.getstate())
    bits = owner.bit_generator if isinstance(owner, _GENERATOR) else owner._bit_generator
    return hash(pickle.dumps(bits.state))


def _given(supplier: Supplier, name: str, law: Law, own: Any, state: int | None) -> Any:
    """Returns the values that a supplier gives for `own`, in the same type and shape."""
    values = np.asarray(own, dtype=np.float64)
    grid, weights = (None, law) if isinstance(law, np.ndarray) else (law, None)
    if weights is not None:
        weights = np.tile(weights, (values.size, 1))
    read = partial(values.reshape, -1)
    chosen = supplier(
        Draw(site_of(), name, values.shape, read, grid=grid, weights=weights, state=state)
    )
    if chosen is None:
        return own
    given = chosen if grid is None else grid.values(chosen)
    return np.asarray(given).astype(np.asarray(own).dtype).reshape(values.shape)[()]


def _stand_in(held: Any, relay: Relay, known: Mapping[int, Any]) -> Any:
    """Returns what takes the place of an object that a sampler holds, None where it may stay."""
    if type(held) is _GENERATOR:
        return _watching(relay, _GENERATOR)(held.bit_generator)
    if type(held) is _STATE:
        return _watching(relay, _STATE)(held._bit_generator)
    if id(held) in known:
        return known[id(held)]
    bound = isinstance(held, BuiltinMethodType | MethodType)
    owner = _stand_in(held.__self__, relay, {}) if bound else None
    return None if owner is None else getattr(owner, held.__name__)


_GENERATOR, _STATE, _DEFAULT = np.random.Generator, np.random.RandomState, np.random.default_rng


def _entries(relay: Relay) -> list[Entry]:
    generator = _watching(relay, _GENERATOR)
    legacy = [
        (np.random, name, _shown(relay, name, getattr(np.random, name), spec))
        for name, spec in _LEGACY.items()
    ]
    return [
        *legacy,
        (np.random, "default_rng", lambda seed=None: generator(_DEFAULT(seed).bit_generator)),
        (np.random, "Generator", generator),
        (np.random, "RandomState", _watching(relay, _STATE)),
        *_of_python(relay),
    ]


def _of_python(relay: Relay) -> list[Entry]:
    """Returns the entries of `random`, whose functions all draw through these two methods."""
    base: Any = random.Random
    unit, below = base.random, base._randbelow
    shared: Any = random.random

    def whole(self: Any, n: int) -> Any:
        grid = Whole(n) if n < _LARGEST else None
        return relay.drawn("random.randrange", grid, self, lambda: below(self, n))

    def number(self: Any) -> Any:
        return relay.drawn("random.random", _UNIT, self, lambda: unit(self))

    def shared_number() -> Any:
        return relay.drawn("random.random", _UNIT, shared.__self__, shared)

    return [
        (base, "random", number),
        (base, "_randbelow", whole),
        (random, "random", shared_number),
    ]


def _watching(relay: Relay, base: Any) -> Any:
    """Returns a subclass of a numpy generator class that shows its draws."""
    specs = _MODERN if base is _GENERATOR else _LEGACY

    def method(name: str, spec: Spec) -> Callable[..., Any]:
        original = getattr(base, name)
        return lambda self, *a, **k: _shown(relay, name, original.__get__(self), spec)(*a, **k)

    methods = {name: method(name, spec) for name, spec in specs.items()}
    return type(base.__name__, (base,), methods)


def _shown(relay: Relay, name: str, original: Any, spec: Spec) -> Callable[..., Any]:
    """Returns a function that draws as `original` does and shows what it draws."""

    def function(*args: Any, **kwargs: Any) -> Any:
        if relay.supplier is None:
            return original(*args, **kwargs)
        if name == "choice":
            return _choice(relay, original, *args, **kwargs)
        law = spec(*args, **kwargs)
        owner = original.__self__
        return relay.drawn(f"numpy.{name}", law, owner, lambda: original(*args, **kwargs))

    return function


def _choice(
    relay: Relay,
    original: Any,
    a: Any,
    size: Any = None,
    replace: bool = True,
    p: Any = None,
    **more: Any,
) -> Any:
    """Returns what a choice returns; shown is which of the things it takes."""
    things = np.asarray(a)
    many = int(a) if things.ndim == 0 else len(things)
    law: Law = Whole(many) if p is None else np.asarray(p, dtype=np.float64)
    number = relay.drawn(
        "numpy.choice",
        law if replace or size is None else None,
        original.__self__,
        lambda: original(many, size=size, replace=replace, p=p),
    )
    return number if things.ndim == 0 else np.take(things, number, axis=more.get("axis", 0))


_UNIT = Uniform(53)


def _between(low: Any = 0.0, high: Any = 1.0, size: Any = None) -> Law:
    return Uniform(53, float(low), float(high)) if np.ndim(low) == np.ndim(high) == 0 else None


def _integers(
    low: Any, high: Any = None, size: Any = None, dtype: Any = None, endpoint: bool = False
) -> Law:
    if np.ndim(low) or np.ndim(high):
        return None
    start, stop = (0, low) if high is None else (low, high)
    return Whole(int(stop) + int(endpoint) - int(start), int(start))


def _unit(size: Any = None, dtype: Any = np.float64, out: Any = None) -> Law:
    return _UNIT if np.dtype(dtype) == np.float64 else Uniform(24)


def _continuous(law: Any) -> Spec:
    def spec(location: Any = 0.0, scale: Any = 1.0, size: Any = None, **more: Any) -> Law:
        plain = np.ndim(location) == np.ndim(scale) == 0 and not more
        return Continuous(law, torch.float64, float(location), float(scale)) if plain else None

    return spec


def _exponential(scale: Any = 1.0, size: Any = None) -> Law:
    return (
        Continuous("exponential", torch.float64, 0.0, float(scale)) if np.ndim(scale) == 0 else None
    )


def _standard(law: Any) -> Spec:
    return lambda *size, **more: None if more.get("dtype") else Continuous(law, torch.float64)


_SHARED: Mapping[str, Spec] = {
    "uniform": _between,
    "exponential": _exponential,
    "standard_exponential": _standard("exponential"),
    "normal": _continuous("normal"),
    "standard_normal": _standard("normal"),
    "gumbel": _continuous("gumbel"),
    "choice": lambda *a, **k: None,
}
_MODERN: Mapping[str, Spec] = {**_SHARED, "random": _unit, "integers": _integers}
_LEGACY: Mapping[str, Spec] = {
    **_SHARED,
    "random": _unit,
    "random_sample": _unit,
    "rand": lambda *shape: _UNIT,
    "randn": lambda *shape: Continuous("normal", torch.float64),
    "randint": _integers,
}
