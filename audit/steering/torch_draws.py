"""Takes over torch's random operations, by a dispatch mode that sees every one of them.

The generator makes its own values in any case, so that it moves on as it would; what the supplier
gives is written over them. An operation that torch tags as random and that is not listed here is
shown without its law: it cannot be steered.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from audit.steering.continuous import Continuous
from audit.steering.draws import Draw, Supplier, Weights, site_of
from audit.steering.grids import Grid, Uniform, Whole, uniform_grid

Arguments = Mapping[str, Any]


class TorchDraws(TorchDispatchMode):
    """While entered, shows every random operation of torch to the supplier."""

    def __init__(self, supplier: Supplier) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._supplier = supplier

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        """Keeps torch from importing its compiler, seconds of work: nothing is compiled."""
        return False

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Sequence[Any] = (), kwargs: Any = None
    ) -> Any:
        """Returns what the operation returns, with the values of the supplier."""
        if torch.Tag.nondeterministic_seeded not in func.tags:
            return func(*args, **(kwargs or {}))
        given = _bound(func, args, kwargs or {})
        name = func.overloadpacket.__name__
        return shown(self._supplier, name, given, lambda: func(*args, **(kwargs or {})))


def shown(
    supplier: Supplier, name: str, given: Arguments, operation: Callable[[], Any]
) -> torch.Tensor | Any:
    """Returns what a random operation returns, with the values that the supplier gives.

    given: its arguments by the names of its schema.
    """
    weights = _weights(name.rstrip("_"), given)  # before the operation may overwrite them
    state = _state_of(given)
    result = operation()
    if not isinstance(result, torch.Tensor):
        supplier(Draw(site_of(), f"torch.{name}", (), lambda: np.zeros(1)))
    elif weights is not None and _distinct(given):
        _show_distinct(supplier, given, weights, result, state)
    else:
        _show(supplier, replace(_draw(name, given, weights, result), state=state), result)
    return result


def _state_of(given: Arguments) -> int:
    """Returns the state of the generator that an operation draws from, hashed."""
    generator = given.get("generator") or torch.default_generator
    return hash(generator.get_state().numpy().tobytes())


def _show(supplier: Supplier, draw: Draw, result: torch.Tensor) -> None:
    chosen = supplier(draw)
    if chosen is not None:
        values = chosen if draw.grid is None else draw.grid.values(chosen)
        result.copy_(torch.from_numpy(np.ascontiguousarray(values)).reshape(draw.shape))


def _show_distinct(
    supplier: Supplier, given: Arguments, weights: Weights, result: torch.Tensor, state: int
) -> None:
    """Shows draws without replacement one by one, each without what was drawn before."""
    site, picks = site_of(), result.reshape(len(weights), -1)
    left = weights.copy()
    for place in range(picks.shape[1]):
        own = picks[:, place]
        part = _draw("multinomial", given, left.copy(), own.reshape(-1, 1), site=(*site, place))
        _show(supplier, part if place else replace(part, state=state), own.reshape(-1, 1))
        left[np.arange(len(left)), own.cpu().numpy()] = 0.0


_POSITIONAL: Mapping[str, tuple[str, ...]] = {
    "rand": (),
    "rand_like": (),
    "multinomial": ("self", "num_samples", "replacement"),
    "exponential_": ("self", "lambd"),
    "uniform_": ("self", "from", "to"),
}


def arguments_of(name: str, args: Sequence[Any], kwargs: Arguments) -> Arguments | None:
    """Returns the arguments of a call of a torch function by name, None where they may differ.

    Only for the most common functions, which so need no dispatch mode, and less than half the time.
    """
    if name not in _POSITIONAL or "out" in kwargs:
        return None
    given = dict(zip(_POSITIONAL[name], args, strict=False)) | dict(kwargs)
    return given | {"self": given["input"]} if "input" in given else given


def _bound(func: Any, args: Sequence[Any], kwargs: Arguments) -> Arguments:
    """Returns the arguments by name, with their defaults."""
    schema = func._schema.arguments
    named = {a.name: a.default_value for a in schema if a.has_default_value()}
    return named | dict(zip((a.name for a in schema), args, strict=False)) | dict(kwargs)


def _draw(
    name: str,
    given: Arguments,
    weights: Weights | None,
    result: torch.Tensor,
    *,
    site: tuple[int, ...] | None = None,
) -> Draw:
    find = _GRIDS.get(name.rstrip("_"))
    return Draw(
        site or site_of(),
        f"torch.{name}",
        tuple(result.shape),
        lambda: result.detach().reshape(-1).double().cpu().numpy(),
        grid=find(given, result) if find and weights is None else None,
        weights=weights,
        slack=0.0 if weights is None else _slack(given, weights),
    )


def _slack(given: Arguments, weights: Weights) -> float:
    """Returns how far the law of a choice may be from its weights, with unit roundoff u.

    A draw of one thing is a race in which a runner's time is wrong by a factor 1 + 2 u at most, so
    that the second is mistaken for the first with probability 4 u; a draw by running sums is
    wrong by 2 u a thing.
    """
    p = given.get("p")
    dtype = (p if isinstance(p, torch.Tensor) else given["self"]).dtype
    u = torch.finfo(dtype).eps / 2 if dtype.is_floating_point else 2.0**-53
    summed = given.get("num_samples", 1) > 1 and not _distinct(given)
    return float(2 * u * weights.shape[1] if summed else 4 * u)


def _weights(name: str, given: Arguments) -> Weights | None:
    """Returns float64 [elements, n] where every element is one of n with its own weights.

    For draws without replacement these are the weights before the first of them, by row.
    """
    if name == "multinomial":
        rows = np.atleast_2d(_floats(given["self"]))
        return rows if _distinct(given) else np.repeat(rows, int(given["num_samples"]), axis=0)
    if name != "bernoulli":
        return None
    p = given.get("p", given["self"])
    if isinstance(p, torch.Tensor):
        chance = _floats(p.expand(given["self"].shape)).reshape(-1)
    else:
        chance = np.full(given["self"].numel(), 0.5 if p is None else p)
    return np.stack([1 - chance, chance], axis=1)


def _distinct(given: Arguments) -> bool:
    """Returns whether several things are drawn without replacement."""
    return given.get("num_samples", 1) > 1 and not given.get("replacement", False)


def _floats(tensor: torch.Tensor) -> Weights:
    return np.asarray(tensor.detach().double().cpu().numpy())


def _uniform(given: Arguments, result: torch.Tensor) -> Grid | None:
    unit = uniform_grid(result.dtype)
    low, high = given.get("from", 0.0), given.get("to", 1.0)
    if unit is None or (low, high) == (0.0, 1.0):
        return unit
    return Uniform(unit.bits, low, high, result.dtype) if unit.wrapped == 0 else None


def _whole(given: Arguments, result: torch.Tensor) -> Grid | None:
    """Returns the grid of randint, which says `low` and `high`, and random_: `from` and `to`."""
    low, high = given.get("low", given.get("from", 0)), given.get("high", given.get("to"))
    return None if high is None else Whole(int(high) - int(low), int(low))


def _exponential(given: Arguments, result: torch.Tensor) -> Grid:
    return Continuous("exponential", result.dtype, scale=1 / given.get("lambd", 1.0))


def _normal(given: Arguments, result: torch.Tensor) -> Grid | None:
    mean, deviation = given.get("mean", 0.0), given.get("std", 1.0)
    if isinstance(mean, torch.Tensor) or isinstance(deviation, torch.Tensor):
        return None
    return Continuous("normal", result.dtype, mean, deviation)


def _log_normal(given: Arguments, result: torch.Tensor) -> Grid:
    return Continuous("log-normal", result.dtype, given.get("mean", 1.0), given.get("std", 2.0))


def _cauchy(given: Arguments, result: torch.Tensor) -> Grid:
    return Continuous("cauchy", result.dtype, given.get("median", 0.0), given.get("sigma", 1.0))


_GRIDS: Mapping[str, Callable[[Arguments, torch.Tensor], Grid | None]] = {
    "rand": _uniform,
    "rand_like": _uniform,
    "uniform": _uniform,
    "randint": _whole,
    "randint_like": _whole,
    "random": _whole,
    "exponential": _exponential,
    "normal": _normal,
    "randn": _normal,
    "randn_like": _normal,
    "log_normal": _log_normal,
    "cauchy": _cauchy,
}
