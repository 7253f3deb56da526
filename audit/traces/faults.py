"""What catalogued faults emit at one place, as floating-point rows: the laws that are bet on.

Each function takes p (target) and q (draft), [tokens, cells], and returns the law of the emitted
token given the tokens before it; those of AT_BONUS take the target row before the bonus token's in
place of p. They are the laws of `audit.exact`, whose formulas the catalogue shows, at a size where
exact arithmetic takes too long. m = min(p, q), R = 1 - sum m, r = max(p - q, 0) / R. A wrong law
here would cost power, never validity; a test compares all of them with the exact ones.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

import numpy as np

from audit.tracefile.rows import Array
from audit.traces.tokens import Flags

Law = Callable[[Array, Array], Array]
HEADLINE = "full-target-fallback"
_TINY = 1e-300


def total(rows: Array) -> Array:
    """Returns the sums of the rows, [tokens, 1]."""
    return np.asarray(rows.sum(axis=1, keepdims=True))


def normalised(weights: Array, instead: Array) -> Array:
    """Returns rows that sum to 1, those of `instead` where the weights sum to 0."""
    sums = total(weights)
    return np.where(sums > 0, weights / np.maximum(sums, _TINY), instead)


def residual(p: Array, q: Array) -> Array:
    """Returns r, and p where nothing is left."""
    return normalised(np.maximum(p - q, 0), p)


def kept(p: Array, q: Array, mass: Array, fallback: Array) -> Array:
    """Returns the law where `mass` [tokens, cells] is accepted and `fallback` drawn otherwise."""
    return np.asarray(mass + (1 - total(mass)) * fallback)


def full_target(p: Array, q: Array) -> Array:
    """Returns m + R p."""
    return kept(p, q, np.minimum(p, q), p)


def unnormalised(p: Array, q: Array) -> Array:
    """Returns m + R (max(p - q, 0) + A at the last id)."""
    mass, excess = np.minimum(p, q), np.maximum(p - q, 0)
    excess[:, -1] += 1 - excess.sum(axis=1)
    return kept(p, q, mass, excess)


def without_rejected(p: Array, q: Array) -> Array:
    """Returns m(y) + p(y) sum over x != y of max(q - p, 0)(x) / (1 - p(x))."""
    blame = np.maximum(q - p, 0) / np.maximum(1 - p, _TINY)
    return np.asarray(np.minimum(p, q) + p * np.maximum(total(blame) - blame, 0))


def swapped(p: Array, q: Array) -> Array:
    """Returns S + (1 - sum S) r with S = min(q, q^2 / p)."""
    return kept(p, q, q * np.minimum(1, q / np.maximum(p, _TINY)), residual(p, q))


def lenient(p: Array, q: Array, by: float) -> Array:
    """Returns S + (1 - sum S) r with S = min(q, p / l)."""
    return kept(p, q, np.minimum(q, p / by), residual(p, q))


def colder(p: Array, q: Array) -> Array:
    """Returns p^2, normalised: half the temperature."""
    return normalised(p * p, p)


def hotter(p: Array, q: Array) -> Array:
    """Returns the square root of p, normalised: twice the temperature."""
    return normalised(np.sqrt(p), p)


def most_probable(p: Array, q: Array) -> Array:
    """Returns 1 at argmax p."""
    rows = np.zeros_like(p)
    rows[np.arange(len(p)), p.argmax(axis=1)] = 1
    return rows


AT_DRAFTS: Mapping[str, Law] = {
    HEADLINE: full_target,
    "unnormalised-residual": unnormalised,
    "absolute-residual": lambda p, q: (p + q) / 2,
    "draft-fallback": lambda p, q: kept(p, q, np.minimum(p, q), q),
    "target-without-rejected": without_rejected,
    "uniform-fallback": lambda p, q: kept(p, q, np.minimum(p, q), np.full_like(p, 1 / p.shape[1])),
    "swapped-ratio": swapped,
    "always-accept": lambda p, q: q,
    "draft-prob-taken-as-one": lambda p, q: kept(p, q, p * q, residual(p, q)),
    "lenience": partial(lenient, by=0.5),
}
AT_BONUS: Mapping[str, Law] = {
    "bonus-from-draft": lambda before, q: q,
    "bonus-one-row-early": lambda before, q: before,
}
EVERYWHERE: Mapping[str, Law] = {
    "target-temperature-wrong": colder,
    "target-temperature-wrong@2": hotter,
    "temperature-ignored": most_probable,
}
NAMES = (*AT_DRAFTS, *AT_BONUS, *EVERYWHERE)


def acts(name: str, bonus: Flags) -> Flags:
    """Returns at which tokens a fault acts, [tokens]; bonus: which of them are bonus tokens."""
    if name in EVERYWHERE:
        return np.ones_like(bonus)
    return bonus if name in AT_BONUS else ~bonus
