"""Integer arrays that cannot overflow.

An array is int64 while a bound on bit lengths proves that the result fits, otherwise it holds
Python integers (dtype object), which are slower and unbounded.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from audit.row import Numerators

SAFE_BITS = 62
_UNBOUNDED = SAFE_BITS + 1


def bits(values: Numerators) -> int:
    """Returns a bound on the bit length of every entry; above SAFE_BITS for Python integers."""
    if values.dtype == object:
        return _UNBOUNDED
    return max(int(values.max(initial=0)), -int(values.min(initial=0))).bit_length()


def integer(value: int) -> Numerators:
    """Returns one integer as an array [1], to compute with arrays of any length."""
    return narrowed(np.array([value], dtype=object))


def product(a: Numerators, b: Numerators) -> Numerators:
    """Returns a * b.

    >>> product(np.array([2**40]), np.array([2**40])).tolist() == [2**80]
    True
    """
    if b.size == 1 and b.ndim <= a.ndim and b.item() == 1:
        return a  # rows over one denominator are seldom scaled, and large ones take time
    return _exactly(np.multiply, a, b, bits(a) + bits(b))


def added(a: Numerators, b: Numerators) -> Numerators:
    """Returns a + b."""
    return _exactly(np.add, a, b, max(bits(a), bits(b)) + 1)


def subtracted(a: Numerators, b: Numerators) -> Numerators:
    """Returns a - b."""
    return _exactly(np.subtract, a, b, max(bits(a), bits(b)) + 1)


def lowest_common_multiple(a: Numerators, b: Numerators) -> Numerators:
    """Returns the least common multiple of each pair of entries."""
    return _exactly(np.lcm, a, b, bits(a) + bits(b))


def total(values: Numerators, axis: int = -1) -> Numerators:
    """Returns the sums along one axis."""
    return np.asarray(_wide(values, axis).sum(axis=axis))


def running_total(values: Numerators) -> Numerators:
    """Returns the running sums along the last axis."""
    return np.asarray(np.cumsum(_wide(values, -1), axis=-1))


def narrowed(values: Numerators) -> Numerators:
    """Returns the same integers as int64 where every one of them fits."""
    if values.dtype != object or not values.size:
        return values
    fits = int(np.abs(values).max()).bit_length() <= SAFE_BITS
    return values.astype(np.int64) if fits else values


def _wide(values: Numerators, axis: int) -> Numerators:
    """Returns the values in a type that holds their sum along the axis."""
    terms = values.shape[axis].bit_length()
    return values if bits(values) + terms <= SAFE_BITS else values.astype(object)


def _exactly(
    operation: Callable[[Any, Any], Any], a: Numerators, b: Numerators, needed: int
) -> Numerators:
    if needed > SAFE_BITS:
        a, b = a.astype(object), b.astype(object)
    return np.asarray(operation(a, b))
